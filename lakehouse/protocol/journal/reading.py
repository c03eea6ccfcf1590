"""The audit log, read."""

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression, EqualTo, Or

from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.journal.audit_row import AuditRow
from lakehouse.protocol.seals.history import head_of

LOG = ("lakehouse", "audit_log")
"""Where it is; its declaration is not imported by a command that only reads it."""


def logged(catalog: LakeCatalog, *, table: str = "", run: str = "", kind: str = "") -> list[AuditRow]:
    """Rows of the log, oldest first.

    Args:
        catalog: where the log lives; there are no rows where it does not exist yet.
        table: only what happened to this table.
        run: only what this run did; a first run with all of its re-executions.
        kind: only events of this kind.
    """
    try:
        log = catalog.load_table(LOG)
    except NoSuchTableError:
        return []
    row_filter: BooleanExpression = AlwaysTrue()
    for column, value in (("table_name", table), ("kind", kind)):
        row_filter = And(row_filter, _is(column, value)) if value else row_filter
    if run:
        row_filter = And(row_filter, Or(_is("run_id", run), _is("root_run_id", run)))
    head = head_of(log)
    rows = log.scan(row_filter=row_filter, snapshot_id=head).to_arrow().to_pylist() if head is not None else []
    return sorted(map(AuditRow.from_columns, rows), key=lambda row: (row.timestamp, row.event_id))


def _is(column: str, value: str) -> BooleanExpression:
    return EqualTo(column, value)  # pyright: ignore[reportCallIssue] - its constructor is made by pydantic
