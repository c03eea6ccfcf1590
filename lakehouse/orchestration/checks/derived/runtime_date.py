"""Runtime date: do all rows of a derived table carry the one date of their run, and its inputs too?"""

from collections.abc import Callable
from datetime import date
from typing import Any

import dagster as dg

from lakehouse.declarations import Derived
from lakehouse.orchestration.checks.derived.question import CannotJudge, DerivedCheck, answering, findings, sentences
from lakehouse.orchestration.checks.table_question import TableCheckRun
from lakehouse.orchestration.resources.materialization import rows_shown
from lakehouse.proofs.lineage.dates import DatesReport, check_dates
from lakehouse.proofs.lineage.inputs import disagreements
from lakehouse.protocol.errors import SealBroken

NAME = "runtime_date"
DESCRIPTION = (
    "Every row of the table carries the runtime date of the run that computed it, none is without one, and the inputs "
    "of that run carry the same date and parameters. Answered from the least and greatest date that Iceberg's "
    "manifests have of each data file, without reading one; where those cannot decide, the date column of those files "
    "is read."
)


def judge(declared: Derived) -> Callable[[TableCheckRun], dg.AssetCheckResult]:
    """The answer for one derived table."""
    return answering(declared, NAME, _answer)


def _answer(question: DerivedCheck) -> dg.AssetCheckResult:
    assert question.snapshot_id is not None
    report = check_dates(question.check_run.pinned.table, question.snapshot_id, question.declared)
    wrong = [(finding.kind, finding.message) for finding in report.findings]
    metadata = _metadata(report)
    try:
        differ = disagreements(question.seal, question.inputs)
        metadata |= question.run_metadata()
    except SealBroken as broken:
        wrong = list(dict.fromkeys([*wrong, ("seal_edited", broken.message)]))
        return _failed(question, report, wrong, metadata)
    except CannotJudge:
        if not wrong:
            raise
        return _failed(question, report, wrong, metadata)
    if differ and question.backfill and not wrong:
        text = f"Computed as a declared backfill ({question.backfill}) from inputs that do not agree: "
        rows = [("input_differs", difference) for difference in differ]
        return question.result(
            f"{text}{'; '.join(differ)}.", _from(report), passed=False, metadata=metadata | findings(rows), warn=True
        )
    wrong += [("input_disagrees", f"{text}; this table is of {question.seal.runtime_date}.") for text in differ]
    if wrong:
        return _failed(question, report, wrong, metadata)
    return question.result(_sound(report), _from(report), passed=True, metadata=metadata)


def _failed(
    question: DerivedCheck, report: DatesReport, wrong: list[tuple[str, str]], metadata: dict[str, Any]
) -> dg.AssetCheckResult:
    text = f"{question.declared.name}: {sentences([text for _, text in wrong])} {question.repair}"
    return question.result(text, _from(report), passed=False, metadata=metadata | findings(wrong))


def _metadata(report: DatesReport) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "column": report.column,
        "dates": ", ".join(day.isoformat() for day in report.expected) or "none",
        "files": report.files,
        "files read": report.scanned,
        "rows": report.rows,
    }
    if report.beyond_seals:
        rows: list[tuple[str, int]] = [(day.isoformat(), files) for day, files in report.beyond_seals.items()]
        metadata["files of runs whose seals have expired"] = rows_shown({"date": "string", "files": "int"}, rows)
    return metadata


def _from(report: DatesReport) -> str:
    return {"manifests and scan": f"manifests, and the date column of {report.scanned} of {report.files} files"}.get(
        report.decided_by, "manifests"
    )


def _sound(report: DatesReport) -> str:
    if not report.files:
        return f"Snapshot {report.snapshot_id} holds no rows."
    beyond = sum(report.beyond_seals.values())
    older = (
        f" {beyond} files are of runs whose seals have expired: each has one date, and whether it was the run's, "
        "nobody can say."
        if beyond
        else ""
    )
    return f"All {report.rows:,} rows of snapshot {report.snapshot_id} are of {_days(report.expected)}.{older}"


def _days(days: tuple[date, ...]) -> str:
    if len(days) > 3:
        return f"the {len(days)} dates of their runs, {days[0]} to {days[-1]}"
    return " or ".join(day.isoformat() for day in days) + (", each of its run's date" if len(days) > 1 else "")
