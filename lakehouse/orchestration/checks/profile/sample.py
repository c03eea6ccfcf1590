"""Sampling skew: does a column have the distribution that it has in another table?"""

import time
from typing import Any

import dagster as dg

from lakehouse.contracts.profile.distance import Distance, distance
from lakehouse.contracts.profile.plots import draw_column, draw_samples
from lakehouse.contracts.profile.statistics import ColumnProfile
from lakehouse.declarations import ORDERED, SampleOf
from lakehouse.orchestration.checks.profile.measurement import measured_here, measured_there, unit_of
from lakehouse.orchestration.checks.profile.result import describe_gaps, gaps_shown, result
from lakehouse.orchestration.checks.table_question import TableCheckRun


def name_of(expected: SampleOf) -> str:
    """The check's name."""
    return f"sample_{expected.column}"


def description_of(expected: SampleOf) -> str:
    """What the check proves."""
    return (
        f"{expected.column} is distributed as {expected.table}.{expected.to or expected.column}, so that both can be "
        "samples of the same thing: the distance of the two (Kolmogorov–Smirnov for numbers and times, total variation "
        f"for text) is at most {expected.largest:g}. The other table is taken at the snapshot that this one was "
        "computed from, where its seal names one. A warning, which blocks nothing."
    )


def sample_result(asked: TableCheckRun, expected: SampleOf) -> dg.AssetCheckResult:
    """Compare a column with its like in another table."""
    began = time.monotonic()
    name, to = name_of(expected), expected.to or expected.column
    measured, other = measured_here(asked), measured_there(asked, expected.table)
    here, there = measured.columns.get(expected.column), other.columns.get(to)
    metadata: dict[str, Any] = {"other snapshot id": str(other.pinned.snapshot_id or "none")}
    if here is None or there is None or not (here.rows and there.rows):
        said = f"{'This table' if here is None or not here.rows else expected.table} holds no rows: nothing to compare."
        return result(asked, name, passed=True, said=said, metadata=metadata)
    compared = _compared(here, there)
    unit = unit_of(asked.table, expected.column) or unit_of(asked.declarations.tables[expected.table], to)
    metadata |= {
        "distance": compared.value,
        "largest allowed": expected.largest,
        "values": here.values,
        "values there": there.values,
        "missing share": here.missing_share,
        "missing share there": there.missing_share,
        **gaps_shown(compared.worst, asked.table.name, expected.table),
        "statistics": measured.origin,
        "statistics there": other.origin,
        "seconds": round(time.monotonic() - began, 3),
    }
    passed = compared.value <= expected.largest
    title = f"{expected.column}: {_measure(here)} {compared.value:.3f}, {expected.largest:g} is allowed"
    names = (asked.table.name, expected.table)
    both = bool(here.values and there.values)
    return result(
        asked,
        name,
        passed=passed,
        said=_describe(asked.table.name, expected, here, compared),
        metadata=metadata,
        picture=draw_samples(expected.column, unit, here, there, names, title)
        if both
        else draw_column(expected.column, unit, here if here.values else there),
    )


def _compared(here: ColumnProfile, there: ColumnProfile) -> Distance:
    if here.values and there.values:
        return distance(here, there)
    # Values on one side alone are as far apart as can be; on neither side, there is nothing that differs.
    return Distance(float(bool(here.values or there.values)), at_least=False, worst=())


def _measure(found: ColumnProfile) -> str:
    return "Kolmogorov–Smirnov distance" if found.kind in ORDERED else "total variation"


def _describe(table: str, expected: SampleOf, here: ColumnProfile, compared: Distance) -> str:
    least = "at least " if compared.at_least else ""
    where = f"{expected.table}.{expected.to or expected.column}"
    said = f"{_measure(here)} from {where} is {least}{compared.value:.3f}, {expected.largest:g} is allowed."
    if compared.value <= expected.largest:
        return f"{expected.column} can be a sample of the same thing: the {said}"
    worst = f" Largest differences: {describe_gaps(compared.worst)}." if compared.worst else " One side has no values."
    return f"{expected.column} of {table} is no sample of the same thing: the {said}{worst}"
