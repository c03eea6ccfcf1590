"""Finds the first offset that keeps a range from being read, by halving; pure: who reads is given.

The partitions of a plan are laid end to end as one line. Its beginning up to some offset can be read, and one offset
more cannot: some twenty halvings of five million offsets find it, and read together no more than the range once over.
The first offset of each partition is looked at before: where a stream stands, what it stands before is there.

A range fails for other reasons as well: no broker, no space, no memory. An offset is blamed only where it fails alone
and another does not.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

Ranges = Mapping[int, tuple[int, int]]
Read = Callable[[Ranges], Exception | None]
"""Reads ranges and keeps nothing of them; tells why they cannot be read."""

MOST_READS = 100
MOST_SECONDS = 600.0
MOST_NEIGHBOURS = 16


@dataclass(frozen=True)
class Unreadable:
    """What cannot be read.

    Args:
        partition: of the first such offset.
        start: the first such offset, or the first that it may be.
        end: after the last that was tried and cannot be read, or that the first may be.
        cause: why, as it was said of these offsets.
        exact: whether each of the offsets was tried alone; otherwise the bounds were reached, and one of them is it,
            or one of a later partition.
    """

    partition: int
    start: int
    end: int
    cause: Exception
    exact: bool = True


@dataclass
class Bounds:
    """How much a search may read, all together.

    Args:
        reads: so many more.
        seconds: none begins later than so many after the first.
    """

    reads: int = MOST_READS
    seconds: float = MOST_SECONDS
    began: float = field(default_factory=time.monotonic)

    def allow(self) -> bool:
        """Whether there may be one more; counts it."""
        self.reads -= 1
        return self.reads >= 0 and time.monotonic() - self.began < self.seconds


class _Exhausted(Exception):
    """The bounds are reached."""


@dataclass
class _Reader:
    read: Read
    bounds: Bounds
    succeeded: bool = False

    def __call__(self, ranges: Ranges) -> Exception | None:
        if not self.bounds.allow():
            raise _Exhausted
        error = self.read(ranges)
        self.succeeded |= error is None
        return error


def find_unreadable(
    ranges: Ranges, read: Read, cause: Exception, bounds: Bounds, *, known: Ranges | None = None
) -> Unreadable | None:
    """Narrow down ranges that cannot be read.

    Args:
        ranges: partition → offsets that were read together, and failed.
        read: reads a part of them.
        cause: what was said of all of them.
        bounds: how much may be read; what is left of them is left to the next search.
        known: offsets that were read once before, if there are some: where they fail as well, no offset is to blame.

    Returns:
        The first offset in the order of partitions; None where no single one is to blame.
    """
    reader = _Reader(read, bounds)
    line = _Line(ranges)
    low, high = 0, line.length
    try:
        heads = {partition: (start, start + 1) for partition, (start, _) in ranges.items()}
        if heads != dict(ranges) and (error := reader(heads)) is not None:
            line, cause = _Line(heads), error
            low, high = 0, line.length
        while high - low > 1:
            middle = (low + high) // 2
            if (error := reader(line.part(low, middle))) is None:
                low = middle
            else:
                high, cause = middle, error
        (suspect,) = line.part(low, high).items()
        if (error := reader(dict([suspect]))) is None:
            return None  # only together with others
        if not (reader.succeeded or _any_readable(reader, suspect, ranges, known or {})):
            return None
        partition, (start, _) = suspect
        return Unreadable(partition, start, _end(reader, partition, start, ranges[partition][1]), error)
    except _Exhausted:
        if not reader.succeeded:
            return None
        partition, (start, end) = next(iter(line.part(low, high).items()))
        return Unreadable(partition, start, end, cause, exact=False)


def _any_readable(reader: _Reader, suspect: tuple[int, tuple[int, int]], ranges: Ranges, known: Ranges) -> bool:
    """Whether some other offset can be read: one that was read before, else the next, or the last of a partition."""
    partition, (_, after) = suspect
    others: list[tuple[int, int]] = [(other, start) for other, (start, _) in list(known.items())[:1]]
    if after < ranges[partition][1]:
        others += [(partition, after), (partition, ranges[partition][1] - 1)]
    others += [(other, end - 1) for other, (_, end) in list(ranges.items())[:2] if other != partition]
    return any(reader({other: (offset, offset + 1)}) is None for other, offset in others)


def _end(reader: _Reader, partition: int, start: int, end: int) -> int:
    """How far it goes on: a broken batch has more records than one."""
    after = start + 1
    while after < min(end, start + MOST_NEIGHBOURS):
        if not reader.bounds.allow() or reader.read({partition: (after, after + 1)}) is None:
            break
        after += 1
    return after


@dataclass(frozen=True)
class _Line:
    """Ranges of partitions, end to end."""

    ranges: Ranges

    @property
    def length(self) -> int:
        return sum(end - start for start, end in self.ranges.values())

    def part(self, low: int, high: int) -> dict[int, tuple[int, int]]:
        """What lies between two places on the line."""
        parts: dict[int, tuple[int, int]] = {}
        for partition, start, end, begin in self._placed():
            first, last = start + max(0, low - begin), min(end, start + high - begin)
            if first < last:
                parts[partition] = (first, last)
        return parts

    def _placed(self) -> Iterable[tuple[int, int, int, int]]:
        begin = 0
        for partition, (start, end) in sorted(self.ranges.items()):
            yield partition, start, end, begin
            begin += end - start
