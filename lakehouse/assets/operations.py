"""A small picture of what came and what it did, as an inline image for Dagster's UI: changes in, rows out."""

import base64
import io
from collections.abc import Mapping

_IN, _OUT, _REFUSED = "#9a93ea", "#4f43dd", "#d1434b"


def operations_markdown(operations: Mapping[str, int], applied: Mapping[str, int], refused: Mapping[str, int]) -> str:
    """Markdown with the picture in it, for the click on "Show Markdown"; empty if there is nothing to show.

    Args:
        operations: operation → changes that came.
        applied: what happened to rows → rows.
        refused: why changes were not applied → changes.
    """
    bars = [
        *((name, count, _IN) for name, count in operations.items() if count),
        *((name, count, _OUT) for name, count in applied.items() if count),
        *((name, count, _REFUSED) for name, count in refused.items() if count),
    ]
    if not bars:
        return ""
    image = base64.b64encode(_picture(bars)).decode()
    return f"Changes by operation, and what became of rows\n\n![changes and rows](data:image/png;base64,{image})"


def _picture(bars: list[tuple[str, int, str]]) -> bytes:
    # matplotlib is slow to import, and code locations are loaded often.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 0.5 + 0.22 * len(bars)), dpi=80)
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    names, counts, colours = zip(*reversed(bars), strict=True)
    drawn = axes.barh(range(len(bars)), counts, color=colours)
    axes.bar_label(drawn, [f"{count:,}" for count in counts], fontsize=7, padding=2)
    axes.set_yticks(range(len(bars)), names)
    axes.set_xticks([])
    axes.margins(x=0.15)
    axes.tick_params(labelsize=7)
    figure.tight_layout()
    target = io.BytesIO()
    figure.savefig(target, format="png")
    return target.getvalue()
