"""Lineage: does a derived table read what it declares, all of it, and nothing else?"""

from collections.abc import Callable

import dagster as dg

from lakehouse.declarations import Derived
from lakehouse.orchestration.checks.derived.question import DerivedCheck, answering, findings, sentences
from lakehouse.orchestration.checks.table_question import TableCheckRun
from lakehouse.orchestration.resources.materialization import rows_shown
from lakehouse.proofs.lineage.reads import LineageReport, check_lineage
from lakehouse.protocol.errors import SealBroken
from lakehouse.quantities import quantity

NAME = "lineage"
DESCRIPTION = (
    "The inputs that are declared (the arrows in Dagster's graph), those that the seal of the run names, and the "
    "tables that Spark's plan has scanned are the same, at the same snapshots. A table that is read without being "
    "declared fails, and so does an input that is never read. Answered from the seal."
)
_COLUMNS = {"table": "string", "declared": "string", "pinned snapshot": "string", "scanned snapshot": "string"}


def judge(declared: Derived) -> Callable[[TableCheckRun], dg.AssetCheckResult]:
    """The answer for one derived table."""
    return answering(declared, NAME, _answer)


def _answer(question: DerivedCheck) -> dg.AssetCheckResult:
    try:
        report = check_lineage(question.declared.inputs.values(), question.seal)
        metadata = {"accounts": _accounts(report), **question.run_metadata()}
    except SealBroken as broken:
        edited = findings([("seal_edited", broken.message)])
        return question.result(f"{broken.message} {question.repair}", "seals", passed=False, metadata=edited)
    if report.passed:
        inputs = quantity(len(report.declared), "declared input")
        text = f"It reads its {inputs}, at the snapshots that were pinned, and nothing else."
        return question.result(text, "seals", passed=True, metadata=metadata)
    wrong = [(finding.kind, finding.message) for finding in report.findings]
    text = f"{question.declared.name}: {sentences([text for _, text in wrong])} {_repair(question, report)}"
    return question.result(text, "seals", passed=False, metadata=metadata | findings(wrong))


def _repair(question: DerivedCheck, report: LineageReport) -> str:
    file = question.check_run.declarations.files.get(question.declared.name)
    where = f" in {file.name}" if file else ""
    steps = {
        "undeclared_read": f"declare it as an input{where}, or do not read it",
        "unused_input": f"remove it from the inputs{where}, or read it",
        "read_by_name": "read it by the frame that the function is given, not by its name",
        "other_snapshot": "read it by the frame that the function is given",
    }
    first = steps.get(report.findings[0].kind)
    return (
        f"To repair: {f'{first}; then ' if first else ''}compute it anew: `lakehouse derive {question.declared.name}`."
    )


def _accounts(report: LineageReport) -> dg.TableMetadataValue:
    names = sorted({*report.declared, *report.sealed, *report.scanned})
    return rows_shown(
        _COLUMNS,
        [
            (
                name,
                "yes" if name in report.declared else "no",
                str(report.sealed.get(name, "none")),
                str(report.scanned[name] or "not named") if name in report.scanned else "not scanned",
            )
            for name in names
        ],
    )
