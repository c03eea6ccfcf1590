"""Whether a column is distributed as it used to be: each of its statistics within a robust band of its own history.

The band is the history's median, plus and minus so many scaled median absolute deviations. A history that hardly moved
would alarm on noise, so the deviation counts as no less than chance alone makes of so many rows, and no less than what
nobody would call a change: a hundredth of the middle half of the values, or of a share some thousandths.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from lakehouse.contracts.profile.bins import aligned, pooled
from lakehouse.contracts.profile.distance import (
    ShareGap,
    bin_gaps,
    kolmogorov_smirnov,
    text_gaps,
    total_variation,
    worst_of,
)
from lakehouse.contracts.profile.statistics import ColumnProfile, Spread

Measure = Literal["value", "length", "share"]

ENOUGH = 5
_MAD_TO_DEVIATION = 1.4826  # of normally distributed values
_SHARE_FLOOR = 0.002
_DISTANCE_FLOOR = 0.004
_SPREAD_FLOOR = 0.01


@dataclass(frozen=True)
class Banded:
    """One statistic with its history and the band that it should lie in.

    Attributes:
        name: such as `median`.
        past: oldest first.
        now: what is judged.
        low: lower end of the band.
        high: upper end of the band.
        measure: a value of the column, a length along its axis, or a share (which a distance is as well).
    """

    name: str
    past: tuple[float, ...]
    now: float
    low: float
    high: float
    measure: Measure = "value"

    @property
    def inside(self) -> bool:
        """Whether it is as it used to be."""
        return self.low <= self.now <= self.high


@dataclass(frozen=True)
class Drifted:
    """The outcome of a comparison with the past.

    Attributes:
        points: how many earlier snapshots there were.
        banded: the statistics; none where the past is too short to judge.
        worst: where shares differ most from the usual ones.
    """

    points: int
    banded: tuple[Banded, ...] = ()
    worst: tuple[ShareGap, ...] = ()

    @property
    def outside(self) -> tuple[Banded, ...]:
        """The statistics that are not as they used to be."""
        return tuple(statistic for statistic in self.banded if not statistic.inside)


def compare_with_past(now: ColumnProfile, past: Sequence[ColumnProfile], tolerance: float) -> Drifted:
    """Compare a column with its history, oldest first."""
    past = [profile for profile in past if profile.rows and profile.kind == now.kind]
    if len(past) < ENOUGH or not now.rows:
        return Drifted(len(past))
    missing = [profile.missing_share for profile in past]
    usual = median(missing)
    chance = math.sqrt(usual * (1 - usual) / now.rows)
    banded = [_banded("share missing", missing, now.missing_share, tolerance, max(_SHARE_FLOOR, chance), "share")]
    filled = [profile for profile in past if profile.values]
    if len(filled) < ENOUGH or not now.values:
        return Drifted(len(past), tuple(banded))
    if now.spread is None:
        far, worst = _texts(now, filled, tolerance)
        return Drifted(len(past), (*banded, far), worst)
    spreads = [profile.spread for profile in filled if profile.spread is not None]
    far, worst = _ordered(now, spreads, tolerance)
    return Drifted(len(past), (*_quantile_bands(now.spread, spreads, now.values, tolerance), *banded, far), worst)


def _quantile_bands(now: Spread, past: Sequence[Spread], values: int, tolerance: float) -> list[Banded]:
    usual = median(_scale(spread) for spread in past)
    # The standard error of a median of normal values is 0.93 interquartile ranges over the root of their number.
    floor = usual * max(_SPREAD_FLOOR, 0.93 / math.sqrt(values))
    ordered: list[tuple[str, Callable[[Spread], float], Measure]] = [
        ("median", lambda spread: spread.median, "value"),
        ("middle half", lambda spread: spread.middle_half, "length"),
    ]
    return [
        _banded(name, [take(spread) for spread in past], take(now), tolerance, floor, measure)
        for name, take, measure in ordered
    ]


def _scale(spread: Spread) -> float:
    """How wide the values lie: the middle half, and if that is one value, the middle nine tenths or all of them."""
    return spread.middle_half or spread.quantile(0.95) - spread.quantile(0.05) or spread.greatest - spread.least


def _ordered(now: ColumnProfile, past: Sequence[Spread], tolerance: float) -> tuple[Banded, tuple[ShareGap, ...]]:
    assert now.spread is not None
    bins, usual, *earlier_bins = aligned(
        [now.spread.bins, pooled(earlier.bins for earlier in past), *(earlier.bins for earlier in past)]
    )
    distances = [kolmogorov_smirnov(earlier, usual) for earlier in earlier_bins]
    floor = max(_DISTANCE_FLOOR, 0.5 / math.sqrt(now.values))
    far = _banded(
        "distance from usual", distances, kolmogorov_smirnov(bins, usual), tolerance, floor, "share", one_sided=True
    )
    return far, worst_of(bin_gaps(bins, usual, now.kind))


def _texts(now: ColumnProfile, past: Sequence[ColumnProfile], tolerance: float) -> tuple[Banded, tuple[ShareGap, ...]]:
    names = sorted({name for profile in (now, *past) for name in profile.categories})
    shares, *past_shares = [
        {name: profile.categories.get(name, 0) / profile.values for name in names} for profile in (now, *past)
    ]
    usual = {name: median(earlier[name] for earlier in past_shares) for name in names}
    gaps = text_gaps(shares, usual)
    distances = [total_variation(text_gaps(earlier, usual)) for earlier in past_shares]
    floor = max(_DISTANCE_FLOOR, 0.4 * math.sqrt(len(names) / now.values))
    far = _banded("distance from usual", distances, total_variation(gaps), tolerance, floor, "share", one_sided=True)
    return far, worst_of(gaps)


def _banded(
    name: str,
    past: Sequence[float],
    now: float,
    tolerance: float,
    floor: float,
    measure: Measure,
    *,
    one_sided: bool = False,
) -> Banded:
    middle = median(past)
    deviation = max(_MAD_TO_DEVIATION * median(abs(value - middle) for value in past), floor)
    low, high = middle - tolerance * deviation, middle + tolerance * deviation
    if measure == "share":
        low, high = max(low, 0.0), min(high, 1.0)
    if one_sided:  # nearer to the usual than usual is no drift
        low = 0.0
    return Banded(name, tuple(past), now, low, high, measure)
