"""A row of `lakehouse.audit_log` becomes the columns of its table, in their order, and comes back as it was."""

from datetime import UTC, date, datetime

from pyiceberg.io.pyarrow import schema_to_pyarrow

from lakehouse.declarations import AUDIT_LOG
from lakehouse.declarations.columns.schemas import iceberg_schema
from lakehouse.protocol.journal.audit_row import AuditRow

ROW = AuditRow(
    event_id="commit:raw.things:7",
    kind="commit",
    timestamp=datetime(2026, 1, 1, tzinfo=UTC),
    table_name="raw.things",
    snapshot_id=7,
    outcome="published",
    severity=None,
    message="write: 2 rows written",
    who="ada",
    run_id="r2",
    root_run_id="r1",
    step="write:raw.things",
    runtime_date=date(2013, 5, 14),
    parameters_digest="p",
    code_version=None,
    details='{"rows":2}',
    logged_at=datetime(2026, 1, 2, tzinfo=UTC),
)


def test_the_columns_are_those_of_the_table() -> None:
    columns = ROW.to_columns()
    assert list(columns) == schema_to_pyarrow(iceberg_schema(AUDIT_LOG)).names
    assert columns["at"] == ROW.timestamp


def test_a_row_comes_back_as_it_was() -> None:
    assert AuditRow.from_columns(ROW.to_columns()) == ROW


def test_a_column_that_a_table_does_not_have_yet_is_null() -> None:
    columns = {name: value for name, value in ROW.to_columns().items() if name != "code_version"}
    assert AuditRow.from_columns(columns) == ROW
