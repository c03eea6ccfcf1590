"""The story of one run of maintenance: finish what dead runs began, look, decide, write it down, do it, say what came.

A decision is a row before anything is done. So whatever a run dies of, the next one finds what it was about, says what
came of it, and goes on from the table as it is: there is no other state.
"""

import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import structlog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table as IcebergTable
from pyspark.sql import SparkSession

from lakehouse.declarations import ORPHANS, Declarations, Table, apply, plan
from lakehouse.declarations.own_tables.decision_row import DecisionRow
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.manifests.manifest_files import ManifestCache
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.cleanup.housekeeping import abandoned_branches, drop_branch
from lakehouse.protocol.cleanup.store_clock import require_age_clock
from lakehouse.protocol.failpoints import failpoint
from lakehouse.protocol.seals.attempt import Attempt, attempt_in
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.maintenance.approval import Approval, approval
from lakehouse.steps.maintenance.log.history import History, completed
from lakehouse.steps.maintenance.log.record import decided_rows, finished_row, partition_names, record
from lakehouse.steps.maintenance.model.action import Action, ActionOutcome, MaintenancePlan, MaintenanceWork, Operation
from lakehouse.steps.maintenance.operations import OPERATIONS
from lakehouse.steps.maintenance.plan.budget import Budget
from lakehouse.steps.maintenance.report import MaintainReport
from lakehouse.steps.maintenance.survey import Surveyed, TableSurvey

log = structlog.get_logger(__name__)
_BY_AGE = (Operation.BRANCHES, Operation.LEASES, Operation.EXPIRE, Operation.ORPHANS)


class CannotMeasure(LakehouseError):
    """A table's metadata, or those of who reads it, cannot be read just now."""


@dataclass(frozen=True, kw_only=True)
class MaintainStep:
    """What a run of maintenance needs. `session` opens Spark, and only for what needs it.

    Args:
        catalog: where the tables live.
        declarations: all of them.
        table: that is looked after.
        session: opens Spark.
        attempt: who works.
        budget: what one run may spend.
        only: the operations that are asked for.
        allow: whether the caller has decided that what cannot be brought back may be deleted.
        approvals: digests of plans that were shown, and whose deletions somebody approves of; the rest is only shown.
        longest_run: the longest run that Dagster remembers, or that is under way.
        under_way: runs that may still be at work, by id.
        in_process_proof: up to so many bytes are proven in this process, more by Spark.
        inform: told of progress.
    """

    catalog: LakeCatalog
    declarations: Declarations
    table: Table
    session: Callable[[], AbstractContextManager[SparkSession]]
    attempt: Attempt
    budget: Budget = field(default_factory=Budget)
    only: Collection[Operation] = tuple(Operation)
    allow: bool = False
    approvals: Collection[str] = ()
    longest_run: timedelta = timedelta(0)
    under_way: Collection[str] = ()
    in_process_proof: int = 8 * 1024**3
    inform: Callable[[str], None] = field(default=lambda message: log.info("maintain", detail=message))

    @property
    def name(self) -> str:
        """The table's name."""
        return self.table.name


def maintain(step: MaintainStep) -> MaintainReport:
    """Do what a table needs now, as far as its policy, the budget and everybody who holds it allow.

    What goes wrong is in the report (`require_well`), and stops what would have come after it.

    Raises:
        CannotMeasure: the table could not be looked at.
        CommitError: what was decided, or what came of it, could not be written down.
    """
    began, cache = time.monotonic(), ManifestCache()
    memory = History.read(step.catalog, datetime.now(UTC))
    ended = _finish_the_dead(step, memory)
    memory = replace(memory, rows=(*ended, *memory.rows))
    surveyed = _look(step, memory, cache)
    if surveyed is None:
        return MaintainReport(surveyed=None, completed=len(ended), seconds=time.monotonic() - began)
    rows = decided_rows(
        surveyed.plan, surveyed.state, step.table.maintenance, run_id=step.attempt.run_id, attempt=step.attempt.id
    )
    record(step.catalog, rows, writer=step.attempt.run_id)
    failpoint("maintain.decided")
    outcomes: list[ActionOutcome] = []
    error: Exception | None = None
    for action, row in zip(surveyed.plan.actions, rows, strict=False):  # own tables have no rows about nothing
        if action.operation is Operation.NOTHING:
            continue
        if error is None:
            outcome, error = _tried(step, action, memory, cache)
        else:
            outcome = ActionOutcome(
                action=action, result="withheld", message="not begun, after what went wrong before it"
            )
        step.inform(f"{step.name}: {action.operation}: {outcome.result}. {outcome.message}")
        failpoint("maintain.done")
        # What was due when it was its turn may be other partitions than those of the decision.
        finished = finished_row(replace(row, **partition_names(outcome.action)), outcome, datetime.now(UTC))
        record(step.catalog, [finished], writer=step.attempt.run_id)
        outcomes.append(outcome)
    after = _look(step, memory, cache) if any(outcome.result == "done" for outcome in outcomes) else None
    return MaintainReport(
        surveyed=surveyed,
        outcomes=tuple(outcomes),
        after=after,
        completed=len(ended),
        seconds=time.monotonic() - began,
        error=error,
    )


def _look(step: MaintainStep, memory: History, cache: ManifestCache) -> Surveyed | None:
    survey = TableSurvey(
        catalog=step.catalog,
        declarations=step.declarations,
        memory=memory,
        budget=step.budget,
        now=datetime.now(UTC),
        only=step.only,
        waits=False,  # who has asked for this run, a person or the sensor, has thought of that
        cache=cache,
    )
    try:
        return survey.look(step.table)
    except LakehouseError:
        raise
    except Exception as error:
        raise CannotMeasure(
            f"{step.name} could not be looked at: {type(error).__name__}.",
            remedy="nothing was done that is not in lakehouse.maintenance; it is looked at again with the next run",
        ) from error


def _tried(
    step: MaintainStep, action: Action, memory: History, cache: ManifestCache
) -> tuple[ActionOutcome, Exception | None]:
    """Carry out an action, whatever comes of it."""
    try:
        return _carry_out(step, action, memory, cache), None
    except LakehouseError as error:
        return ActionOutcome(action=action, result="failed", message=error.message), error
    except Exception as error:  # noqa: BLE001 - it is raised again once it is written down
        # What a library says may repeat the value of a row; its class does not.
        return ActionOutcome(action=action, result="failed", message=f"it ended in {type(error).__name__}"), error


def _carry_out(step: MaintainStep, action: Action, memory: History, cache: ManifestCache) -> ActionOutcome:
    """Look again, since time has gone by and others write; then do what is still to be done."""
    surveyed = _look(step, memory, cache)
    due_action = _action_of(surveyed.plan, action.operation) if surveyed is not None else None
    if surveyed is None or due_action is None:
        return ActionOutcome(action=action, result="nothing", message="it was no longer due when it was its turn")
    allowed = Approval(due_action) if step.allow else approval(step.approvals, memory, surveyed, due_action)
    if not allowed.refusal and action.operation in _BY_AGE:
        require_age_clock(step.catalog.load_table(step.table.identifier))
    if action.operation is Operation.ORPHANS:
        apply(plan(ORPHANS, step.catalog), step.catalog)
    work = MaintenanceWork(
        catalog=step.catalog,
        declarations=step.declarations,
        declared=step.table,
        base=read_bases(step.catalog, [step.name])[step.name],
        state=surveyed.state,
        policy=step.table.maintenance,
        attempt=step.attempt,
        session=step.session,
        inform=step.inform,
        allow=not allowed.refusal,
        longest_run=step.longest_run,
        in_process_proof=step.in_process_proof,
    )
    began = time.monotonic()
    outcome = OPERATIONS[action.operation](work, allowed.action)
    if step.approvals and allowed.refusal and outcome.result == "dry_run":
        outcome = replace(outcome, message=f"{outcome.message}; nothing was deleted: {allowed.refusal}")
    return replace(outcome, effect=replace(outcome.effect, seconds=round(time.monotonic() - began, 3)))


def _action_of(decided: MaintenancePlan, operation: Operation) -> Action | None:
    return next((action for action in decided.actions if action.operation is operation), None)


def _finish_the_dead(step: MaintainStep, memory: History) -> tuple[DecisionRow, ...]:
    """Say what came of decisions whose runs have died, and take back what those had staged.

    A branch of a dead rewrite would keep expiry waiting for a day.
    """
    try:
        table = step.catalog.load_table(step.table.identifier)
    except Exception:  # noqa: BLE001 - the look that comes next says what it is
        return ()
    dead = [
        row
        for row in memory.unfinished(str(table.metadata.table_uuid))
        if row.run_id not in step.under_way or row.run_id == step.attempt.run_id
    ]
    now = datetime.now(UTC)
    rows = tuple(completed(row, table, now) for row in dead)
    for row in rows:
        step.inform(f"{step.name}: {row.operation} of run {row.run_id}: {row.message}")
    _drop_branches(step.catalog, table, {str(row.attempt) for row in dead})
    record(step.catalog, rows, writer=step.attempt.run_id)
    return rows


def _drop_branches(catalog: LakeCatalog, table: IcebergTable, attempts: Collection[str]) -> None:
    for abandoned in abandoned_branches(table, older_than=timedelta(0)):
        if attempt_in(abandoned.branch) in attempts:
            try:
                drop_branch(catalog, abandoned)
            except CommitFailedException:  # others were quicker again and again; housekeeping finds it later
                log.warning("branch_not_dropped", branch=abandoned.branch)
