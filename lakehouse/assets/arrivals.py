"""A small picture of when a step's records arrived, as an inline image for Dagster's UI."""

import base64
import io
from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np

_BARS = 60
_MINUTE = 60
_FIRST_MINUTE, _LAST_MINUTE = (
    int(end.timestamp()) // _MINUTE
    for end in (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, tzinfo=UTC))
)


def arrivals_markdown(arrivals: Mapping[int, int]) -> str:
    """Markdown with the picture in it, for the click on "Show Markdown"; empty if nothing arrived.

    Args:
        arrivals: minute since the epoch (of Kafka's timestamp) → records.
    """
    if not arrivals:
        return ""
    first, last = min(arrivals), max(arrivals)
    span = f"{_clock(first)} to {_clock(last + 1)} UTC"
    image = base64.b64encode(_picture(arrivals)).decode()
    return f"Records by Kafka's timestamp, {span}\n\n![records by time of arrival](data:image/png;base64,{image})"


def _picture(arrivals: Mapping[int, int]) -> bytes:
    """Draw at most sixty bars over the span; a few kB of PNG."""
    # matplotlib is slow to import, and code locations are loaded often.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    minutes = np.array(list(arrivals), dtype=np.int64)
    span = int(minutes.max() - minutes.min()) + 1
    heights, edges = np.histogram(
        minutes,
        bins=min(_BARS, span),
        range=(float(minutes.min()), float(minutes.max() + 1)),
        weights=np.array(list(arrivals.values()), dtype=np.float64),
    )
    figure = Figure(figsize=(6, 1.8), dpi=80)
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.bar((edges[:-1] - edges[0]), heights, width=np.diff(edges), align="edge", color="#4f43dd")
    ends = (int(minutes.min()), int(minutes.max()) + 1)
    axes.set_xticks([0, span], [_clock(end) for end in ends])
    axes.set_ylabel("records", fontsize=7)
    axes.tick_params(labelsize=7)
    axes.set_xlim(0, span)
    figure.tight_layout()
    target = io.BytesIO()
    figure.savefig(target, format="png")
    return target.getvalue()


def _clock(minute: int) -> str:
    # A producer may send any number as a timestamp; what no calendar has must not fail a step that has published.
    within = min(max(minute, _FIRST_MINUTE), _LAST_MINUTE)
    mark = "" if within == minute else "before " if minute < within else "after "
    return f"{mark}{datetime.fromtimestamp(within * _MINUTE, UTC):%Y-%m-%d %H:%M}"
