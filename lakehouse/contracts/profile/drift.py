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
        return tuple(one for one in self.banded if not one.inside)


def compare_with_past(now: ColumnProfile, past: Sequence[ColumnProfile], tolerance: float) -> Drifted:
    """Compare a column with its history, oldest first."""
    past = [one for one in past if one.rows and one.kind == now.kind]
    if len(past) < ENOUGH or not now.rows:
        return Drifted(len(past))
    missing = [one.missing_share for one in past]
    usual = median(missing)
    chance = math.sqrt(usual * (1 - usual) / now.rows)
    found = [_banded("share missing", missing, now.missing_share, tolerance, max(_SHARE_FLOOR, chance), share=True)]
    filled = [one for one in past if one.values]
    if len(filled) < ENOUGH or not now.values:
        return Drifted(len(past), tuple(found))
    if now.spread is None:
        far, worst = _texts(now, filled, tolerance)
        return Drifted(len(past), (*found, far), worst)
    spreads = [one.spread for one in filled if one.spread is not None]
    far, worst = _ordered(now, spreads, tolerance)
    return Drifted(len(past), (*_places(now.spread, spreads, now.values, tolerance), *found, far), worst)


def _places(now: Spread, past: Sequence[Spread], values: int, tolerance: float) -> list[Banded]:
    usual = median(_scale(one) for one in past)
    # The standard error of a median of normal values is 0.93 interquartile ranges over the root of their number.
    floor = usual * max(_SPREAD_FLOOR, 0.93 / math.sqrt(values))
    asked: list[tuple[str, Callable[[Spread], float], bool]] = [
        ("median", lambda one: one.median, False),
        ("middle half", lambda one: one.middle_half, True),
    ]
    return [
        _banded(name, [take(one) for one in past], take(now), tolerance, floor, width=width)
        for name, take, width in asked
    ]


def _scale(spread: Spread) -> float:
    """How wide the values lie: the middle half, and if that is one value, the middle nine tenths or all of them."""
    return spread.middle_half or spread.quantile(0.95) - spread.quantile(0.05) or spread.greatest - spread.least


def _ordered(now: ColumnProfile, past: Sequence[Spread], tolerance: float) -> tuple[Banded, tuple[ShareGap, ...]]:
    assert now.spread is not None
    mine, usual, *each = aligned([now.spread.bins, pooled(one.bins for one in past), *(one.bins for one in past)])
    distances = [kolmogorov_smirnov(one, usual) for one in each]
    floor = max(_DISTANCE_FLOOR, 0.5 / math.sqrt(now.values))
    far = _banded(
        "distance from usual", distances, kolmogorov_smirnov(mine, usual), tolerance, floor, share=True, one_sided=True
    )
    return far, worst_of(bin_gaps(mine, usual, now.kind))


def _texts(now: ColumnProfile, past: Sequence[ColumnProfile], tolerance: float) -> tuple[Banded, tuple[ShareGap, ...]]:
    names = sorted({name for one in (now, *past) for name in one.categories})
    usual = {name: median(_share(one, name) for one in past) for name in names}
    mine = [ShareGap(name, _share(now, name), usual[name]) for name in names]
    distances = [sum(abs(_share(one, name) - usual[name]) for name in names) / 2 for one in past]
    floor = max(_DISTANCE_FLOOR, 0.4 * math.sqrt(len(names) / now.values))
    here = sum(gap.size for gap in mine) / 2
    return _banded("distance from usual", distances, here, tolerance, floor, share=True, one_sided=True), worst_of(mine)


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
    deviation = max(_MAD_TO_DEVIATION * median(abs(one - middle) for one in past), floor)
    low, high = middle - tolerance * deviation, middle + tolerance * deviation
    if share:
        low, high = max(low, 0.0), min(high, 1.0)
    if one_sided:  # nearer to the usual than usual is no drift
        low = 0.0
    return Banded(name, tuple(past), now, low, high, share, width)
