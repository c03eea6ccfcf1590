"""What each distribution check shows: the histogram with its outliers, two samples over each other, a band, a tally."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lakehouse.contracts.profile.axis import axis_date_scale, shown
from lakehouse.contracts.profile.bins import Bins, aligned
from lakehouse.contracts.profile.conversion import ConversionResult
from lakehouse.contracts.profile.distance import shares_of_texts
from lakehouse.contracts.profile.drift import Banded
from lakehouse.contracts.profile.picture import ALARM, INK, PALE, QUIET, counted_bars, new_figure, tidy
from lakehouse.contracts.profile.statistics import ColumnProfile, Spread
from lakehouse.declarations import Kind

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BARS = 160
_TEXTS = 20
# Where outliers take more than this of the axis, the others get one of their own.
_CROWDED = 0.5


def draw_histogram(column: str, unit: str, profile: ColumnProfile) -> "Figure | None":
    """Bars over the axis, with fences, outliers marked and missing values told; None for a column without values."""
    spread = profile.spread
    if spread is None:
        return None
    low, high = _body(spread)
    crowded = high - low < (1 - _CROWDED) * (spread.greatest - spread.least)
    figure = new_figure(3.1 if crowded else 2.6)
    main, *strip = figure.subplots(2 if crowded else 1, height_ratios=[4, 1] if crowded else [1], squeeze=False)[:, 0]
    inner, outer = _apart(_drawable(spread.bins, low, high), spread.fences)
    _bars(main, inner, profile.kind, INK)
    if strip:
        strip[0].axvspan(*_placed((low, high), profile.kind), color=PALE, alpha=0.5, linewidth=0)
        strip[0].set_yticks([])
        tidy(
            strip[0],
            f"outliers over all of the axis, from {shown(spread.least, profile.kind)} to "
            f"{shown(spread.greatest, profile.kind)}; shaded: the part above",
        )
    else:
        _bars(main, outer, profile.kind, ALARM)
    # A few outliers among many rows would be no pixel high: each of their bins has a mark as well.
    marks = [(number + 0.5) * outer.width for number in outer.counts]
    marks += [spread.least] * bool(outer.beneath) + [spread.greatest] * bool(outer.beyond)
    (strip[0] if strip else main).plot(
        _placed(marks, profile.kind), [0] * len(marks), "|", color=ALARM, markersize=8, clip_on=False
    )
    for fence in spread.fences or ():
        if spread.least < fence < spread.greatest:
            main.axvline(*_placed([fence], profile.kind), color=ALARM, linewidth=1, linestyle=":")
    main.set_ylabel("rows")
    main.set_xlabel(_label(column, unit))
    main.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    for axes in (main, *strip):
        _name_ticks(axes, profile.kind)
    tidy(main, _histogram_title(column, profile))
    return figure


def draw_column(column: str, unit: str, profile: ColumnProfile) -> "Figure | None":
    """A histogram of an ordered column, the most frequent values of any other; None for a column without values."""
    if profile.spread is not None or not profile.categories:
        return draw_histogram(column, unit, profile)
    figure = new_figure(2.6)
    axes = figure.subplots()
    shares = {text: count / profile.values for text, count in list(profile.categories.items())[:_TEXTS]}
    axes.bar(range(len(shares)), list(shares.values()), color=INK)
    _name_texts(axes, list(shares))
    axes.set_ylabel("share of values")
    axes.set_xlabel(column)
    more = f", the {_TEXTS} most frequent shown" if len(profile.categories) > _TEXTS else ""
    tidy(axes, f"{column}: {profile.values:,} values, {profile.missing:,} missing{more}")
    return figure


def draw_samples(
    column: str, unit: str, profile: ColumnProfile, other: ColumnProfile, names: tuple[str, str], title: str
) -> "Figure":
    """Two distributions over each other, as shares of the values."""
    figure = new_figure(2.8)
    axes = figure.subplots()
    if profile.spread is not None and other.spread is not None:
        low, high = (
            min(_body(s)[0] for s in (profile.spread, other.spread)),
            max(_body(s)[1] for s in (profile.spread, other.spread)),
        )
        own_bins, other_bins = aligned([profile.spread.bins, other.spread.bins])
        exponent = max(_drawable(bins, low, high).exponent for bins in (own_bins, other_bins))
        _steps(axes, other_bins.coarsened(exponent), names[1], profile.kind, filled=True)
        _steps(axes, own_bins.coarsened(exponent), names[0], profile.kind, filled=False)
        _name_ticks(axes, profile.kind)
    else:
        _side_by_side(axes, *shares_of_texts(profile, other), names)
    axes.set_ylabel("share of values")
    axes.set_xlabel(_label(column, unit))
    axes.legend(fontsize=7, frameon=False)
    tidy(axes, title)
    return figure


def draw_bands(column: str, unit: str, kind: Kind, banded: Sequence[Banded]) -> "Figure | None":
    """A small panel for each statistic: its band, its history and the point that is judged; None without a history."""
    if not banded:
        return None
    lines = (len(banded) + 1) // 2
    figure = new_figure(0.4 + 1.2 * lines)
    panels = figure.subplots(lines, min(2, len(banded)), squeeze=False).flatten()
    for axes, statistic in zip(panels, banded, strict=False):
        _band(axes, statistic, kind, unit)
    for axes in panels[len(banded) :]:
        axes.set_visible(False)
    outside = [statistic.name for statistic in banded if not statistic.inside]
    verdict = f"outside of its band: {', '.join(outside)}" if outside else "within the bands of its history"
    figure.suptitle(f"{column}: {verdict}", x=0.01, ha="left", fontsize=9)
    return figure


def draw_conversion(column: str, original: str, result: ConversionResult) -> "Figure":
    """A bar for each outcome, the differences marked."""
    bars = [
        ("same", result.same, INK),
        ("changed", result.changed, ALARM),
        ("null now", result.lost, ALARM),
        ("value from null", result.invented, ALARM),
        ("without original", result.rows - result.partners, QUIET),
    ]
    return counted_bars(bars, height=1.7, title=f"{column}: rows compared with {original}")


def _label(column: str, unit: str) -> str:
    return f"{column} ({unit})" if unit else column


def _histogram_title(column: str, profile: ColumnProfile) -> str:
    assert profile.spread is not None
    title = f"{column}: {profile.values:,} values, {profile.missing:,} missing"
    if profile.spread.fences is None:
        return title
    if not profile.spread.outliers:
        return f"{title}, no outliers"
    low, high = (shown(fence, profile.kind) for fence in profile.spread.fences)
    return f"{title}, {profile.spread.outliers:,} outliers (below {low} or above {high})"


def _body(spread: Spread) -> tuple[float, float]:
    """The part of the axis on which values lie that are no outliers."""
    low, high = spread.fences or (spread.least, spread.greatest)
    return max(low, spread.least), min(high, spread.greatest)


def _apart(bins: Bins, fences: tuple[float, float] | None) -> tuple[Bins, Bins]:
    """Bins within and beyond the fences; one that a fence cuts counts as within."""
    low, high = fences or (-float("inf"), float("inf"))
    beyond = {n: c for n, c in bins.counts.items() if (n + 1) * bins.width <= low or n * bins.width > high}
    within = {n: c for n, c in bins.counts.items() if n not in beyond}
    return replace(bins, counts=within, beneath=0, beyond=0), replace(bins, counts=beyond)


def _drawable(bins: Bins, low: float, high: float) -> Bins:
    """The bins, joined until a part of the axis has no more of them than one can tell apart."""
    while (high - low) / bins.width > _BARS:
        bins = bins.coarsened(bins.exponent + 1)
    return bins


def _bars(axes: "Axes", bins: Bins, kind: Kind, colour: str) -> None:
    [width] = _placed([bins.width], kind)
    positions = _placed([number * bins.width for number in bins.counts], kind)
    axes.bar(positions, list(bins.counts.values()), width=width, align="edge", color=colour)


def _steps(axes: "Axes", bins: Bins, name: str, kind: Kind, *, filled: bool) -> None:
    shares = bins.shares()
    numbers = sorted({near for number in bins.counts for near in (number, number + 1)})
    edges = _placed([number * bins.width for number in numbers], kind)
    heights = [shares.get(number, 0.0) for number in numbers[:-1]]
    axes.stairs(heights, edges, fill=filled, color=PALE if filled else INK, label=name, linewidth=1.2)


def _side_by_side(
    axes: "Axes", shares: Mapping[str, float], other_shares: Mapping[str, float], names: tuple[str, str]
) -> None:
    order = sorted({*shares, *other_shares}, key=lambda text: -max(shares.get(text, 0.0), other_shares.get(text, 0.0)))[
        :_TEXTS
    ]
    positions = range(len(order))
    axes.bar(positions, [other_shares.get(text, 0.0) for text in order], width=0.8, color=PALE, label=names[1])
    axes.bar(positions, [shares.get(text, 0.0) for text in order], width=0.35, color=INK, label=names[0])
    _name_texts(axes, order)


def _name_texts(axes: "Axes", texts: Sequence[str]) -> None:
    rotation = 60 if max(map(len, texts)) > 3 else 0
    axes.set_xticks(range(len(texts)), [text[:12].replace("$", r"\$") for text in texts], rotation=rotation)


def _band(axes: "Axes", banded: Banded, kind: Kind, unit: str) -> None:
    positions = range(len(banded.past) + 1)
    axes.axhspan(banded.low, banded.high, color=PALE, alpha=0.35, linewidth=0)
    axes.plot(positions[:-1], banded.past, ".-", color=QUIET, linewidth=0.8, markersize=4)
    axes.plot([positions[-1]], [banded.now], "o", color=INK if banded.inside else ALARM, markersize=6, clip_on=False)
    axes.set_xticks([0, len(banded.past)], ["oldest", "now"])
    axes.locator_params(axis="y", nbins=4)
    if banded.measure == "value":
        axes.yaxis.set_major_formatter(lambda value, _: shown(value, kind)[:16])
    tidy(axes, _label(banded.name, "" if banded.measure == "share" else unit))


def _placed(positions: Sequence[float], kind: Kind) -> list[float]:
    """Positions as matplotlib wants them: of dates and times, days since 1970."""
    scale = axis_date_scale(kind) or 1.0
    return [position * scale for position in positions]


def _name_ticks(axes: "Axes", kind: Kind) -> None:
    """Years and other small whole numbers as they are, large ones with separators, dates where a calendar has them.

    That the values have a place in the calendar is not enough: behind the last day, margins and bars reach out of it.
    """
    scale = axis_date_scale(kind) or 1.0
    ends = "".join(shown(end / scale, kind) for end in axes.get_xlim())
    if axis_date_scale(kind) is None or "year" in ends:
        axes.xaxis.set_major_formatter(lambda value, _: shown(value / scale, kind)[:16])
    else:
        axes.xaxis.axis_date()
