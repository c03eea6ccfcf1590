"""What maintenance deletes is in the audit log, once, however often the log is completed."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from lakehouse.declarations import AUDIT_LOG, Declarations, Maintenance, apply, plan
from lakehouse.declarations.own_tables.action_effect import ActionEffect
from lakehouse.protocol.journal import append, deletions, logged, reconcile
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.maintenance.log.history import completed
from lakehouse.steps.maintenance.log.record import decided_rows, finished_row, record
from lakehouse.steps.maintenance.model.action import Action, ActionOutcome, MaintenancePlan, Operation
from lakehouse.steps.maintenance.model.state import MeasuredState
from lakehouse_tests.fixtures.lakes import Lake

pytestmark = pytest.mark.slow


def end_operation(
    lake: Lake, operation: Operation, result: Any = "done", *, died: bool = False, **counted: int
) -> None:
    """An operation comes to an end, as the step writes it down."""
    now = datetime.now(UTC)
    state = MeasuredState(table="raw.things", uuid="the uuid", measured_at=now)
    decided = MaintenancePlan(table=state.table, state_digest=state.digest, actions=(Action(operation=operation),))
    attempt = Attempt("run", "maintain:raw.things")
    rows = decided_rows(decided, state, Maintenance(), run_id="run", attempt=attempt.id)
    outcome = ActionOutcome(
        action=decided.actions[0], result=result, message="7 went", effect=ActionEffect(**counted or {"files": 7})
    )
    table = lake.catalog.load_table(AUDIT_LOG.identifier)  # any: none of its snapshots is of this attempt
    ended = completed(rows[0], table, now) if died else finished_row(rows[0], outcome, now)
    record(lake.catalog, [*rows, ended], writer="run")


def complete(lake: Lake) -> int:
    """Complete the log, as the sensor does."""
    declared = Declarations(tables={}, streams={}, files={})
    sources = [
        lambda position, _: deletions(lake.catalog, position),
        lambda position, known: reconcile(lake.catalog, declared, position, known=known),
    ]
    return len([event for event in append(lake.catalog, sources, writer="test").events if event.kind == "maintenance"])


def test_what_was_deleted_is_logged_once_and_what_was_not_is_not(sql_lake: Lake) -> None:
    apply(plan(AUDIT_LOG, sql_lake.catalog), sql_lake.catalog)
    assert complete(sql_lake) == 0
    for operation in (Operation.EXPIRE, Operation.ORPHANS, Operation.REWRITE):
        end_operation(sql_lake, operation)
    end_operation(sql_lake, Operation.BRANCHES, "dry_run")
    assert complete(sql_lake) == 2
    assert complete(sql_lake) == 0
    rows = logged(sql_lake.catalog, table="raw.things", kind="maintenance")
    assert {row.message for row in rows} == {"expire: 7 went", "orphans: 7 went"}
    assert {(row.outcome, row.run_id, row.details) for row in rows} == {("deleted", "run", '{"files":7}')}


def test_what_went_although_its_run_failed_is_logged_as_well(sql_lake: Lake) -> None:
    apply(plan(AUDIT_LOG, sql_lake.catalog), sql_lake.catalog)
    end_operation(sql_lake, Operation.EXPIRE, "failed", snapshots=7)  # and somebody cannot read on
    end_operation(sql_lake, Operation.ORPHANS, died=True)
    end_operation(sql_lake, Operation.LEASES, "failed")  # refused before anything went
    end_operation(sql_lake, Operation.REWRITE, died=True)
    assert complete(sql_lake) == 2
    rows = logged(sql_lake.catalog, table="raw.things", kind="maintenance")
    assert {row.message for row in rows} == {
        "expire: 7 went",
        "orphans: its run died: what it had taken away by then is gone, and what is still due is decided anew",
    }


def test_a_log_that_has_seen_all_rows_does_not_read_them_again(sql_lake: Lake) -> None:
    from lakehouse.declarations import MAINTENANCE_LOG
    from lakehouse.protocol.journal.position import JournalPosition, Seen

    apply(plan(AUDIT_LOG, sql_lake.catalog), sql_lake.catalog)
    end_operation(sql_lake, Operation.EXPIRE)
    table = sql_lake.catalog.load_table(MAINTENANCE_LOG.identifier)
    seen = Seen(str(table.metadata.table_uuid), table.metadata.current_snapshot_id or 0)
    assert deletions(sql_lake.catalog, JournalPosition()).events
    assert not deletions(sql_lake.catalog, replace(JournalPosition(), tables={MAINTENANCE_LOG.name: seen})).events
