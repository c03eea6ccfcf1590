"""How far apart two distributions are, and where: Kolmogorov–Smirnov for ordered values, total variation for text.

Both are between 0 (the same) and 1 (nothing in common). Missing values are left out: their share is judged by itself.
"""

from collections.abc import Mapping, Sequence
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


def distance(profile: ColumnProfile, other: ColumnProfile) -> Distance:
    """Compare two columns that both have values."""
    if profile.spread is not None and other.spread is not None:
        bins, others = aligned([profile.spread.bins, other.spread.bins])
        gaps = bin_gaps(bins, others, profile.kind)
        return Distance(kolmogorov_smirnov(bins, others), at_least=False, worst=worst_of(gaps))
    shares, other_shares = shares_of_texts(profile, other)
    gaps = text_gaps(shares, other_shares)
    return Distance(total_variation(gaps), bool(profile.others or other.others), worst_of(gaps))


def kolmogorov_smirnov(bins: Bins, others: Bins) -> float:
    """The largest difference of the shares of values below a point, among the edges of aligned bins."""
    shares, other_shares = bins.shares(), others.shares()
    steps = (shares.get(number, 0.0) - other_shares.get(number, 0.0) for number in sorted({*shares, *other_shares}))
    return min(1.0, max(map(abs, accumulate(steps)), default=0.0))


def total_variation(gaps: Sequence[ShareGap]) -> float:
    """Half the sum of the differences of the shares of texts."""
    return sum(gap.size for gap in gaps) / 2


def text_gaps(shares: Mapping[str, float], other_shares: Mapping[str, float]) -> list[ShareGap]:
    """Texts with their two shares."""
    return [ShareGap(name, shares.get(name, 0.0), other_shares.get(name, 0.0)) for name in {**shares, **other_shares}]


def bin_gaps(bins: Bins, others: Bins, kind: Kind) -> list[ShareGap]:
    """Aligned bins with their two shares, in order."""
    shares, other_shares = bins.shares(), others.shares()
    return [
        ShareGap(bin_name(bins, number, kind), shares.get(number, 0.0), other_shares.get(number, 0.0))
        for number in sorted({*shares, *other_shares})
    ]


def bin_name(bins: Bins, number: int, kind: Kind) -> str:
    """A bin as a person reads it; a bin that holds one whole number or day is that."""
    start, end = shown(number * bins.width, kind), shown((number + 1) * bins.width, kind)
    if number < bins.lowest:
        return f"below {end}"
    if number > bins.highest:
        return f"{start} and above"
    return start if bins.width == 1 and kind in ("number", "date") else f"{start} to {end}"


def shares_of_texts(profile: ColumnProfile, other: ColumnProfile) -> tuple[dict[str, float], dict[str, float]]:
    """Shares of the texts whose count is known on both sides; all others are one, so that nothing is overestimated."""
    names = {*profile.categories, *other.categories}
    if profile.others:
        names &= profile.categories.keys()
    if other.others:
        names &= other.categories.keys()
    return _with_others(profile.categories, profile.values, names), _with_others(other.categories, other.values, names)


def worst_of(gaps: list[ShareGap]) -> tuple[ShareGap, ...]:
    """Those that differ most."""
    return tuple(sorted((gap for gap in gaps if gap.size), key=lambda gap: -gap.size)[:_WORST])


def _with_others(counts: Mapping[str, int], values: int, names: set[str]) -> dict[str, float]:
    shares = {name: counts[name] / values for name in sorted(names) if name in counts}
    rest = 1 - sum(shares.values())
    return {**shares, OTHERS: rest} if rest > 1e-9 else shares
