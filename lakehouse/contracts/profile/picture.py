"""Small pictures for Dagster's UI: drawn without a window, as a PNG inside markdown, on paper of their own.

The UI has a light and a dark theme and tells no picture which: an opaque white ground is read on both. What follows the
image in a check's metadata is plotted by Dagster itself; so a picture holds little, and few kB.
"""

import base64
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, PALE, ALARM, QUIET = "#4f43dd", "#9a93ea", "#d1434b", "#6b6b7a"
_DPI = 100
_SMALL = 8
_COLOURS = 64


def new_figure(height: float, *, width: float = 6.4) -> "Figure":
    """An empty figure; sizes in inches of a hundred pixels."""
    # matplotlib is slow to import, and code locations are loaded often.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=_DPI, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def tidy(axes: "Axes", title: str = "") -> None:
    """Title, letters, ticks and frame as all pictures have them."""
    axes.set_title(title, loc="left", fontsize=_SMALL + 1)
    axes.tick_params(labelsize=_SMALL, colors=QUIET, labelcolor="black")
    axes.xaxis.label.set_fontsize(_SMALL)
    axes.yaxis.label.set_fontsize(_SMALL)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(QUIET)


def counted_bars(bars: Sequence[tuple[str, int, str]], *, height: float, title: str = "") -> "Figure":
    """A lying bar for each count, the first on top, with the number at its end.

    Args:
        bars: name, count and colour of each.
        height: of the figure.
        title: of the picture.
    """
    figure = new_figure(height)
    axes = figure.subplots()
    names, counts, colours = zip(*reversed(bars), strict=True)
    drawn = axes.barh(range(len(bars)), counts, color=colours)
    axes.bar_label(drawn, [f"{count:,}" for count in counts], fontsize=_SMALL, padding=2)
    axes.set_yticks(range(len(bars)), names)
    axes.set_xticks([])
    axes.margins(x=0.15)
    tidy(axes, title)
    axes.spines["bottom"].set_visible(False)
    return figure


def png(figure: "Figure") -> bytes:
    """The figure as a PNG with a palette: a third of the size, and no difference that one sees."""
    from PIL import Image

    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png")
    Image.open(drawn).convert("RGB").quantize(_COLOURS).save(small, format="png", optimize=True)
    return small.getvalue()


def markdown(figure: "Figure", *, alt: str, caption: str) -> str:
    """Markdown with the picture in it, for the click on "Show Markdown".

    Args:
        figure: what was drawn.
        alt: what the picture shows, for those who do not see it.
        caption: a line above it.
    """
    return f"{caption}\n\n![{alt}](data:image/png;base64,{base64.b64encode(png(figure)).decode()})"
