"""Histograms that can be added up over time, because their bins are cut out of one grid for ever.

The width of a bin is a power of two and its edges are multiples of that, so two histograms of whatever width have the
coarser one's bins in common: nothing has to be agreed upon before the first is made.
"""

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

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
        lowest: the first bin.
        highest: the last bin.
        counts: number of a bin → values in it; bin i holds positions from i to i + 1 widths, without the end.
        beneath: values below the first bin.
        beyond: values above the last bin.
    """

    exponent: int
    lowest: int
    highest: int
    counts: Mapping[int, int] = field(default_factory=dict[int, int])
    beneath: int = 0
    beyond: int = 0

    @property
    def width(self) -> float:
        """How wide a bin is."""
        return math.ldexp(1.0, self.exponent)

    @property
    def total(self) -> int:
        """All values."""
        return sum(self.counts.values()) + self.beneath + self.beyond

    def filled(self, counts: Mapping[int, int]) -> "Bins":
        """The same bins with these counts; what lies outside of them is counted together."""
        return replace(
            self,
            counts={n: c for n, c in sorted(counts.items()) if self.lowest <= n <= self.highest},
            beneath=self.beneath + sum(c for n, c in counts.items() if n < self.lowest),
            beyond=self.beyond + sum(c for n, c in counts.items() if n > self.highest),
        )

    def coarsened(self, exponent: int) -> "Bins":
        """The same values in wider bins."""
        shift = exponent - self.exponent
        if shift < 0:
            raise ValueError("Bins can be joined, not cut.")
        counts: dict[int, int] = {}
        for number, count in self.counts.items():
            counts[number >> shift] = counts.get(number >> shift, 0) + count
        return Bins(exponent, self.lowest >> shift, self.highest >> shift, counts, self.beneath, self.beyond)

    def shares(self) -> dict[int, float]:
        """Number of a bin → share of all values, in order; what lies outside is one bin more at either end."""
        total = self.total
        ends = {self.lowest - 1: self.beneath, self.highest + 1: self.beyond}
        counts = {**self.counts, **{number: count for number, count in ends.items() if count}}
        return {number: counts[number] / total for number in sorted(counts)}


def grid_for(low: float, middle: float, high: float, *, whole: bool) -> Bins:
    """Empty bins that suit a column.

    Args:
        low: below which few values lie (half a percent).
        middle: the median.
        high: above which few values lie (half a percent).
        whole: whether all values are whole numbers, so that narrower bins would stay empty.
    """
    spread = min(high - low, sys.float_info.max)
    exponent = math.ceil(math.log2(spread) - math.log2(_BODY_BINS)) if spread > 0 else 0
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
    used = [number for bins in wide for number in bins.counts] or [0]
    # Only a histogram that has values outside of its bins cannot tell where they are.
    lowest = max((bins.lowest for bins in wide if bins.beneath), default=min(used))
    highest = min((bins.highest for bins in wide if bins.beyond), default=max(used))
    highest = max(highest, lowest - 1)
    frame = Bins(exponent, lowest, highest)
    return [replace(frame, beneath=bins.beneath, beyond=bins.beyond).filled(bins.counts) for bins in wide]


def pooled(histograms: Iterable[Bins]) -> Bins:
    """All values of several histograms together."""
    together = aligned(histograms)
    counts: dict[int, int] = {}
    for bins in together:
        for number, count in bins.counts.items():
            counts[number] = counts.get(number, 0) + count
    beneath, beyond = sum(bins.beneath for bins in together), sum(bins.beyond for bins in together)
    return Bins(together[0].exponent, together[0].lowest, together[0].highest, counts, beneath, beyond)
