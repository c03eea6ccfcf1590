"""The checks of how columns are distributed and converted: one for each expectation, measured together."""

from functools import partial

from lakehouse.declarations import Declarations, Drift, Expectation, Histogram, SameValues, SampleOf, Table
from lakehouse.orchestration.checks.profile import drift, histogram, same_values, sample
from lakehouse.orchestration.checks.table_question import Judge


def distribution_judges(table: Table, declarations: Declarations) -> list[Judge]:
    """Those that a table's `expects` asks for; none of them blocks anything."""
    assert table.name in declarations.tables
    return [judge for expected in table.expects if (judge := _judge(expected)) is not None]


def _judge(expected: Expectation) -> Judge | None:
    match expected:
        case Drift():
            room, answer = drift, drift.drift_result
        case SampleOf():
            room, answer = sample, sample.sample_result
        case SameValues():
            room, answer = same_values, same_values.same_values_result
        case Histogram():
            room, answer = histogram, histogram.histogram_result
        case _:
            return None
    return Judge(room.name_of(expected), room.description_of(expected), partial(answer, expected=expected))
