"""What Dagster is told about a table: by its declaration once, and by each write again.

Never a value of a row: names, types, counts and ids only.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dagster import (
    DataVersion,
    MaterializeResult,
    TableColumn,
    TableColumnConstraints,
    TableMetadataValue,
    TableRecord,
    TableSchema,
)

from lakehouse.declarations import Column, Table
from lakehouse.orchestration.resources.writing import TableWrite
from lakehouse.orchestration.run_context import RUNTIME_DATE_TAG
from lakehouse.protocol.seals.attempt import Attempt


def table_metadata(table: Table) -> dict[str, Any]:
    """What the declaration says, under the keys that Dagster and other tools know."""
    return {
        "dagster/column_schema": column_schema(table),
        "dagster/table_name": f"lake.{table.name}",
        "dagster/storage_kind": "iceberg",
    }


def column_schema(table: Table) -> TableSchema:
    """The declared columns with types, nullability, documentation and sensitivity."""
    return TableSchema([_column(column) for column in table.columns])


def _column(column: Column) -> TableColumn:
    return TableColumn(
        name=column.name,
        type=column.type.simpleString(),
        description=column.doc or None,
        constraints=TableColumnConstraints(nullable=not column.required),
        tags={"sensitive": ""} if column.sensitive else {},
    )


def texts_shown(column: str, texts: Iterable[str]) -> TableMetadataValue:
    """A table of one column of texts."""
    return rows_shown({column: "string"}, [(text,) for text in texts])


def rows_shown(columns: Mapping[str, str], rows: Iterable[Sequence[str | int | float]]) -> TableMetadataValue:
    """A small table for Dagster's UI, which may well be empty.

    Args:
        columns: name → `string`, `int` or `float`.
        rows: a value for each column.
    """
    return TableMetadataValue(
        [TableRecord(dict(zip(columns, row, strict=True))) for row in rows],
        TableSchema([TableColumn(name, kind) for name, kind in columns.items()]),
    )


def write_tags(attempt: Attempt) -> dict[str, str]:
    """Tags of a materialization, by which it can be found again."""
    return {RUNTIME_DATE_TAG: attempt.runtime_date, "lakehouse/attempt": attempt.id}


def materialized(table: Table, attempt: Attempt, written: TableWrite) -> MaterializeResult[Any]:
    """What an asset returns that wrote a table of its own."""
    metadata: Mapping[str, Any] = {
        **table_metadata(table),
        "dagster/row_count": written.total,
        "rows written" if written.mode == "overwrite" else "rows added": written.added,
        "snapshot id": str(written.snapshot_id),
        "rows that break a warning rule": sum(written.warnings.values()),
        "branch": written.branch,
        "seconds": round(written.seconds, 2),
    }
    return MaterializeResult(
        metadata=metadata, data_version=DataVersion(str(written.snapshot_id)), tags=write_tags(attempt)
    )
