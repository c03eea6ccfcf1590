"""A small picture of what came and what it did, as an inline image for Dagster's UI: changes in, rows out."""

from collections.abc import Mapping

from lakehouse.contracts.profile.picture import ALARM, INK, PALE, counted_bars, markdown


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
    drawn = counted_bars(bars, height=0.5 + 0.22 * len(bars))
    return markdown(drawn, alt="changes and rows", caption="Changes by operation, and what became of rows")
