"""Compaction as part of an ingest, after every so many of its commits: same run, same pool, same Spark.

The ingest has published by then, so nothing that happens here can make it fail: what goes wrong is a row of
`lakehouse.maintenance` and a warning, and the next plan finds the same files.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import structlog
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse.declarations import Rewrite
from lakehouse.declarations.own_tables.decision_row import DecisionRow
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.entries import is_data, live_entries, partition_of
from lakehouse.protocol.seals.history import ancestry, head_of, is_rewrite, summary_of
from lakehouse.steps.maintenance.log.record import decided_rows, finished_row, record
from lakehouse.steps.maintenance.measure.measure import measure
from lakehouse.steps.maintenance.model.action import Action, ActionOutcome, MaintenancePlan, MaintenanceWork, Operation
from lakehouse.steps.maintenance.model.partitions import partition_named
from lakehouse.steps.maintenance.model.preconditions import refused_partition
from lakehouse.steps.maintenance.model.state import Depth, MeasuredState, PartitionState
from lakehouse.steps.maintenance.plan.due_rewrite import worth_it
from lakehouse.steps.maintenance.plan.file_group import file_group
from lakehouse.steps.maintenance.rewrite import compact

log = structlog.get_logger(__name__)
_MOST_NAMED = 10

Warn = Callable[[str], None]


def compact_after(
    name: str, work: Callable[[], MaintenanceWork], every_commits: int, *, warn: Warn = log.warning
) -> ActionOutcome | None:
    """Compact the partitions that the newest appends touched, if there were so many since the last rewrite.

    Args:
        name: of the table.
        work: loads the table as it is after the ingest's publish; its state is measured anew here.
        every_commits: after so many appends.
        warn: told what went wrong.

    Returns:
        What came of it; None where it was not time yet, or nothing was worth it.
    """
    try:
        return _compact_after(work(), every_commits, warn)
    except Exception as error:  # noqa: BLE001 - the ingest has published, and its run does not fail by what follows
        warn(f"{name}: compaction after {every_commits} commits failed: {_describe(error)}")
        return None


def _compact_after(work: MaintenanceWork, every_commits: int, warn: Warn) -> ActionOutcome | None:
    table, rewrite = work.base.table, _eager(work, every_commits)
    appends = _appends(table)
    if rewrite is None or len(appends) < every_commits:
        return None
    work = replace(work, policy=replace(work.policy, rewrite=rewrite))
    declared = replace(work.declared, maintenance=work.policy)
    now = datetime.now(UTC)
    state = measure(table, declared, work.declarations, now=now, depth=Depth.PARTITIONS)
    action = _action(work, state, rewrite, _touched(work, {snapshot.snapshot_id for snapshot in appends}), len(appends))
    if action is None:
        return None
    plan = MaintenancePlan(table=work.base.name, state_digest=state.digest, actions=(action,))
    (row,) = decided_rows(plan, state, work.policy, run_id=work.attempt.run_id, attempt=work.attempt.id)
    record(work.catalog, [row], writer=work.attempt.run_id)
    outcome = _compact(replace(work, state=state), action, warn)
    _finish(work, row, outcome)
    return outcome


def _eager(work: MaintenanceWork, every_commits: int) -> Rewrite | None:
    """The policy, content with as many files as so many commits leave behind."""
    rewrite = work.policy.rewrite
    if rewrite is None or work.policy.excluded:
        return None
    return replace(rewrite, min_input_files=max(2, min(rewrite.min_input_files, every_commits)))


def _appends(table: Table) -> list[Snapshot]:
    """Commits that added files, back to the newest rewrite."""
    appends: list[Snapshot] = []
    for snapshot in ancestry(table, head_of(table)):
        if is_rewrite(snapshot):
            break
        if int(summary_of(snapshot).get("added-data-files", 0)):
            appends.append(snapshot)
    return appends


def _touched(work: MaintenanceWork, snapshot_ids: set[int]) -> set[str]:
    """Keys of the partitions that some commits added files to."""
    table = work.base.table
    head = table.metadata.snapshot_by_id(head_of(table) or 0)
    keys = {
        partition_of(entry.data_file)
        for manifest in (head.manifests(table.io) if head else ())
        for entry in live_entries(table.io, manifest)
        if is_data(entry.data_file) and entry.snapshot_id in snapshot_ids
    }
    return {partition_named(table, work.declared, *key).key for key in keys}


def _action(
    work: MaintenanceWork, state: MeasuredState, rewrite: Rewrite, touched: set[str], commits: int
) -> Action | None:
    """Quiet or not: the writer itself asks. Those with the most files fewer first, up to one group of bytes."""
    worth = [
        (partition_state, file_group(partition_state, rewrite))
        for partition_state in state.partitions or ()
        if partition_state.partition.key in touched
        and worth_it(partition_state, rewrite)
        and refused_partition(partition_state, work.policy) is None
    ]
    chosen: list[PartitionState] = []
    room = rewrite.max_group_bytes
    for partition_state, takes in sorted(worth, key=lambda pair: (-pair[1].fewer, pair[0].partition.key)):
        if takes.bytes <= room:
            chosen.append(partition_state)
            room -= takes.bytes
    if not chosen:
        return None
    return Action(
        operation=Operation.REWRITE,
        partitions=tuple(partition_state.partition for partition_state in chosen),
        bytes=sum(file_group(partition_state, rewrite).bytes for partition_state in chosen),
        reasons=(
            f"{commits} appends since the last rewrite, by the ingest itself",
            *(
                f"{partition_state.partition.name}: {', '.join(worth_it(partition_state, rewrite))}"
                for partition_state in chosen[:_MOST_NAMED]
            ),
        ),
    )


def _compact(work: MaintenanceWork, action: Action, warn: Warn) -> ActionOutcome:
    try:
        outcome = compact.run(work, action)
    except Exception as error:  # noqa: BLE001 - what went wrong is a row, and no failed ingest
        outcome = ActionOutcome(action=action, result="failed", message=_describe(error))
    if outcome.result not in ("done", "nothing"):
        warn(f"{work.base.name}: compaction: {outcome.result}: {outcome.message}")
    return outcome


def _finish(work: MaintenanceWork, row: DecisionRow, outcome: ActionOutcome) -> None:
    record(work.catalog, [finished_row(row, outcome, datetime.now(UTC))], writer=work.attempt.run_id)


def _describe(error: Exception) -> str:
    """Of a stranger's error only what it is: its text may show values."""
    return str(error) if isinstance(error, LakehouseError) else type(error).__name__
