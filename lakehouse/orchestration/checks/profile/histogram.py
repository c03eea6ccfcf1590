"""Histogram: where do the values of a column lie, how many are outliers, how many are missing?"""

import time

import dagster as dg

from lakehouse.contracts.profile.axis import shown
from lakehouse.contracts.profile.plots import draw_histogram
from lakehouse.contracts.profile.statistics import ColumnProfile
from lakehouse.declarations import Histogram
from lakehouse.orchestration.checks.profile.measurement import measured_here
from lakehouse.orchestration.checks.profile.result import counts, result
from lakehouse.orchestration.checks.table_question import TableCheckRun


def name_of(expected: Histogram) -> str:
    """The check's name."""
    return f"histogram_{expected.column}"


def description_of(expected: Histogram) -> str:
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


def histogram_result(asked: TableCheckRun, expected: Histogram) -> dg.AssetCheckResult:
    """Draw a column and judge what the declaration bounds."""
    began = time.monotonic()
    measured = measured_here(asked)
    found = measured.columns.get(expected.column)
    if found is None or not found.rows:
        return result(
            asked,
            name_of(expected),
            passed=True,
            said="The table holds no rows: there is nothing to show.",
            metadata={},
        )
    outliers = found.spread.outliers if found.spread else 0
    share = outliers / found.values if found.values else 0.0
    over = [
        *_over("missing", found.missing_share, expected.most_missing),
        *_over("outliers", share, expected.most_outliers),
    ]
    metadata = {
        **counts(found),
        "missing share": found.missing_share,
        "outliers": outliers,
        **_fences(found),
        "statistics": measured.origin,
    }
    picture = draw_histogram(expected.column, expected.unit, found)
    return result(
        asked,
        name_of(expected),
        passed=not over,
        said=_describe(expected.column, found) + (f" Too many: {' and '.join(over)}." if over else ""),
        metadata={**metadata, "seconds": round(time.monotonic() - began, 3)},
        picture=picture,
    )


def _over(what: str, share: float, most: float | None) -> list[str]:
    return [f"{share:.2%} {what}, {most:.2%} are allowed"] if most is not None and share > most else []


def _fences(found: ColumnProfile) -> dict[str, float | str]:
    if found.spread is None or found.spread.fences is None:
        return {}
    ends = zip(("lower fence", "upper fence"), found.spread.fences, strict=True)
    return {name: fence if found.kind == "number" else shown(fence, found.kind) for name, fence in ends}


def _describe(column: str, found: ColumnProfile) -> str:
    missing = f"{found.missing:,} of {found.rows:,} rows have none" if found.missing else "none is missing"
    odd = f", {found.odd:,} are NaN or beyond 1e288" if found.odd else ""
    if found.spread is None:
        return f"{column} has no values: {missing}{odd}."
    least, greatest = (shown(end, found.kind) for end in (found.spread.least, found.spread.greatest))
    said = f"{column} lies between {least} and {greatest}, {missing}{odd}."
    if found.spread.fences is None:
        return f"{said} Half of the values are the same, so none is called an outlier."
    low, high = (shown(fence, found.kind) for fence in found.spread.fences)
    return f"{said} {found.spread.outliers:,} are outliers: below {low} or above {high}."
