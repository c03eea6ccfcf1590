"""How far apart two distributions are, and where: Kolmogorov–Smirnov for ordered values, total variation for text.

Both are between 0 (the same) and 1 (nothing in common). Missing values are left out: their share is judged by itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate

from lakehouse.contracts.profile.axis import shown
from lakehouse.contracts.profile.bins import Bins, aligned
from lakehouse.contracts.profile.statistics import ColumnProfile
from lakehouse.declarations import Kind

_WORST = 3
OTHERS = "(others)"


@dataclass(frozen=True)
class ShareGap:
    """A bin or text with its two shares."""

    name: str
    here: float
    there: float

    @property
    def size(self) -> float:
        """How much the shares differ."""
        return abs(self.here - self.there)


@dataclass(frozen=True)
class Distance:
    """The outcome of a comparison.

    Attributes:
        value: 0 to 1.
        at_least: whether rare texts, of which only the sum is known, may differ as well.
        worst: where shares differ most, the worst first.
    """

    value: float
    at_least: bool
    worst: tuple[ShareGap, ...]


def distance(here: ColumnProfile, there: ColumnProfile) -> Distance:
    """Compare two columns that both have values."""
    if here.spread is not None and there.spread is not None:
        bins, others = aligned([here.spread.bins, there.spread.bins])
        gaps = bin_gaps(bins, others, here.kind)
        return Distance(kolmogorov_smirnov(bins, others), at_least=False, worst=worst_of(gaps))
    mine, theirs = shares_of_texts(here, there)
    gaps = [ShareGap(name, mine.get(name, 0.0), theirs.get(name, 0.0)) for name in {**mine, **theirs}]
    return Distance(sum(gap.size for gap in gaps) / 2, bool(here.others or there.others), worst_of(gaps))


def kolmogorov_smirnov(bins: Bins, others: Bins) -> float:
    """The largest difference of the shares of values below a point, among the edges of aligned bins."""
    mine, theirs = bins.shares(), others.shares()
    steps = (mine.get(number, 0.0) - theirs.get(number, 0.0) for number in sorted({*mine, *theirs}))
    return min(1.0, max(map(abs, accumulate(steps)), default=0.0))


def bin_gaps(bins: Bins, others: Bins, kind: Kind) -> list[ShareGap]:
    """Aligned bins with their two shares, in order."""
    mine, theirs = bins.shares(), others.shares()
    return [
        ShareGap(bin_name(bins, number, kind), mine.get(number, 0.0), theirs.get(number, 0.0))
        for number in sorted({*mine, *theirs})
    ]


def bin_name(bins: Bins, number: int, kind: Kind) -> str:
    """A bin as a person reads it; a bin that holds one whole number or day is that."""
    start, end = shown(number * bins.width, kind), shown((number + 1) * bins.width, kind)
    if number < bins.lowest:
        return f"below {end}"
    if number > bins.highest:
        return f"{start} and above"
    return start if bins.width == 1 and kind in ("number", "date") else f"{start} to {end}"


def shares_of_texts(here: ColumnProfile, there: ColumnProfile) -> tuple[dict[str, float], dict[str, float]]:
    """Shares of the texts whose count is known on both sides; all others are one, so that nothing is overestimated."""
    names = {*here.categories, *there.categories}
    if here.others:
        names &= here.categories.keys()
    if there.others:
        names &= there.categories.keys()
    return _with_others(here.categories, here.values, names), _with_others(there.categories, there.values, names)


def worst_of(gaps: list[ShareGap]) -> tuple[ShareGap, ...]:
    """Those that differ most."""
    return tuple(sorted((gap for gap in gaps if gap.size), key=lambda gap: -gap.size)[:_WORST])


def _with_others(counts: Mapping[str, int], values: int, names: set[str]) -> dict[str, float]:
    shares = {name: counts[name] / values for name in sorted(names) if name in counts}
    rest = 1 - sum(shares.values())
    return {**shares, OTHERS: rest} if rest > 1e-9 else shares
