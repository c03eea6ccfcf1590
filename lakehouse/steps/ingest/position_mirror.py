"""After a publish, the position is also written into a consumer group, where the settings ask for it.

The seal alone is the position. The group is for tools that watch lag: it may be behind, be changed by others, or be
gone, and nothing that we do depends on it. What fails here is told, and ends no step.
"""

from collections.abc import Mapping
from typing import NamedTuple

import structlog

from lakehouse.engines.kafka.group_positions import group_of, set_group_offsets
from lakehouse.engines.kafka.topics import TopicState
from lakehouse.errors import LakehouseError
from lakehouse.settings import KafkaSettings

log = structlog.get_logger(__name__)


class PositionMirror(NamedTuple):
    """What became of it.

    Args:
        group: the consumer group.
        problem: why it does not have the position; empty if it has.
    """

    group: str
    problem: str = ""


def mirror_position(
    kafka: KafkaSettings, stream: str, topic: TopicState, end: Mapping[int, int]
) -> PositionMirror | None:
    """Write the position of a stream into its group; None where the settings do not ask for it.

    Args:
        kafka: how to reach the cluster, and whether a group is wanted.
        stream: its name.
        topic: its topic, or topics; those that are gone are left out.
        end: partition → the next offset to read.
    """
    if not kafka.mirror_positions:
        return None
    group = group_of(kafka, stream)
    try:
        for name, offsets in topic.numbers.by_topic(end).items():
            if name not in topic.absent:
                set_group_offsets(kafka, group, name, offsets)
    except LakehouseError as error:
        log.warning("position.not_mirrored", stream=stream, group=group, detail=str(error))
        return PositionMirror(group, str(error))
    return PositionMirror(group)
