"""A small picture of when a step's records arrived, as an inline image for Dagster's UI."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from lakehouse.contracts.profile.picture import INK, markdown, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    return markdown(
        _figure(arrivals), alt="records by time of arrival", caption=f"Records by Kafka's timestamp, {span}"
    )


def _figure(arrivals: Mapping[int, int]) -> "Figure":
    """Draw at most sixty bars over the span."""
    minutes = np.array(list(arrivals), dtype=np.int64)
    span = int(minutes.max() - minutes.min()) + 1
    heights, edges = np.histogram(
        minutes,
        bins=min(_BARS, span),
        range=(float(minutes.min()), float(minutes.max() + 1)),
        weights=np.array(list(arrivals.values()), dtype=np.float64),
    )
    figure = new_figure(1.8)
    axes = figure.subplots()
    axes.bar((edges[:-1] - edges[0]), heights, width=np.diff(edges), align="edge", color=INK)
    ends = (int(minutes.min()), int(minutes.max()) + 1)
    axes.set_xticks([0, span], [_clock(end) for end in ends])
    axes.set_ylabel("records")
    axes.set_xlim(0, span)
    tidy(axes)
    return figure


def _clock(minute: int) -> str:
    # A producer may send any number as a timestamp; what no calendar has must not fail a step that has published.
    within = min(max(minute, _FIRST_MINUTE), _LAST_MINUTE)
    mark = "" if within == minute else "before " if minute < within else "after "
    return f"{mark}{datetime.fromtimestamp(within * _MINUTE, UTC):%Y-%m-%d %H:%M}"
