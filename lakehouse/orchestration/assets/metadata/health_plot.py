"""A small picture of a table's health over time, with what was done to it, as an inline image for Dagster's UI."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lakehouse.contracts.profile.picture import ALARM, INK, PALE, markdown, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_POINTS = 500
_ENOUGH = 2
_BAD = ("failed", "proof_failed", "overtaken")


def health_markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Markdown with the picture in it, for the click on "Show Markdown"; empty if there is no course to show.

    Args:
        rows: of `lakehouse.maintenance` about one table, in any order.
    """
    measured = {row["at"]: row["health"] for row in rows if row["phase"] == "decided" and row["health"] is not None}
    course = sorted(measured.items())[-_MOST_POINTS:]
    if len(course) < _ENOUGH:
        return ""
    done = [row for row in rows if row["phase"] == "finished" and row["at"] >= course[0][0]]
    said = (
        f"Health from {course[0][0]:%Y-%m-%d %H:%M} to {course[-1][0]:%Y-%m-%d %H:%M} UTC, and {len(done)} operations"
    )
    return markdown(_figure(course, done), alt="health over time", said=said)


def _figure(course: Sequence[tuple[datetime, float]], done: Sequence[Mapping[str, Any]]) -> "Figure":
    figure = new_figure(1.8)
    axes = figure.subplots()
    # As numbers: matplotlib's own dates bring a converter and a locale along.
    axes.step([at.timestamp() for at, _ in course], [health for _, health in course], where="post", color=INK)
    for row in done:
        colour = ALARM if row["result"] in _BAD else PALE
        axes.axvline(row["at"].timestamp(), color=colour, linewidth=1, zorder=0)
    ends = (course[0][0], course[-1][0])
    axes.set_xticks([at.timestamp() for at in ends], [f"{at:%Y-%m-%d %H:%M}" for at in ends])
    axes.set_ylim(0, 105)
    axes.set_ylabel("health")
    tidy(axes)
    return figure
