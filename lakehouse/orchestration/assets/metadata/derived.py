"""What a reader of Dagster's UI learns of a derived table: for which date, from which snapshots, and what came out."""

from collections.abc import Iterable
from typing import Any

from dagster import (
    DataVersion,
    MaterializeResult,
    MetadataValue,
    TableColumnDep,
    TableColumnLineage,
    TableMetadataValue,
)

from lakehouse.declarations import Derived
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.resources.materialization import rows_shown, table_metadata, write_tags
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.derived.inputs.inputs import Input
from lakehouse.steps.derived.report import DeriveReport
from lakehouse.steps.derived.statement import DeriveStatement

_INPUT_COLUMNS = {"input": "string", "snapshot": "string", "date": "string", "parameters": "string", "run": "string"}


def derived_result(
    report: DeriveReport, declared: Derived, attempt: Attempt, names: DagsterNames = DEFAULT_NAMES
) -> MaterializeResult[Any]:
    """The result of a step that has published."""
    statement = report.statement
    metadata: dict[str, Any] = {
        "rows written" if statement.mode == "full" else "rows added": statement.added,
        "dagster/row_count": statement.total,
        "runtime date": attempt.runtime_date,
        "parameters": MetadataValue.json(dict(statement.parameters)),
        "parameters used": ", ".join(statement.computed_by[-1].used or ()) if statement.computed_by else "",
        "parameters digest": attempt.parameters_digest,
        "inputs": inputs_shown(report.inputs.values()),
        "snapshot id": str(report.snapshot_id),
        "mode": statement.mode,
        "rows that break a warning rule": sum(int(rule["broken"]) for rule in statement.rules.values()),
        "branch": report.branch,
        "attempt": attempt.id,
        "seconds": round(report.seconds, 2),
        **table_metadata(declared.table),
        "dagster/column_lineage": column_lineage(statement, declared, names),
    }
    if statement.partition:
        metadata["partitions"] = ", ".join(statement.partition)
    if reason := statement.differs or statement.replaces_newer:
        metadata["backfill"] = reason
    if report.notes:
        metadata["notes"] = MetadataValue.md("\n".join(f"- {note}" for note in report.notes))
    return MaterializeResult(
        asset_key=names.key(declared.name),
        metadata=metadata,
        data_version=DataVersion(str(report.snapshot_id)),
        tags=write_tags(attempt),
    )


def inputs_shown(inputs: Iterable[Input]) -> TableMetadataValue:
    """A row for each input."""
    return rows_shown(
        _INPUT_COLUMNS,
        [
            (
                read.name,
                str(read.snapshot_id),
                read.date or "dateless",
                read.parameters_digest,
                read.run_id or "unknown",
            )
            for read in inputs
        ],
    )


def column_lineage(
    statement: DeriveStatement, declared: Derived, names: DagsterNames = DEFAULT_NAMES
) -> TableColumnLineage:
    """From which columns of the inputs each column is computed, as Spark's plan told it."""
    columns = {column.name for column in declared.table.columns}
    return TableColumnLineage(
        {
            name: [TableColumnDep(names.key(table), source) for table, source in sources]
            for name, sources in statement.column_lineage.items()
            if name in columns
        }
    )
