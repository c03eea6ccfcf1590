"""Sampling skew: does a column have the distribution that it has in another table?"""

from typing import Any

from lakehouse.contracts.profile.distance import Distance, distance
from lakehouse.contracts.profile.plots import draw_column, draw_samples
from lakehouse.contracts.profile.statistics import ColumnProfile
from lakehouse.declarations import ORDERED, SampleOf
from lakehouse.orchestration.checks.profile.answer import Answer, describe_gaps, gaps_shown, nothing_to_judge
from lakehouse.orchestration.checks.profile.measurement import measured_here, measured_there, unit_of
from lakehouse.orchestration.checks.table_question import TableCheckRun


def describe(expected: SampleOf) -> str:
    """What the check proves."""
    return (
        f"{expected.column} is distributed as {expected.table}.{expected.to or expected.column}, so that both can be "
        "samples of the same thing: the distance of the two (Kolmogorov–Smirnov for numbers and times, total variation "
        f"for text) is at most {expected.largest:g}. The other table is taken at the snapshot that this one was "
        "computed from, where its seal names one. A warning, which blocks nothing."
    )


def answer(check_run: TableCheckRun, expected: SampleOf) -> Answer:
    """Compare a column with its like in another table."""
    to = expected.to or expected.column
    measured, other = measured_here(check_run), measured_there(check_run, expected.table)
    profile, original = measured.columns.get(expected.column), other.columns.get(to)
    metadata: dict[str, Any] = {"other snapshot id": str(other.pinned.snapshot_id or "none")}
    if profile is None or original is None or not (profile.rows and original.rows):
        side = "This table" if profile is None or not profile.rows else expected.table
        return nothing_to_judge(f"{side} holds no rows: nothing to compare.", metadata)
    compared = _compared(profile, original)
    unit = unit_of(check_run.table, expected.column) or unit_of(check_run.lake.declared(expected.table), to)
    metadata |= {
        "distance": compared.value,
        "largest allowed": expected.largest,
        "values": profile.values,
        "values there": original.values,
        "missing share": profile.missing_share,
        "missing share there": original.missing_share,
        **gaps_shown(compared.worst, check_run.table.name, expected.table),
        "statistics": measured.origin,
        "statistics there": other.origin,
    }
    title = f"{expected.column}: {_measure(profile)} {compared.value:.3f}, {expected.largest:g} is allowed"
    names = (check_run.table.name, expected.table)
    figure = (
        draw_samples(expected.column, unit, profile, original, names, title)
        if profile.values and original.values
        else draw_column(expected.column, unit, profile if profile.values else original)
    )
    description = _describe_distance(check_run.table.name, expected, profile, compared)
    return Answer(compared.value <= expected.largest, description, metadata, figure)


def _compared(profile: ColumnProfile, original: ColumnProfile) -> Distance:
    if profile.values and original.values:
        return distance(profile, original)
    # Values on one side alone are as far apart as can be; on neither side, there is nothing that differs.
    return Distance(float(bool(profile.values or original.values)), at_least=False, worst=())


def _measure(profile: ColumnProfile) -> str:
    return "Kolmogorov–Smirnov distance" if profile.kind in ORDERED else "total variation"


def _describe_distance(table: str, expected: SampleOf, profile: ColumnProfile, compared: Distance) -> str:
    least = "at least " if compared.at_least else ""
    where = f"{expected.table}.{expected.to or expected.column}"
    sentence = f"{_measure(profile)} from {where} is {least}{compared.value:.3f}, {expected.largest:g} is allowed."
    if compared.value <= expected.largest:
        return f"{expected.column} can be a sample of the same thing: the {sentence}"
    worst = f" Largest differences: {describe_gaps(compared.worst)}." if compared.worst else " One side has no values."
    return f"{expected.column} of {table} is no sample of the same thing: the {sentence}{worst}"
