"""Drift: is a column distributed as it used to be?"""

from typing import Any

from lakehouse.contracts.profile.axis import shown
from lakehouse.contracts.profile.drift import ENOUGH, Banded, Drifted, compare_with_past
from lakehouse.contracts.profile.plots import draw_bands, draw_column
from lakehouse.declarations import Drift, Kind
from lakehouse.orchestration.checks.profile.answer import Answer, counts, describe_gaps, gaps_shown, nothing_to_judge
from lakehouse.orchestration.checks.profile.measurement import measured_here, unit_of
from lakehouse.orchestration.checks.table_question import TableCheckRun


def describe(expected: Drift) -> str:
    """What the check proves."""
    return (
        f"Compares {expected.column} with the last {expected.history} snapshots of this table that brought rows and "
        "were looked at: its median and middle half (of numbers and times), the share of missing values and the "
        "distance from the usual distribution lie within a band around their own medians, "
        f"{expected.tolerance:g} scaled median absolute deviations to each side. A warning, which blocks nothing. With "
        f"fewer than {ENOUGH} earlier snapshots it passes and says so."
    )


def answer(check_run: TableCheckRun, expected: Drift) -> Answer:
    """Judge a column by its own history."""
    measured = measured_here(check_run)
    profile = measured.columns.get(expected.column)
    if measured.content is None or profile is None or not profile.rows:
        return nothing_to_judge("The table holds no rows: there is nothing to judge.")
    past = measured.kept.before(expected.column, measured.content, expected.history)
    drifted = compare_with_past(profile, [point.statistics for point in past], expected.tolerance)
    unit = unit_of(check_run.table, expected.column)
    bands = draw_bands(expected.column, unit, profile.kind, drifted.banded)
    metadata: dict[str, Any] = {
        **counts(profile),
        "earlier snapshots": drifted.points,
        **{key: value for banded in drifted.banded for key, value in _numbers(banded, profile.kind).items()},
        **gaps_shown(drifted.worst, "now", "usually"),
        "statistics": measured.origin,
    }
    description = _describe_drift(expected.column, profile.kind, drifted)
    return Answer(not drifted.outside, description, metadata, bands or draw_column(expected.column, unit, profile))


def _numbers(banded: Banded, kind: Kind) -> dict[str, float | str]:
    ends = {
        banded.name: banded.now,
        f"{banded.name}, lowest usual": banded.low,
        f"{banded.name}, highest usual": banded.high,
    }
    return {name: value if _plain(banded, kind) else shown(value, kind) for name, value in ends.items()}


def _plain(banded: Banded, kind: Kind) -> bool:
    return banded.measure != "value" or kind == "number"


def _describe_drift(column: str, kind: Kind, drifted: Drifted) -> str:
    if not drifted.banded:
        return (
            f"Too little to judge {column}: {drifted.points} earlier snapshots have statistics, and it takes {ENOUGH}. "
            "Those of this snapshot are kept for the next ones."
        )
    if not drifted.outside:
        return f"{column} is distributed as it was in the last {drifted.points} snapshots."
    outside = "; ".join(
        f"{banded.name} is {_shown(banded, banded.now, kind)}, usual is {_shown(banded, banded.low, kind)} to "
        f"{_shown(banded, banded.high, kind)}"
        for banded in drifted.outside
    )
    worst = f" Largest differences from usual: {describe_gaps(drifted.worst)}." if drifted.worst else ""
    return f"{column} is not distributed as in the last {drifted.points} snapshots: {outside}.{worst}"


def _shown(banded: Banded, value: float, kind: Kind) -> str:
    plain = banded.measure == "share" or (banded.measure == "length" and kind != "number")
    return f"{value:.3g}" if plain else shown(value, kind)
