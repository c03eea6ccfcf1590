"""Whether a column is distributed as it used to be: each of its statistics within a robust band of its own history.

The band is the history's median, plus and minus so many scaled median absolute deviations. A history that hardly moved
would alarm on noise, so the deviation counts as no less than chance alone makes of so many rows, and no less than what
nobody would call a change: a hundredth of the middle half of the values, or of a share some thousandths.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from lakehouse.contracts.profile.bins import aligned, pooled
from lakehouse.contracts.profile.distance import ShareGap, bin_gaps, kolmogorov_smirnov, worst_of
from lakehouse.contracts.profile.statistics import ColumnProfile, Spread

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
        share: whether it is a share or distance, and not a value of the column.
        width: whether it is a length along the axis, and not a place on it.
    """

    name: str
    past: tuple[float, ...]
    now: float
    low: float
    high: float
    share: bool = False
    width: bool = False

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
    banded = [_banded("share missing", missing, now.missing_share, tolerance, max(_SHARE_FLOOR, chance), share=True)]
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
    ordered: list[tuple[str, Callable[[Spread], float], bool]] = [
        ("median", lambda spread: spread.median, False),
        ("middle half", lambda spread: spread.middle_half, True),
    ]
    return [
        _banded(name, [take(spread) for spread in past], take(now), tolerance, floor, width=width)
        for name, take, width in ordered
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
        "distance from usual", distances, kolmogorov_smirnov(bins, usual), tolerance, floor, share=True, one_sided=True
    )
    return far, worst_of(bin_gaps(bins, usual, now.kind))


def _texts(now: ColumnProfile, past: Sequence[ColumnProfile], tolerance: float) -> tuple[Banded, tuple[ShareGap, ...]]:
    names = sorted({name for profile in (now, *past) for name in profile.categories})
    usual = {name: median(_share(profile, name) for profile in past) for name in names}
    gaps = [ShareGap(name, _share(now, name), usual[name]) for name in names]
    distances = [sum(abs(_share(profile, name) - usual[name]) for name in names) / 2 for profile in past]
    floor = max(_DISTANCE_FLOOR, 0.4 * math.sqrt(len(names) / now.values))
    distance = sum(gap.size for gap in gaps) / 2
    return _banded("distance from usual", distances, distance, tolerance, floor, share=True, one_sided=True), worst_of(
        gaps
    )


def _share(column: ColumnProfile, name: str) -> float:
    return column.categories.get(name, 0) / column.values


def _banded(
    name: str,
    past: Sequence[float],
    now: float,
    tolerance: float,
    floor: float,
    *,
    share: bool = False,
    width: bool = False,
    one_sided: bool = False,
) -> Banded:
    middle = median(past)
    deviation = max(_MAD_TO_DEVIATION * median(abs(value - middle) for value in past), floor)
    low, high = middle - tolerance * deviation, middle + tolerance * deviation
    if share:
        low, high = max(low, 0.0), min(high, 1.0)
    if one_sided:  # nearer to the usual than usual is no drift
        low = 0.0
    return Banded(name, tuple(past), now, low, high, share, width)
