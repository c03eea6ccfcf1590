"""A cap in bytes is kept by what is in the range, whatever records weighed before.

Guarded mechanism: `record_limit` samples the range that is to be read.
"""

from collections.abc import Callable, Mapping

import pytest

from lakehouse.declarations import Stream, ToTable, Trigger
from lakehouse.engines.kafka.statement import Counts
from lakehouse.engines.kafka.topics import PartitionRange
from lakehouse.settings import IngestSettings
from lakehouse.steps.ingest.record_limit import LARGEST_BYTES, limits_of, record_limit

MIB, GIB = 1024**2, 1024**3
LIMITS = IngestSettings(max_records_per_run=5_000_000, max_bytes_per_run=2 * GIB)  # pyright: ignore[reportArgumentType]
SMALL_SO_FAR = Counts(read=10**9, bytes=100 * 10**9)
PARTITIONS = {0: PartitionRange(0, 30_000_000), 1: PartitionRange(500, 10_000_500)}
POSITION = {0: 10_000_000, 1: 500}


def limit(size_at: Callable[[int, int], int], *, past: Counts = SMALL_SO_FAR) -> tuple[int, int]:
    """The limit, and how often records were sampled; partition and offset → size of a record."""
    looks = 0

    def sample(starts: Mapping[int, int]) -> float:
        nonlocal looks
        looks += 1
        return sum(size_at(partition, offset) for partition, offset in starts.items()) / len(starts)

    return record_limit(LIMITS, PARTITIONS, POSITION, past, sample), looks


def test_records_that_grew_are_not_planned_by_the_mean_of_all_time() -> None:
    assert limit(lambda *_: MIB) == (2 * GIB // MIB, 3)


def test_records_that_shrank_are_not_either() -> None:
    assert limit(lambda *_: 100, past=Counts(read=10, bytes=10 * MIB)) == (5_000_000, 3)


@pytest.mark.parametrize("grew_at", [10_100_000, 11_000_000, 12_500_000, 13_200_000])
def test_what_grows_within_the_range_bounds_it(grew_at: int) -> None:
    records, looks = limit(lambda _, offset: MIB if offset >= grew_at else 100)
    small = (grew_at - POSITION[0]) * 1.5  # two thirds of what is unread are in partition 0
    assert small / 8 <= records <= small + 8_000
    assert looks <= 12


def test_few_records_are_taken_without_a_look() -> None:
    few = {0: PartitionRange(0, 2 * GIB // LARGEST_BYTES)}
    assert record_limit(LIMITS, few, {}, SMALL_SO_FAR, lambda _: pytest.fail("it looked")) == 5_000_000


def test_where_no_record_can_be_sampled_the_past_tells() -> None:
    assert limit(lambda *_: 0, past=Counts(read=1, bytes=MIB)) == (2 * GIB // MIB, 3)
    assert limit(lambda *_: 0, past=Counts()) == (2 * GIB // 1024, 3)


def test_a_streams_own_cap_in_records_comes_before_that_of_the_settings() -> None:
    plain = Stream(name="a", topic="a", route=ToTable("raw.a"))
    small = Stream(name="b", topic="b", route=ToTable("raw.b"), trigger=Trigger(max_records_per_run=7))
    assert limits_of(LIMITS, plain) == LIMITS
    assert limits_of(LIMITS, small) == LIMITS.model_copy(update={"max_records_per_run": 7})
