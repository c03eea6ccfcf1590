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


def draw_histogram(column: str, unit: str, found: ColumnProfile) -> "Figure | None":
    """Bars over the axis, with fences, outliers marked and missing values told; None for a column without values."""
    spread = found.spread
    if spread is None:
        return None
    low, high = _body(spread)
    crowded = high - low < (1 - _CROWDED) * (spread.greatest - spread.least)
    figure = new_figure(3.1 if crowded else 2.6)
    main, *strip = figure.subplots(2 if crowded else 1, height_ratios=[4, 1] if crowded else [1], squeeze=False)[:, 0]
    inner, outer = _apart(_drawable(spread.bins, low, high), spread.fences)
    _bars(main, inner, found.kind, INK)
    if strip:
        strip[0].axvspan(*_placed((low, high), found.kind), color=PALE, alpha=0.5, linewidth=0)
        strip[0].set_yticks([])
        tidy(
            strip[0],
            f"outliers over all of the axis, from {shown(spread.least, found.kind)} to "
            f"{shown(spread.greatest, found.kind)}; shaded: the part above",
        )
    else:
        _bars(main, outer, found.kind, ALARM)
    # A few outliers among many rows would be no pixel high: each of their bins has a mark as well.
    marks = [(number + 0.5) * outer.width for number in outer.counts]
    marks += [spread.least] * bool(outer.beneath) + [spread.greatest] * bool(outer.beyond)
    (strip[0] if strip else main).plot(
        _placed(marks, found.kind), [0] * len(marks), "|", color=ALARM, markersize=8, clip_on=False
    )
    for fence in spread.fences or ():
        if spread.least < fence < spread.greatest:
            main.axvline(*_placed([fence], found.kind), color=ALARM, linewidth=1, linestyle=":")
    main.set_ylabel("rows")
    main.set_xlabel(_label(column, unit))
    main.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    for axes in (main, *strip):
        _name_places(axes, found.kind)
    tidy(main, _histogram_title(column, found))
    return figure


def draw_column(column: str, unit: str, found: ColumnProfile) -> "Figure | None":
    """A histogram of an ordered column, the most frequent values of any other; None for a column without values."""
    if found.spread is not None or not found.categories:
        return draw_histogram(column, unit, found)
    figure = new_figure(2.6)
    axes = figure.subplots()
    shares = {text: count / found.values for text, count in list(found.categories.items())[:_TEXTS]}
    axes.bar(range(len(shares)), list(shares.values()), color=INK)
    _name_texts(axes, list(shares))
    axes.set_ylabel("share of values")
    axes.set_xlabel(column)
    more = f", the {_TEXTS} most frequent shown" if len(found.categories) > _TEXTS else ""
    tidy(axes, f"{column}: {found.values:,} values, {found.missing:,} missing{more}")
    return figure


def draw_samples(
    column: str, unit: str, here: ColumnProfile, there: ColumnProfile, names: tuple[str, str], told: str
) -> "Figure":
    """Two distributions over each other, as shares of the values."""
    figure = new_figure(2.8)
    axes = figure.subplots()
    if here.spread is not None and there.spread is not None:
        low, high = (
            min(_body(s)[0] for s in (here.spread, there.spread)),
            max(_body(s)[1] for s in (here.spread, there.spread)),
        )
        mine, theirs = aligned([here.spread.bins, there.spread.bins])
        exponent = max(_drawable(bins, low, high).exponent for bins in (mine, theirs))
        _steps(axes, theirs.coarsened(exponent), names[1], here.kind, filled=True)
        _steps(axes, mine.coarsened(exponent), names[0], here.kind, filled=False)
        _name_places(axes, here.kind)
    else:
        _side_by_side(axes, *shares_of_texts(here, there), names)
    axes.set_ylabel("share of values")
    axes.set_xlabel(_label(column, unit))
    axes.legend(fontsize=7, frameon=False)
    tidy(axes, told)
    return figure


def draw_bands(column: str, unit: str, kind: Kind, banded: Sequence[Banded]) -> "Figure | None":
    """A small panel for each statistic: its band, its history and the point that is judged; None without a history."""
    if not banded:
        return None
    lines = (len(banded) + 1) // 2
    figure = new_figure(0.4 + 1.2 * lines)
    panels = figure.subplots(lines, min(2, len(banded)), squeeze=False).flatten()
    for axes, one in zip(panels, banded, strict=False):
        _band(axes, one, kind, unit)
    for axes in panels[len(banded) :]:
        axes.set_visible(False)
    outside = [one.name for one in banded if not one.inside]
    found = f"outside of its band: {', '.join(outside)}" if outside else "within the bands of its history"
    figure.suptitle(f"{column}: {found}", x=0.01, ha="left", fontsize=9)
    return figure


def draw_conversion(column: str, original: str, found: ConversionResult) -> "Figure":
    """A bar for each outcome, the differences marked."""
    bars = [
        ("same", found.same, INK),
        ("changed", found.changed, ALARM),
        ("null now", found.lost, ALARM),
        ("value from null", found.invented, ALARM),
        ("without original", found.rows - found.partners, QUIET),
    ]
    return counted_bars(bars, height=1.7, title=f"{column}: rows compared with {original}")


def _label(column: str, unit: str) -> str:
    return f"{column} ({unit})" if unit else column


def _histogram_title(column: str, found: ColumnProfile) -> str:
    assert found.spread is not None
    title = f"{column}: {found.values:,} values, {found.missing:,} missing"
    if found.spread.fences is None:
        return title
    if not found.spread.outliers:
        return f"{title}, no outliers"
    low, high = (shown(fence, found.kind) for fence in found.spread.fences)
    return f"{title}, {found.spread.outliers:,} outliers (below {low} or above {high})"


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
    places = _placed([number * bins.width for number in bins.counts], kind)
    axes.bar(places, list(bins.counts.values()), width=width, align="edge", color=colour)


def _steps(axes: "Axes", bins: Bins, name: str, kind: Kind, *, filled: bool) -> None:
    shares = bins.shares()
    numbers = sorted({near for number in bins.counts for near in (number, number + 1)})
    edges = _placed([number * bins.width for number in numbers], kind)
    heights = [shares.get(number, 0.0) for number in numbers[:-1]]
    axes.stairs(heights, edges, fill=filled, color=PALE if filled else INK, label=name, linewidth=1.2)


def _side_by_side(axes: "Axes", mine: Mapping[str, float], theirs: Mapping[str, float], names: tuple[str, str]) -> None:
    order = sorted({*mine, *theirs}, key=lambda text: -max(mine.get(text, 0.0), theirs.get(text, 0.0)))[:_TEXTS]
    places = range(len(order))
    axes.bar(places, [theirs.get(text, 0.0) for text in order], width=0.8, color=PALE, label=names[1])
    axes.bar(places, [mine.get(text, 0.0) for text in order], width=0.35, color=INK, label=names[0])
    _name_texts(axes, order)


def _name_texts(axes: "Axes", texts: Sequence[str]) -> None:
    rotation = 60 if max(map(len, texts)) > 3 else 0
    axes.set_xticks(range(len(texts)), [text[:12].replace("$", r"\$") for text in texts], rotation=rotation)


def _band(axes: "Axes", one: Banded, kind: Kind, unit: str) -> None:
    places = range(len(one.past) + 1)
    axes.axhspan(one.low, one.high, color=PALE, alpha=0.35, linewidth=0)
    axes.plot(places[:-1], one.past, ".-", color=QUIET, linewidth=0.8, markersize=4)
    axes.plot([places[-1]], [one.now], "o", color=INK if one.inside else ALARM, markersize=6, clip_on=False)
    axes.set_xticks([0, len(one.past)], ["oldest", "now"])
    axes.locator_params(axis="y", nbins=4)
    if not (one.share or one.width):
        axes.yaxis.set_major_formatter(lambda value, _: shown(value, kind)[:16])
    tidy(axes, _label(one.name, "" if one.share else unit))


def _placed(positions: Sequence[float], kind: Kind) -> list[float]:
    """Positions as matplotlib wants them: of dates and times, days since 1970."""
    scale = axis_date_scale(kind) or 1.0
    return [position * scale for position in positions]


def _name_places(axes: "Axes", kind: Kind) -> None:
    """Years and other small whole numbers as they are, large ones with separators, dates where a calendar has them.

    That the values have a place in the calendar is not enough: behind the last day, margins and bars reach out of it.
    """
    scale = axis_date_scale(kind) or 1.0
    ends = "".join(shown(end / scale, kind) for end in axes.get_xlim())
    if axis_date_scale(kind) is None or "year" in ends:
        axes.xaxis.set_major_formatter(lambda value, _: shown(value / scale, kind)[:16])
    else:
        axes.xaxis.axis_date()
