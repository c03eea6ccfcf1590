"""Count, sum and sum of squares of offsets: three numbers that tell a set of offsets from almost every other one.

A lost record changes the count; a lost and a doubled one leave the count and change the sum; moving two in opposite
directions leaves count and sum and changes the sum of squares. They add up over files, runs and tables, so a proof
needs no list of offsets.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Tally:
    """Of a set of offsets in one partition. Exact at any size: Python's integers do not overflow."""

    count: int = 0
    total: int = 0
    squares: int = 0

    def __add__(self, other: object) -> "Tally":
        """Tally of both sets together."""
        if not isinstance(other, Tally):
            return NotImplemented
        return Tally(self.count + other.count, self.total + other.total, self.squares + other.squares)

    def __sub__(self, other: object) -> "Tally":
        """Tally of what remains without the other set."""
        if not isinstance(other, Tally):
            return NotImplemented
        return Tally(self.count - other.count, self.total - other.total, self.squares - other.squares)

    @classmethod
    def of_range(cls, start: int, end: int) -> "Tally":
        """Of all offsets from `start` up to, not including, `end`."""
        if end <= start:
            return cls()

        def squares_below(n: int) -> int:
            return (n - 1) * n * (2 * n - 1) // 6

        return cls(end - start, (start + end - 1) * (end - start) // 2, squares_below(end) - squares_below(start))

    @classmethod
    def of(cls, offsets: npt.NDArray[np.int64]) -> "Tally":
        """Of the offsets in an array, repetitions counted."""
        if len(offsets) == 0:
            return cls()
        # Summed as distances from the smallest, so that 64 bits suffice for any batch that fits in memory.
        base = int(offsets.min())
        distance = offsets - base
        if int(distance.max()) >= 2**21:
            distance = distance.astype(object)
        count, total, squares = len(offsets), int(distance.sum()), int((distance * distance).sum())
        return cls(count, count * base + total, count * base * base + 2 * base * total + squares)

    def __neg__(self) -> "Tally":
        """Tally of a set that leaves."""
        return Tally() - self


TableTallies = Mapping[str, Mapping[int, Tally]]
"""Table name → Kafka partition → tally."""


def added(left: TableTallies, right: TableTallies) -> dict[str, dict[int, Tally]]:
    """Sum of two sets of tallies, by table and partition."""
    result = {table: dict(by_partition) for table, by_partition in left.items()}
    for table, by_partition in right.items():
        sums = result.setdefault(table, {})
        for partition, tally in by_partition.items():
            sums[partition] = sums.get(partition, Tally()) + tally
    return result


def over_tables(tallies: TableTallies) -> dict[int, Tally]:
    """Sum over all tables, by partition."""
    result: dict[int, Tally] = {}
    for by_partition in tallies.values():
        for partition, tally in by_partition.items():
            result[partition] = result.get(partition, Tally()) + tally
    return result
