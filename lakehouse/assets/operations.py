"""A small picture of what came and what it did, as an inline image for Dagster's UI: changes in, rows out."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lakehouse.distribution.picture import ALARM, INK, PALE, markdown, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def operations_markdown(operations: Mapping[str, int], applied: Mapping[str, int], refused: Mapping[str, int]) -> str:
    """Markdown with the picture in it, for the click on "Show Markdown"; empty if there is nothing to show.

    Args:
        operations: operation → changes that came.
        applied: what happened to rows → rows.
        refused: why changes were not applied → changes.
    """
    bars = [
        *((name, count, PALE) for name, count in operations.items() if count),
        *((name, count, INK) for name, count in applied.items() if count),
        *((name, count, ALARM) for name, count in refused.items() if count),
    ]
    if not bars:
        return ""
    return markdown(_figure(bars), alt="changes and rows", said="Changes by operation, and what became of rows")


def _figure(bars: list[tuple[str, int, str]]) -> "Figure":
    figure = new_figure(0.5 + 0.22 * len(bars))
    axes = figure.subplots()
    names, counts, colours = zip(*reversed(bars), strict=True)
    drawn = axes.barh(range(len(bars)), counts, color=colours)
    axes.bar_label(drawn, [f"{count:,}" for count in counts], fontsize=8, padding=2)
    axes.set_yticks(range(len(bars)), names)
    axes.set_xticks([])
    axes.margins(x=0.15)
    tidy(axes)
    return figure
