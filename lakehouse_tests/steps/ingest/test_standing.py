"""Where a stream stands: an end of another log says nothing of what is unread."""

import pytest

from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.topics import PartitionRange, TopicState
from lakehouse.steps.ingest.refusals import (
    ClusterChanged,
    IngestRefused,
    PartitionsVanished,
    PositionBeyondEnd,
    TopicRecreated,
)
from lakehouse.steps.ingest.standing import Standing

READ = KafkaStatement("cluster", "things", "topic-id", start={0: 0, 1: 0}, end={0: 100, 1: 50})


def topic(ends: dict[int, int], *, topic_id: str = "topic-id", cluster: str = "cluster") -> TopicState:
    return TopicState("things", cluster, topic_id, {p: PartitionRange(0, end) for p, end in ends.items()})


def stands(topic: TopicState, sealed: KafkaStatement | None = READ) -> Standing:
    return Standing.of("things", sealed, topic, first={0: 7}, snapshots={})


@pytest.mark.parametrize(
    ("there", "refusal"),
    [
        (topic({0: 3, 1: 2}, topic_id="another"), TopicRecreated),
        (topic({0: 3, 1: 2}, cluster="another"), ClusterChanged),
        (topic({0: 100}), PartitionsVanished),
        (topic({0: 99, 1: 50}), PositionBeyondEnd),
    ],
)
def test_a_log_that_ends_before_the_position_is_not_read_to_its_end(
    there: TopicState, refusal: type[IngestRefused]
) -> None:
    """Its records would wait unseen until there are more of them than were read of the log before."""
    with pytest.raises(refusal, match=r"in doubt|read before"):
        stands(there)


def test_what_is_unread() -> None:
    assert stands(topic({0: 103, 1: 50, 2: 4})).unread == {0: 3, 1: 0, 2: 4}
    assert stands(topic({0: 9, 1: 2}), None).unread == {0: 2, 1: 2}
