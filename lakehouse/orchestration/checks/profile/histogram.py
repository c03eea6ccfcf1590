"""Histogram: where do the values of a column lie, how many are outliers, how many are missing?"""

from lakehouse.contracts.profile.axis import shown
from lakehouse.contracts.profile.plots import draw_histogram
from lakehouse.contracts.profile.statistics import ColumnProfile
from lakehouse.declarations import Histogram
from lakehouse.orchestration.checks.profile.answer import Answer, counts, nothing_to_judge
from lakehouse.orchestration.checks.profile.measurement import measured_here
from lakehouse.orchestration.checks.table_question import TableCheckRun


def describe(expected: Histogram) -> str:
    """What the check proves."""
    judged = [
        *([f"{expected.most_missing:.1%} are missing"] if expected.most_missing is not None else []),
        *([f"{expected.most_outliers:.1%} are outliers"] if expected.most_outliers is not None else []),
    ]
    verdict = f"Warns when more than {' or '.join(judged)}." if judged else "Judges nothing, so it always passes."
    return (
        f"A picture of {expected.column}, with its missing values counted and its outliers marked: values further from "
        f"the middle half of all than three times the width of that half (Tukey's far-out values). {verdict}"
    )


def answer(check_run: TableCheckRun, expected: Histogram) -> Answer:
    """Draw a column and judge what the declaration bounds."""
    measured = measured_here(check_run)
    profile = measured.columns.get(expected.column)
    if profile is None or not profile.rows:
        return nothing_to_judge("The table holds no rows: there is nothing to show.")
    outliers = profile.spread.outliers if profile.spread else 0
    share = outliers / profile.values if profile.values else 0.0
    over = [
        *_over("missing", profile.missing_share, expected.most_missing),
        *_over("outliers", share, expected.most_outliers),
    ]
    metadata = {
        **counts(profile),
        "missing share": profile.missing_share,
        "outliers": outliers,
        **_fences(profile),
        "statistics": measured.origin,
    }
    description = _describe_values(expected.column, profile) + (f" Too many: {' and '.join(over)}." if over else "")
    return Answer(not over, description, metadata, draw_histogram(expected.column, expected.unit, profile))


def _over(kind: str, share: float, most: float | None) -> list[str]:
    return [f"{share:.2%} {kind}, {most:.2%} are allowed"] if most is not None and share > most else []


def _fences(profile: ColumnProfile) -> dict[str, float | str]:
    if profile.spread is None or profile.spread.fences is None:
        return {}
    ends = zip(("lower fence", "upper fence"), profile.spread.fences, strict=True)
    return {name: fence if profile.kind == "number" else shown(fence, profile.kind) for name, fence in ends}


def _describe_values(column: str, profile: ColumnProfile) -> str:
    missing = f"{profile.missing:,} of {profile.rows:,} rows have none" if profile.missing else "none is missing"
    odd = f", {profile.odd:,} are NaN or beyond 1e288" if profile.odd else ""
    if profile.spread is None:
        return f"{column} has no values: {missing}{odd}."
    least, greatest = (shown(end, profile.kind) for end in (profile.spread.least, profile.spread.greatest))
    sentence = f"{column} lies between {least} and {greatest}, {missing}{odd}."
    if profile.spread.fences is None:
        return f"{sentence} Half of the values are the same, so none is called an outlier."
    low, high = (shown(fence, profile.kind) for fence in profile.spread.fences)
    return f"{sentence} {profile.spread.outliers:,} are outliers: below {low} or above {high}."
