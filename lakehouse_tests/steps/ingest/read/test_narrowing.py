"""Which offset keeps a range from being read: found by halving, within bounds, and never blamed for what is not its."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.steps.ingest.read.narrowing import MOST_NEIGHBOURS, Bounds, Ranges, Unreadable, find_unreadable

MILLIONS = 5_000_000


class Log:
    """Reads anything without the broken offsets; counts what it reads."""

    def __init__(self, broken: Iterable[tuple[int, int]], *, at_once: int = 10**9) -> None:
        self.broken = sorted(broken)
        self.at_once = at_once
        self.reads = 0
        self.records = 0

    def __call__(self, ranges: Ranges) -> Exception | None:
        count = sum(end - start for start, end in ranges.values())
        self.reads, self.records = self.reads + 1, self.records + count
        for partition, offset in self.broken:
            start, end = ranges.get(partition, (0, 0))
            if start <= offset < end:
                return ValueError(f"{partition}:{offset}")
        return MemoryError("too many at once") if count > self.at_once else None

    def find(self, ranges: Ranges, *, known: Ranges | None = None, bounds: Bounds | None = None) -> Unreadable | None:
        cause = self(ranges)
        assert cause is not None
        self.reads = self.records = 0
        return find_unreadable(ranges, self, cause, bounds or Bounds(), known=known)


def test_one_of_five_million_is_found_in_as_many_reads_as_it_has_halvings() -> None:
    log = Log([(1, 1_234_567)])
    unreadable = log.find({0: (0, MILLIONS), 1: (100, MILLIONS)})
    assert unreadable is not None
    assert (unreadable.partition, unreadable.start, unreadable.end, unreadable.exact) == (1, 1_234_567, 1_234_568, True)
    assert str(unreadable.cause) == "1:1234567"
    assert log.reads <= 28
    assert log.records <= 2 * MILLIONS + 100  # no more than were to be read


def test_a_stream_that_stands_before_it_is_told_at_once() -> None:
    log = Log([(1, 700)])
    unreadable = log.find({0: (0, MILLIONS), 1: (700, MILLIONS), 2: (0, MILLIONS)})
    assert unreadable is not None
    assert (unreadable.partition, unreadable.start) == (1, 700)
    assert log.records < 20


def test_a_broken_batch_is_named_as_far_as_it_goes_and_no_further_than_is_tried() -> None:
    few = Log([(0, offset) for offset in range(50, 55)]).find({0: (0, 100)})
    many = Log([(0, offset) for offset in range(50, 99)]).find({0: (0, 100)})
    assert few is not None
    assert many is not None
    assert (few.start, few.end) == (50, 55)
    assert (many.start, many.end) == (50, 50 + MOST_NEIGHBOURS)


class Down(Log):
    """Reads nothing at all."""

    def __call__(self, ranges: Ranges) -> Exception | None:
        self.reads += 1
        return OSError("no broker")


@pytest.mark.parametrize("ranges", [{0: (0, 100)}, {0: (7, 8)}, {0: (0, 9), 3: (5, 9)}])
@pytest.mark.parametrize("known", [None, {5: (41, 42)}])
@pytest.mark.parametrize("reads", [3, 100])
def test_where_nothing_can_be_read_no_record_is_to_blame(ranges: Ranges, known: Ranges | None, reads: int) -> None:
    assert Down([]).find(ranges, known=known, bounds=Bounds(reads=reads)) is None


def test_where_it_is_too_much_at_once_no_record_is_to_blame() -> None:
    assert Log([], at_once=10).find({0: (0, 100)}) is None


def test_the_only_record_of_a_range_is_to_blame_if_one_before_it_can_be_read() -> None:
    log = Log([(0, 7)])
    assert log.find({0: (7, 8)}) is None
    unreadable = log.find({0: (7, 8)}, known={0: (6, 7)})
    assert unreadable is not None
    assert (unreadable.partition, unreadable.start, unreadable.end) == (0, 7, 8)


def test_at_the_bounds_it_says_how_far_it_came() -> None:
    unreadable = Log([(0, 777)]).find({0: (0, 1000), 1: (0, 1000)}, bounds=Bounds(reads=6))
    assert unreadable is not None
    assert not unreadable.exact
    assert unreadable.start <= 777 < unreadable.end
    assert unreadable.end - unreadable.start <= 125
    assert unreadable.partition == 0
    assert Log([(0, 777)]).find({0: (0, 1000)}, bounds=Bounds(seconds=-1.0)) is None


@given(
    st.dictionaries(st.integers(0, 5), st.tuples(st.integers(0, 50), st.integers(1, 60)), min_size=1),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 110)), min_size=1),
)
def test_what_is_found_is_broken_and_what_is_before_it_is_not(
    sizes: dict[int, tuple[int, int]], broken: list[tuple[int, int]]
) -> None:
    ranges = {partition: (start, start + size) for partition, (start, size) in sizes.items()}
    log = Log(broken)
    if log(ranges) is None:
        return
    unreadable = log.find(ranges, known={9: (0, 1)})
    assert unreadable is not None
    assert set(broken) >= {(unreadable.partition, offset) for offset in range(unreadable.start, unreadable.end)}
    start, _ = ranges[unreadable.partition]
    if unreadable.start > start:
        assert log({unreadable.partition: (start, unreadable.start)}) is None
