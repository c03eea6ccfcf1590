"""A small picture of how many records a stream has refused on each of the last days, for Dagster's UI."""

from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING

from lakehouse.contracts.profile.picture import ALARM, INK, PALE, QUIET, markdown, new_figure, tidy
from lakehouse.steps.ingest.repair.refused_trend import RefusedDay

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DAYS = 30
_COLOURS = (ALARM, INK, PALE)


def refused_markdown(refused: Sequence[RefusedDay], today: date) -> str:
    """Markdown with the picture in it; empty if nothing of the last days is in quarantine.

    Args:
        refused: what was counted of the last `DAYS` days.
        today: the last of them.
    """
    if not refused:
        return ""
    caption = f"Records in quarantine by day of their Kafka timestamp, {DAYS} days to {today} (UTC)"
    return markdown(_figure(refused, today), alt="refused records by day", caption=caption)


def _figure(refused: Sequence[RefusedDay], today: date) -> "Figure":
    """A bar a day; the three most frequent reasons have colours of their own."""
    totals = Counter[str]()
    for each in refused:
        totals[each.error_class] += each.records
    first = today - timedelta(days=DAYS - 1)
    figure = new_figure(1.8)
    axes = figure.subplots()
    named = [kind for kind, _ in totals.most_common(len(_COLOURS))]
    below = [0] * DAYS
    for kind, colour in zip([*named, ""], (*_COLOURS[: len(named)], QUIET), strict=True):
        heights = [0] * DAYS
        for each in refused:
            if each.error_class == kind or (not kind and each.error_class not in named):
                heights[(each.day - first).days] += each.records
        if any(heights):
            axes.bar(range(DAYS), heights, bottom=below, color=colour, label=kind or "others")
            below = [low + high for low, high in zip(below, heights, strict=True)]
    axes.set_xticks([0, DAYS - 1], [str(first), str(today)])
    axes.set_ylabel("records")
    axes.legend(fontsize=7, frameon=False)
    tidy(axes)
    return figure
