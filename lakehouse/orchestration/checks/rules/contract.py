"""Contract rules of a derived table: as its step judged them before it published, or judged again.

The seal of a full computation says of all rows how many break each rule. Where it speaks of some rows only, where
something else was committed after it, or where the declaration has other rules by now, the snapshot is judged anew.
"""

from typing import Any

import dagster as dg
import msgspec
from pyiceberg.table import Table as IcebergTable

from lakehouse import seal_keys
from lakehouse.contracts.rules.stored import ContractReport, judge_snapshot
from lakehouse.contracts.rules.stored.questions import questions_of
from lakehouse.declarations import Table
from lakehouse.iceberg.names import table_name
from lakehouse.orchestration.checks.stream.contract import NAME, RuleCount
from lakehouse.orchestration.checks.table_question import Judge, TableCheckRun
from lakehouse.orchestration.resources.materialization import rows_shown
from lakehouse.protocol.seals.history import ancestry, is_rewrite, is_seal_only, summary_of
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.derived.statement import DeriveStatement

DESCRIPTION = (
    "The rules that the table's declaration states, for every row: required values, ranges, sets, patterns, and the "
    "number of rows. Answered by the seal of the step that computed the table, by manifests, or in one pass of Spark; "
    "the metadata says which rule was answered from where. Fails for rules that block, warns for the others."
)


def contract_judge(table: Table) -> Judge:
    """The check of a derived table's rules."""
    blocking = any(question.severity == "blocking" for question in questions_of(table))
    return Judge(NAME, DESCRIPTION, _answer, blocking=blocking)


def _answer(check_run: TableCheckRun) -> dg.AssetCheckResult:
    table, snapshot_id = check_run.pinned.table, check_run.pinned.snapshot_id
    if snapshot_id is None:
        return _result(
            check_run, passed=True, description="The table holds no rows yet.", metadata={"snapshot id": "none"}
        )
    sealed = sealed_report(check_run.table, table, snapshot_id)
    report = sealed or judge_snapshot(check_run.table, table, snapshot_id, check_run.session)
    return _result(
        check_run,
        passed=not report.broken,
        severe=bool(report.broken_blocking),
        description=_describe(report),
        metadata=_metadata(report),
    )


def sealed_report(declared: Table, table: IcebergTable, snapshot_id: int) -> ContractReport | None:
    """What the step sealed of all rows of a snapshot; None where nobody did, or of other rules than are declared."""
    seal = _newest(table, snapshot_id)
    statement = DeriveStatement.from_keys(seal.statement) if seal else None
    if seal is None or statement is None or statement.mode != "full" or statement.partition:
        return None
    counts = msgspec.json.decode(seal.statement[seal_keys.QUALITY_RULES], type=dict[str, RuleCount])
    return ContractReport.sealed(declared, snapshot_id, statement.total, {n: v.broken for n, v in counts.items()})


def _newest(table: IcebergTable, snapshot_id: int) -> Seal | None:
    """The seal of the rows that a snapshot holds: maintenance after it changes none, anything else might."""
    for snapshot in ancestry(table, snapshot_id):
        where = f"{table_name(table)} snapshot {snapshot.snapshot_id}"
        seal = Seal.from_summary(summary_of(snapshot), where=where)
        if seal is not None and seal_keys.QUALITY_RULES in seal.statement:
            return seal
        if not (is_rewrite(snapshot) or is_seal_only(snapshot)):
            return None
    return None


def _metadata(report: ContractReport) -> dict[str, Any]:
    columns = {
        "rule": "string",
        "severity": "string",
        "broken by": "int",
        "share": "float",
        "answered from": "string",
        "examples": "string",
    }
    ordered = sorted(report.verdicts, key=lambda verdict: -verdict.broken)
    rows = [(v.name, v.severity, v.broken, round(v.share, 6), v.answered_by, "; ".join(v.examples)) for v in ordered]
    return {
        "snapshot id": str(report.snapshot_id),
        "rows": report.rows,
        "rules": rows_shown(columns, rows),
        "rules that are broken": len(report.broken),
        "blocking rules that are broken": len(report.broken_blocking),
        "rules answered by a scan": report.answered["scan"],
        "Spark jobs": report.jobs,
        # Known gaps, which Dagster plots over time.
        **{f"rows: {v.name}": v.broken for v in report.verdicts if v.severity == "warning"},
    }


def _describe(report: ContractReport) -> str:
    answered = ", ".join(f"{count} by {source}" for source, count in report.answered.items() if count)
    if not report.broken:
        return f"All {report.rows:,} rows keep all {len(report.verdicts)} rules (answered {answered})."
    named = ", ".join(f"{v.name} ({v.broken:,} of {report.rows:,} rows)" for v in report.broken)
    return f"{len(report.broken)} of {len(report.verdicts)} rules are broken: {named}."


def _result(
    check_run: TableCheckRun, *, passed: bool, description: str, metadata: dict[str, Any], severe: bool = False
) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        asset_key=check_run.key,
        check_name=NAME,
        passed=passed,
        severity=dg.AssetCheckSeverity.ERROR if severe or passed else dg.AssetCheckSeverity.WARN,
        description=description,
        metadata=metadata,
    )
