"""A trial of maintenance: a compaction that keeps every promise. Nobody decides on it, so no decision is noted."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from pyiceberg.table import Table

from lakehouse.acceptance.scratch import Scratch
from lakehouse.acceptance.step_trials import require_proven
from lakehouse.acceptance.trial import NotSeen, require
from lakehouse.declarations import Maintenance, Rewrite
from lakehouse.protocol.seals.base import read_bases
from lakehouse.quantities import quantity
from lakehouse.steps.maintenance.model.action import Action, MaintenanceWork, Operation
from lakehouse.steps.maintenance.model.state import MeasuredState
from lakehouse.steps.maintenance.rewrite import compact

_POLICY = Maintenance(rewrite=Rewrite(min_input_files=2, quiet_for=timedelta(0)))


def compacted(scratch: Scratch) -> str:
    """The files of the orders are made fewer; rows and proofs stay."""
    name = scratch.name("orders")
    before = _orders(scratch.catalog.load_table(name))
    if not before:
        raise NotSeen("no order was ingested before", "see why the trial `exactly once` was refused")
    base = read_bases(scratch.catalog, [name])[name]
    work = MaintenanceWork(
        catalog=scratch.catalog,
        declarations=scratch.declarations,
        declared=replace(scratch.declarations.tables[name], maintenance=_POLICY),
        base=base,
        state=MeasuredState(table=name, uuid=base.uuid, snapshot_id=base.snapshot_id, measured_at=datetime.now(UTC)),
        policy=_POLICY,
        attempt=scratch.attempt(f"maintain:{name}"),
        session=scratch.session,
        inform=scratch.inform,
    )
    outcome = compact.run(work, Action(operation=Operation.REWRITE))
    require(outcome.result == "done" and outcome.after is not None, outcome.message)
    require(_orders(scratch.catalog.load_table(name)) == before, "the compaction changed rows")
    require_proven(scratch, "orders")
    files = outcome.after.files if outcome.after is not None else 0
    return f"{quantity(outcome.before.files, 'file')} rewritten to {files}, the same rows, proven as before"


def _orders(table: Table) -> list[int]:
    return sorted(table.scan(selected_fields=("order_id",)).to_arrow()["order_id"].to_pylist())
