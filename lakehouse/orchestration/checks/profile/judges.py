"""The checks of how columns are distributed and converted: one for each expectation, measured together."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import dagster as dg

from lakehouse.contracts.profile.picture import markdown
from lakehouse.declarations import Declarations, Drift, Histogram, SameValues, SampleOf, Table
from lakehouse.orchestration.checks.profile import drift, histogram, same_values, sample
from lakehouse.orchestration.checks.profile.answer import Answer
from lakehouse.orchestration.checks.table_question import Judge, TableCheckRun

_OfColumn = Drift | SampleOf | SameValues | Histogram
# Type of expectation → what its checks are called, beside the column; what they prove; how they are answered.
_CHECKS: Mapping[type[_OfColumn], tuple[str, Callable[[Any], str], Callable[[TableCheckRun, Any], Answer]]] = {
    Drift: ("drift", drift.describe, drift.answer),
    SampleOf: ("sample", sample.describe, sample.answer),
    SameValues: ("same_values", same_values.describe, same_values.answer),
    Histogram: ("histogram", histogram.describe, histogram.answer),
}


def distribution_judges(table: Table, declarations: Declarations) -> list[Judge]:
    """Those that a table's `expects` asks for; none of them blocks anything."""
    assert table.name in declarations.tables
    return [_judge(expected) for expected in table.expects if isinstance(expected, _OfColumn)]


def _judge(expected: _OfColumn) -> Judge:
    kind, describe, answer = _CHECKS[type(expected)]
    name = f"{kind}_{expected.column}"

    def judge(check_run: TableCheckRun) -> dg.AssetCheckResult:
        began = time.monotonic()
        return _result(check_run, name, answer(check_run, expected), began)

    return Judge(name, describe(expected), judge)


def _result(check_run: TableCheckRun, name: str, answer: Answer, began: float) -> dg.AssetCheckResult:
    """Another distribution is a reason to look, not yet an error: never more than a warning."""
    metadata = {"snapshot id": str(check_run.pinned.snapshot_id or "none"), **answer.metadata}
    if answer.judged:
        metadata["seconds"] = round(time.monotonic() - began, 3)
    if answer.figure:
        picture = markdown(answer.figure, alt=name, caption=answer.description)
        metadata["plot"] = dg.MetadataValue.md(picture)
    return dg.AssetCheckResult(
        asset_key=check_run.key,
        check_name=name,
        passed=answer.passed,
        severity=dg.AssetCheckSeverity.WARN,
        description=answer.description,
        metadata=metadata,
    )
