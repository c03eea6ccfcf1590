"""What was read is compared with what was planned: by numbers, and where offsets are missing by a real broker."""

import pytest

from lakehouse.engines.kafka import Record, read_topic, send
from lakehouse.engines.kafka.statement import Counts
from lakehouse.engines.kafka.tally import Tally
from lakehouse.engines.kafka.topics import PartitionRange, TopicState
from lakehouse.settings import KafkaSettings
from lakehouse.steps.ingest.completeness import Completeness, RecordsDiffer, compare, require_whole
from lakehouse.steps.ingest.plan import IngestPlan
from lakehouse.steps.ingest.received import Stretch
from lakehouse.steps.ingest.report import WriteResult
from lakehouse_tests.engines.kafka.test_second_look import transactions
from lakehouse_tests.fixtures.broker import TopicFactory

AWAY = KafkaSettings(bootstrap_servers="127.0.0.1:1")


def landed(*stretches: Stretch, written: int | None = None) -> WriteResult:
    count = sum(stretch.records for stretch in stretches) if written is None else written
    return WriteResult({}, {"raw.a": {0: Tally(count)}}, Counts(), received={0: list(stretches)})


def whole(first: int, end: int) -> Stretch:
    return Stretch(first, end - 1, end - first)


def judged(batch: WriteResult, end: int) -> Completeness:
    """Of offsets 0 up to `end`; no broker is there to be asked."""
    plan = IngestPlan(TopicState("things", "c", "t", {0: PartitionRange(0, end)}), {0: 0}, {0: end}, None)
    return compare("things", plan, batch, AWAY)


def test_tasks_that_read_all_of_the_plan_in_any_order() -> None:
    comparison = judged(landed(whole(6, 10), whole(0, 4), whole(4, 6)), 10)
    assert comparison == Completeness()
    require_whole(comparison)


@pytest.mark.parametrize(
    ("batch", "problem"),
    [
        (landed(whole(0, 10), written=9), "10 records were received and 9 written"),
        (landed(whole(0, 10), written=11), "10 records were received and 11 written"),
        (landed(whole(0, 6), whole(5, 10)), r"records of partition 0 offsets \[0, 10\) were read twice"),
        (landed(Stretch(0, 9, 11)), "were read twice"),
        (landed(whole(0, 11)), "records from outside"),
    ],
)
def test_what_no_log_explains(batch: WriteResult, problem: str) -> None:
    with pytest.raises(RecordsDiffer, match=problem):
        require_whole(judged(batch, 10))


def on(broker: KafkaSettings, name: str, *stretches: Stretch, beyond: int = 0) -> Completeness:
    """A plan of all that the topic has, and more, against what a run has received of it."""
    topic = read_topic(broker, name)
    plan = IngestPlan(topic, {0: 0}, {0: topic.partitions[0].last_stable + beyond}, None)
    return compare("things", plan, landed(*stretches), broker)


@pytest.mark.kafka
@pytest.mark.parametrize("policy", ["delete", "compact"])
def test_a_record_that_got_lost_on_the_way_is_named_whatever_the_topic(
    broker: KafkaSettings, topic: TopicFactory, policy: str
) -> None:
    name = topic(config={"cleanup.policy": policy})
    send(broker, name, [Record(b"x", key=b"%d" % n) for n in range(8)])
    for missing, stretches in [
        (5, [Stretch(0, 7, 7, 1, [(5, 6)])]),
        (0, [whole(1, 8)]),
        (7, [whole(0, 7)]),
        (3, [whole(0, 3), whole(4, 8)]),
    ]:
        with pytest.raises(
            RecordsDiffer, match=f"did not receive: partition 0 offset {missing}; nothing was published"
        ):
            require_whole(on(broker, name, *stretches))


@pytest.mark.kafka
@pytest.mark.parametrize("end", ["commit", "abort"])
def test_markers_and_aborted_records_are_told_as_such(broker: KafkaSettings, topic: TopicFactory, end: str) -> None:
    name = topic()
    transactions(broker, name, "commit", end)
    received = [Stretch(0, 4, 4, 1, [(2, 3)])] if end == "commit" else [whole(0, 2)]
    comparison = on(broker, name, *received)
    assert comparison == Completeness({0: 6 - sum(stretch.records for stretch in received)}, "transactions")
    require_whole(comparison)


@pytest.mark.kafka
def test_a_gap_in_a_log_that_may_have_none_names_partition_and_offsets(
    broker: KafkaSettings, topic: TopicFactory
) -> None:
    name = topic()
    send(broker, name, [Record(b"%d" % n) for n in range(3)])
    comparison = on(broker, name, whole(0, 3), beyond=4)
    with pytest.raises(
        RecordsDiffer,
        match=r"4 planned offset.* partition 0 offsets \[3, 7\).*cleanup\.policy is delete.*"
        r"compacted before, set its cleanup\.policy to compact,delete",
    ):
        require_whole(comparison)
    assert comparison.without_record == {0: 4}
