"""Histograms that can be added up over time, because their bins are cut out of one grid for ever.

The width of a bin is a power of two and its edges are multiples of that, so two histograms of whatever width have the
coarser one's bins in common: nothing has to be agreed upon before the first is made.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

# The values from 0.5 to 99.5 percent get between half and all of so many bins.
_BODY_BINS = 128
# Beyond so many bins from the median, values are counted together: a stray 1e300 must not cost a bin for each between.
REACH = 1024
_EXTREME = 1000  # powers of two that a double can hold, and their reciprocals


@dataclass(frozen=True)
class Bins:
    """Counts of values by bin.

    Attributes:
        exponent: a bin is 2 to the power of this wide.
        counts: number of a bin → values in it; bin i holds positions from i to i + 1 widths, without the end.
        lowest: the first bin, which also holds whatever lies below it.
        highest: the last bin, which also holds whatever lies above it.
    """

    exponent: int
    lowest: int
    highest: int
    counts: Mapping[int, int] = field(default_factory=dict[int, int])

    @property
    def width(self) -> float:
        """How wide a bin is."""
        return math.ldexp(1.0, self.exponent)

    @property
    def total(self) -> int:
        """All values."""
        return sum(self.counts.values())

    def coarsened(self, exponent: int) -> "Bins":
        """The same values in wider bins."""
        shift = exponent - self.exponent
        if shift < 0:
            raise ValueError("Bins can be joined, not cut.")
        counts: dict[int, int] = {}
        for number, count in self.counts.items():
            counts[number >> shift] = counts.get(number >> shift, 0) + count
        return Bins(exponent, self.lowest >> shift, self.highest >> shift, counts)

    def shares(self) -> dict[int, float]:
        """Number of a bin → share of all values."""
        total = self.total
        return {number: count / total for number, count in self.counts.items()} if total else {}


def grid_for(low: float, middle: float, high: float, *, whole: bool) -> Bins:
    """An empty histogram whose bins suit a column.

    Args:
        low: below which few values lie (half a percent).
        middle: the median.
        high: above which few values lie (half a percent).
        whole: whether all values are whole numbers, so that narrower bins would stay empty.
    """
    spread = high - low
    exponent = math.ceil(math.log2(spread / _BODY_BINS)) if spread > 0 else 0
    if whole:
        exponent = max(exponent, 0)
    # Numbers of bins stay exact integers, also where a double's own steps are wider than the bins would be.
    exponent = max(exponent, math.frexp(middle)[1] - 52 if middle else exponent, -_EXTREME)
    exponent = min(exponent, _EXTREME)
    centre = math.floor(math.ldexp(middle, -exponent))
    return Bins(exponent, centre - REACH, centre + REACH)


def aligned(histograms: Iterable[Bins]) -> list[Bins]:
    """Several histograms with the same bins: the coarsest one's, joined at the ends to what all of them tell apart."""
    given = list(histograms)
    exponent = max(bins.exponent for bins in given)
    wide = [bins.coarsened(exponent) for bins in given]
    lowest, highest = max(bins.lowest for bins in wide), min(bins.highest for bins in wide)
    if lowest >= highest:  # they lie apart: one bin for each side
        lowest, highest = highest - (lowest == highest), lowest
    return [_clamped(bins, lowest, highest) for bins in wide]


def pooled(histograms: Iterable[Bins]) -> Bins:
    """All values of several histograms together."""
    together = aligned(histograms)
    counts: dict[int, int] = {}
    for bins in together:
        for number, count in bins.counts.items():
            counts[number] = counts.get(number, 0) + count
    return Bins(together[0].exponent, together[0].lowest, together[0].highest, counts)


def _clamped(bins: Bins, lowest: int, highest: int) -> Bins:
    counts: dict[int, int] = {}
    for number, count in bins.counts.items():
        kept = min(max(number, lowest), highest)
        counts[kept] = counts.get(kept, 0) + count
    return Bins(bins.exponent, lowest, highest, counts)
