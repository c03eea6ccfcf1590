"""Where a stream goes on that takes rows over: from what is its first offset of each partition known?

Another writer's position is in its consumer group (a sink of Kafka Connect, Flink), in the coordinates of its rows, or
in a checkpoint that a person can read (Structured Streaming). What the Iceberg sink of Kafka Connect leaves in the
summary of its snapshots, `kafka.connect.offsets.<control topic>.<group>`, are offsets of its control topic: of no use
here, but to see whether it has committed all that it has announced (`connect_sink.py`).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from lakehouse.engines.kafka.group_positions import committed_positions, group_members
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.topics import TopicState
from lakehouse.errors import LakehouseError
from lakehouse.proofs.audit.coordinates import Offsets
from lakehouse.proofs.foreign.coordinate_columns import ColumnNames
from lakehouse.settings import KafkaSettings
from lakehouse.steps.ingest.plan import position_in
from lakehouse.steps.ingest.refusals import OffsetsSkipped, PositionBeyondEnd
from lakehouse.steps.ingest.topic_identity import require_same_log

Rows = Mapping[str, Mapping[int, Offsets]]
"""Table → partition → offsets of its rows."""


class GoOnFrom(StrEnum):
    """Where the stream goes on: after its rows (or at the sealed position), at an end of the log, or as is given."""

    ROWS = "rows"
    EARLIEST = "earliest"
    LATEST = "latest"
    GROUP = "group"
    OFFSETS = "offsets"


class GoOnUnknown(LakehouseError):
    """Nothing says where the stream goes on."""


class GroupActive(LakehouseError):
    """The other writer still runs."""


@dataclass(frozen=True)
class GoOn:
    """Where a stream goes on, as a person says it.

    Args:
        start: from what.
        group: the consumer group of the other writer.
        offsets: partition → offset, given by hand; those that are not named begin at their earliest record.
        columns: of the coordinates in the other writer's rows, where they have names that nobody knows.
    """

    start: GoOnFrom
    group: str = ""
    offsets: Mapping[int, int] = field(default_factory=dict[int, int])
    columns: ColumnNames = field(default_factory=ColumnNames)

    def __str__(self) -> str:
        match self.start:
            case GoOnFrom.GROUP:
                return f"group {self.group}"
            case GoOnFrom.OFFSETS:
                return "offsets " + ",".join(f"{p}:{offset}" for p, offset in sorted(self.offsets.items()))
            case _:
                return self.start.value


def go_on_at(
    stream: str,
    kafka: KafkaSettings,
    go_on: GoOn,
    topic: TopicState,
    previous: KafkaStatement | None,
    rows: Rows,
    *,
    nameless: bool,
) -> dict[int, int]:
    """Partition → the offset at which the stream goes on.

    Args:
        stream: its name, for messages.
        kafka: how to reach the cluster.
        go_on: what a person wants.
        topic: as it is now.
        previous: what seals say; None where there are none.
        rows: of all tables.
        nameless: whether there are rows of which nothing says what records they are.

    Raises:
        GoOnUnknown: rows do not tell, or nothing was given.
        GroupActive: the other writer has not been stopped.
        GroupMissing: its group has committed nothing.
        IngestRefused: the position is not in the log.
    """
    position = dict[int, int]()
    match go_on.start:
        case GoOnFrom.LATEST:
            return {partition: limits.last_stable for partition, limits in topic.partitions.items()}
        case GoOnFrom.GROUP:
            position = _of_group(kafka, go_on.group, topic)
        case GoOnFrom.OFFSETS:
            position = _given(go_on.offsets, topic)
        case GoOnFrom.ROWS if previous is not None:
            require_same_log(stream, previous, topic)
            return position_in(previous, topic)
        case GoOnFrom.ROWS:
            position = _after(rows)
            if nameless and not position:
                raise GoOnUnknown(
                    f"Stream {stream}: its rows do not say of which records they are.",
                    remedy="name the columns that do (--offset-column, --partition-column), or go on --from group, or "
                    "--from offsets",
                )
        case GoOnFrom.EARLIEST:
            pass
    _require_in_log(stream, topic, position)
    return {partition: position.get(partition, limits.earliest) for partition, limits in topic.partitions.items()}


def require_none_skipped(stream: str, previous: KafkaStatement, topic: TopicState, position: Mapping[int, int]) -> None:
    """Refuse to pass over offsets: what is given up is in the loss ledger, and adopting writes nothing there.

    Raises:
        OffsetsSkipped: with the ranges.
    """
    same_log = (previous.cluster_id, previous.topic_id) == (topic.cluster_id, topic.topic_id)
    unread = (
        position_in(previous, topic)
        if same_log
        else {partition: limits.earliest for partition, limits in topic.partitions.items()}
    )
    if skipped := {
        partition: (unread[partition], offset) for partition, offset in position.items() if offset > unread[partition]
    }:
        raise OffsetsSkipped(stream, topic.topic, skipped, go_on_from="rows" if same_log else "earliest")


def repeated_offsets(rows: Rows) -> dict[int, int]:
    """Partition → rows whose offset another row has already, in one table or several."""
    repeats: Counter[int] = Counter()
    for partition in _partitions(rows):
        offsets = _everywhere(rows, partition)
        repeats[partition] = len(offsets) - len(np.unique(offsets))
    return {partition: times for partition, times in repeats.items() if times}


def read_again(rows: Rows, position: Mapping[int, int]) -> dict[int, int]:
    """Partition → rows at or after the position: their records will be read again."""
    behind = {
        partition: int((_everywhere(rows, partition) >= position.get(partition, np.iinfo(np.int64).max)).sum())
        for partition in _partitions(rows)
    }
    return {partition: times for partition, times in behind.items() if times}


def not_in_rows(rows: Rows, position: Mapping[int, int]) -> dict[int, int]:
    """Partition → offsets between the first row and the position that no row has: nobody will read them any more."""
    gaps = dict[int, int]()
    for partition in _partitions(rows):
        offsets = np.unique(_everywhere(rows, partition))
        until = position.get(partition, 0)
        if len(before := offsets[offsets < until]):
            gaps[partition] = until - int(before[0]) - len(before)
    return {partition: times for partition, times in gaps.items() if times}


def _of_group(kafka: KafkaSettings, group: str, topic: TopicState) -> dict[int, int]:
    if not group:
        raise GoOnUnknown("--from group: no group is named.", remedy="name it with --group; of a sink: connect-<name>")
    if members := group_members(kafka, group):
        raise GroupActive(
            f"Consumer group {group} has members ({', '.join(members)}): the other writer still runs.",
            remedy="stop it, wait until its session has ended, and say the same again",
        )
    return committed_positions(kafka, topic.topic, group, topic.partitions)


def _given(offsets: Mapping[int, int], topic: TopicState) -> dict[int, int]:
    if not offsets:
        raise GoOnUnknown("--from offsets: none is given.", remedy="write --offsets 0:1200,1:1150")
    if unknown := sorted(offsets.keys() - topic.partitions.keys()):
        raise GoOnUnknown(
            f"Topic {topic.topic} has no partition {', '.join(map(str, unknown))}.",
            remedy=f"name those from 0 to {max(topic.partitions)}",
        )
    return dict(offsets)


def _after(rows: Rows) -> dict[int, int]:
    return {partition: int(_everywhere(rows, partition).max()) + 1 for partition in _partitions(rows)}


def _require_in_log(stream: str, topic: TopicState, position: Mapping[int, int]) -> None:
    spans = {
        partition: (topic.partitions[partition].last_stable if partition in topic.partitions else 0, end)
        for partition, end in position.items()
    }
    if beyond := {partition: span for partition, span in spans.items() if span[0] < span[1]}:
        raise PositionBeyondEnd(stream, topic.topic, beyond)


def _partitions(rows: Rows) -> set[int]:
    return {partition for by_partition in rows.values() for partition, offsets in by_partition.items() if len(offsets)}


def _everywhere(rows: Rows, partition: int) -> Offsets:
    parts = [by_partition[partition] for by_partition in rows.values() if partition in by_partition]
    return np.concatenate(parts)
