"""The checks of how columns are distributed and converted: one for each expectation, measured together."""

from functools import partial

from lakehouse.checks import (
    distribution_drift,
    distribution_histogram,
    distribution_same_values,
    distribution_sample,
)
from lakehouse.checks.judge import Judge
from lakehouse.tables import Declarations, Drift, Expectation, Histogram, SameValues, SampleOf, Table


def distribution_judges(table: Table, declarations: Declarations) -> list[Judge]:
    """Those that a table's `expects` asks for; none of them blocks anything."""
    assert table.name in declarations.tables
    return [judge for expected in table.expects if (judge := _judge(expected)) is not None]


def _judge(expected: Expectation) -> Judge | None:
    match expected:
        case Drift():
            room, answer = distribution_drift, distribution_drift.drift_result
        case SampleOf():
            room, answer = distribution_sample, distribution_sample.sample_result
        case SameValues():
            room, answer = distribution_same_values, distribution_same_values.same_values_result
        case Histogram():
            room, answer = distribution_histogram, distribution_histogram.histogram_result
        case _:
            return None
    return Judge(room.name_of(expected), room.description_of(expected), partial(answer, expected=expected))
