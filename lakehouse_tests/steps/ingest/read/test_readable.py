"""A plan with records that cannot be read gives all that lies before them, and their names."""

from collections.abc import Callable

import pytest

from lakehouse.engines.kafka import Oversized
from lakehouse.engines.kafka.statement import Counts
from lakehouse.engines.kafka.topics import PartitionRange, TopicState
from lakehouse.settings.storage_refusal import StorageRefused
from lakehouse.steps.ingest.plan import IngestPlan
from lakehouse.steps.ingest.read.narrowing import Bounds, Unreadable
from lakehouse.steps.ingest.read.readable import Readable, read_what_can_be_read
from lakehouse.steps.ingest.read.unreadable import OffsetsUnreadable
from lakehouse.steps.ingest.report import WriteResult
from lakehouse.steps.ingest.workers.lent_credentials import CredentialsEnded

TOPIC = TopicState("t", "c", "i", {})
OVERFLOW = (
    "An error occurred while calling o87.collectToPython.\n: org.apache.spark.SparkException: Job aborted due to stage "
    "failure: Task 0 in stage 0.0 failed 1 times (TID 0) (localhost executor driver): java.lang.ArithmeticException: "
    "long overflow\n\tat java.base/java.lang.Math.multiplyExact(Math.java:1032)\n"
)


def planned(ends: dict[int, int]) -> IngestPlan:
    topic = TopicState("t", "c", "i", {p: PartitionRange(0, end) for p, end in ends.items()})
    return IngestPlan(topic, dict.fromkeys(ends, 0), dict(ends), None, 0)


class Spark:
    """Reads plans without the broken places; the other attempts keep nothing."""

    def __init__(self, *broken: tuple[int, int]) -> None:
        self.broken = broken
        self.attempts = 0
        self.oversized: Oversized | None = None

    def land(self, plan: IngestPlan) -> WriteResult:
        for partition, offset in self.broken:
            start, end = plan.ranges.get(partition, (0, 0))
            if start <= offset < end:
                raise ValueError(OVERFLOW)
        return WriteResult({}, {}, Counts(read=plan.offsets))

    def attempt(self, plan: IngestPlan) -> None:
        self.attempts += 1
        self.land(plan)

    def read(
        self, plan: IngestPlan, *, look: Callable[[], None] = lambda: None, bounds: Bounds | None = None
    ) -> Readable:
        return read_what_can_be_read(
            plan,
            self.land,
            self.attempt,
            look=look,
            oversized=lambda plan: self.oversized,
            inform=lambda message: None,
            bounds=bounds,
        )


def test_what_can_be_read_is_read_once() -> None:
    spark = Spark()
    readable = spark.read(planned({0: 100}))
    assert (readable.landed.counts.read, readable.unreadable, spark.attempts) == (100, (), 0)


def test_other_partitions_are_read_to_their_end() -> None:
    readable = Spark((1, 23), (3, 0)).read(planned({0: 100, 1: 100, 2: 100, 3: 100}))
    assert readable.plan.ranges == {0: (0, 100), 1: (0, 23), 2: (0, 100)}
    assert readable.plan.end == {0: 100, 1: 23, 2: 100, 3: 0}
    assert readable.landed.counts.read == 223
    assert [(entry.partition, entry.start, entry.exact) for entry in readable.unreadable] == [
        (3, 0, True),
        (1, 23, True),
    ]


def test_what_was_looked_for_as_far_as_the_bounds_go_is_landed_up_to_there() -> None:
    readable = Spark((1, 23)).read(planned({0: 100, 1: 100, 2: 100}), bounds=Bounds(reads=5))
    (entry,) = readable.unreadable
    assert not entry.exact
    assert 0 <= entry.start <= 23 < entry.end
    assert readable.plan.end == {0: 100, 1: entry.start, 2: 0}


def test_what_no_record_is_to_blame_for_is_raised_as_it_is() -> None:
    def broken(plan: IngestPlan) -> WriteResult:
        raise OSError("no space left on device")

    spark = Spark()
    spark.land = broken
    with pytest.raises(OSError, match="no space"):
        spark.read(planned({0: 9}))
    # Spark may have died of a record; another client looks for it.
    spark.oversized = Oversized(0, 5)
    readable = spark.read(planned({0: 9}))
    assert readable.spark_ended
    (entry,) = readable.unreadable
    error = OffsetsUnreadable("things", TOPIC, readable.unreadable, None, spark_ended=True)
    assert (entry.start, entry.end) == (5, 6)
    assert "partition 0 offset 5: a record of more than 64 MiB" in error.message
    assert "--offsets 0:5" in error.remedy


def test_no_record_is_suspected_while_the_disk_is_full() -> None:
    """A part of the range may fit on what is left, and the rest would be given up by what the error says."""

    def full(plan: IngestPlan) -> WriteResult:
        raise RuntimeError("PythonException: ... OSError: [Errno 28] Error writing bytes: No space left on device")

    spark = Spark()
    spark.land = full
    with pytest.raises(StorageRefused, match=r"topic t cannot be written: the disk of its tables is full\. Remedy: "):
        spark.read(planned({0: 9}))
    assert spark.attempts == 0


@pytest.mark.parametrize("times", [1, 2])
def test_what_outlives_its_credentials_is_read_again_once(times: int) -> None:
    spark, ends = Spark(), [times]

    def ended(plan: IngestPlan) -> WriteResult:
        if ends[0]:
            ends[0] -= 1
            raise CredentialsEnded("a: they ended.", remedy="run it again")
        return Spark().land(plan)

    spark.land = ended
    if times == 1:
        assert spark.read(planned({0: 9})).landed.counts.read == 9
    else:
        with pytest.raises(CredentialsEnded):
            spark.read(planned({0: 9}))
    assert spark.attempts == 0  # no record is suspected


def test_no_record_is_suspected_while_the_broker_does_not_answer() -> None:
    def unreachable() -> None:
        raise ConnectionError("no broker")

    spark = Spark((0, 3))
    with pytest.raises(ConnectionError):
        spark.read(planned({0: 9}), look=unreachable)
    assert spark.attempts == 0


def test_the_failure_names_offsets_and_the_command_that_gives_them_up() -> None:
    overflow = ValueError(OVERFLOW)
    unreadable = [Unreadable(0, 123, 124, overflow), Unreadable(2, 5, 9, overflow)]
    error = OffsetsUnreadable("things", TOPIC, unreadable, None)
    assert "partition 0 offset 123: ArithmeticException: long overflow" in error.message
    assert "partition 2 offsets 5-8" in error.message
    assert '`lakehouse accept-loss things --offsets 0:123 --offsets 2:5-8 --reason "…" --yes`' in error.remedy
    rough = OffsetsUnreadable("things", TOPIC, [Unreadable(0, 100, 150, overflow, exact=False)], None)
    assert "accept-loss" not in rough.remedy
