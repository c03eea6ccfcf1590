"""Removes rows that are there more than once: of each key the first stays, in partitions that nobody writes any more.

Spark reads whole partitions at the base and writes them anew on the attempt's branch. Before that is published it is
compared with the base: as many rows as there were keys, and each of them there before. A stream counts its records, so
what went is sealed in all of its tables, coordinates and all, and the proof of exactly-once goes on holding.
"""

import time
from collections.abc import Sequence

from pyiceberg.table import FileScanTask, Table
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakehouse.declarations.own_tables.action_effect import ActionEffect, TableMeasure
from lakehouse.engines.kafka.tally import Tally
from lakehouse.iceberg.entries import partition_of
from lakehouse.proofs.audit.coordinates import places
from lakehouse.protocol.cleanup.vain_attempt import drop_branches_of
from lakehouse.protocol.commit import open_branch, publish
from lakehouse.protocol.commit.frames import stage_partitions
from lakehouse.protocol.errors import ContentChanged, MainMoved, Superseded
from lakehouse.protocol.failpoints import failpoint
from lakehouse.protocol.seals.history import head_of
from lakehouse.quantities import quantity
from lakehouse.steps.maintenance.deduplicate.closed_partitions import CannotDeduplicate, Closed, NullKey, look
from lakehouse.steps.maintenance.deduplicate.duplicates import Keyed
from lakehouse.steps.maintenance.deduplicate.removed_rows import RemovedRows, seal_removed_rows
from lakehouse.steps.maintenance.model.action import Action, ActionOutcome, MaintenanceWork
from lakehouse.steps.maintenance.rewrite.before_after import of_files
from lakehouse.steps.maintenance.rewrite.compact import OVERTAKEN


def run(work: MaintenanceWork, action: Action) -> ActionOutcome:
    """Deduplicate an action's partitions.

    Raises:
        Trap: the table is read in ranges, computed, of version 3, or has no seal.
        OpenPartition: a partition was written to not long enough ago.
        CannotDeduplicate: Spark cannot write, the stream's tables do not agree, a partition is of an older spec, or
            rows have no value in a column of the key.
        CommitError: the publish ended in another way than well or overtaken.
    """
    began, before = time.monotonic(), of_files(work.base.table)
    closed = look(work, action)
    if not closed.partitions:
        return ActionOutcome(
            action=action, result="nothing", before=before, message="the partitions are not there any more"
        )
    try:
        with work.session() as spark:
            rows = _keyed(work, spark, closed, closed.base.snapshot_id or 0)
            if rows.nameless:  # of which the files did not say so
                names = [partition_state.partition.name for partition_state in closed.partitions.values()]
                raise NullKey(closed.base.name, rows.key, rows.nameless, names)
            if not rows.surplus or not work.allow:
                return _shown(work, action, closed, before, rows.surplus, began)
            _write(work, closed, rows)
            removed = _compare(work, closed, rows)
        published = publish(
            work.catalog, seal_removed_rows(work.catalog, work.attempt, closed.bases, closed.base.name, removed)
        )
        failpoint("deduplicate.published")
    except ContentChanged as refused:
        # The branch stays, for whoever wants to know how that could be.
        return ActionOutcome(action=action, result="proof_failed", before=before, message=refused.message)
    except (*OVERTAKEN, Superseded) as overtaken:
        for base in closed.bases.values():
            drop_branches_of(work.catalog, base, work.attempt)
        return ActionOutcome(action=action, result="overtaken", before=before, message=overtaken.message)
    seconds = time.monotonic() - began
    table, head = work.catalog.load_table(closed.base.identifier), published.snapshots[closed.base.name]
    return ActionOutcome(
        action=action,
        result="done",
        before=before,
        after=of_files(table, rewritten=closed.bytes, seconds=seconds),
        snapshot_id=head,
        message=f"{quantity(removed.rows, 'row')} went, whose key was there before, in "
        f"{quantity(len(removed.partitions), 'partition')}",
        effect=ActionEffect(
            rows_removed=removed.rows, partitions=len(removed.partitions), counted_until_ms=_time_of(table, head)
        ),
    )


def _keyed(work: MaintenanceWork, spark: SparkSession, closed: Closed, snapshot_id: int) -> Keyed:
    return Keyed(spark, closed.base.table, snapshot_id, work.declared.key, closed.condition)


def _shown(
    work: MaintenanceWork, action: Action, closed: Closed, before: TableMeasure, surplus: int, began: float
) -> ActionOutcome:
    """Nothing is done: there is nothing to remove, or nobody has allowed it."""
    table = work.catalog.load_table(closed.base.identifier)
    if not surplus and head_of(table) != closed.base.snapshot_id:
        message = "the table has changed while its rows were counted"
        return ActionOutcome(action=action, result="overtaken", before=before, message=message)
    return ActionOutcome(
        action=action,
        result="dry_run" if surplus else "done",
        before=before,
        after=None if surplus else of_files(table, rewritten=closed.bytes, seconds=time.monotonic() - began),
        message=f"{surplus} rows would go" if surplus else "each key is there once",
        effect=ActionEffect(
            rows_to_remove=surplus, counted_until_ms=_time_of(closed.base.table, closed.base.snapshot_id)
        ),
    )


def _time_of(table: Table, snapshot_id: int | None) -> int:
    """What comes to `main` after a snapshot is younger than it, whenever that is published."""
    snapshot = table.metadata.snapshot_by_id(snapshot_id or 0)
    return snapshot.timestamp_ms if snapshot else 0


def _write(work: MaintenanceWork, closed: Closed, rows: Keyed) -> None:
    open_branch(work.catalog, closed.base, work.attempt)
    try:
        stage_partitions(rows.first(closed.policy), closed.base, work.attempt)
    except PySparkException as error:
        # Expiry would wait for the branch, and there is nothing on it. Spark's text may show values.
        drop_branches_of(work.catalog, closed.base, work.attempt)
        raise CannotDeduplicate(
            f"{closed.base.name}: Spark could not write ({error.getCondition() or type(error).__name__}).",
            remedy="look at the log of the Spark session; the table is as it was",
        ) from None
    failpoint("deduplicate.written")


def _compare(work: MaintenanceWork, closed: Closed, rows: Keyed) -> RemovedRows:
    """Prove that only rows have gone whose key is there all the same, from these partitions alone.

    Raises:
        ContentChanged: something else has happened.
        MainMoved: the branch is gone.
    """
    table = work.catalog.load_table(closed.base.identifier)
    head = head_of(table, work.attempt.branch)
    if head is None:
        raise MainMoved(f"{closed.base.name}: branch {work.attempt.branch} is gone.", remedy="run the step again")
    Keyed(rows.spark, table, head, rows.key, rows.condition).require_first_of(rows)
    removed_tasks, added_tasks = _exchanged(table, closed.base.snapshot_id or 0, head)
    keys = {partition_of(task.file) for task in (*removed_tasks, *added_tasks)}
    if not keys <= set(closed.partitions):
        raise ContentChanged(
            f"{closed.base.name}: files of other partitions were written anew.",
            remedy="the table is as it was; the attempt's branch is kept: report it",
        )
    tallies, without = _removed_tallies(table, removed_tasks, added_tasks) if closed.of_stream else ({}, 0)
    counted = sum(tally.count for tally in tallies.values()) + without
    if closed.of_stream and counted != rows.surplus:
        raise ContentChanged(
            f"{closed.base.name}: {rows.surplus} rows have gone by their keys, and {counted} by their coordinates.",
            remedy="the table is as it was; the attempt's branch is kept: report it",
        )
    return RemovedRows(rows.surplus, [closed.partitions[key].partition.key for key in keys], tallies, without)


def _exchanged(table: Table, source: int, head: int) -> tuple[list[FileScanTask], list[FileScanTask]]:
    """Files that went and that came, each with its deletes."""
    before, after = (
        {task.file.file_path: task for task in table.scan(snapshot_id=snapshot_id).plan_files()}
        for snapshot_id in (source, head)
    )
    removed_tasks = [task for path, task in before.items() if path not in after]
    return removed_tasks, [task for path, task in after.items() if path not in before]


def _removed_tallies(
    table: Table, removed_tasks: Sequence[FileScanTask], added_tasks: Sequence[FileScanTask]
) -> tuple[dict[int, Tally], int]:
    """Offsets that were in the files that went, and are not in those that came; read by another engine than Spark.

    Returns:
        Partition → tally; and how many rows without coordinates have gone.
    """
    went, came = places(table, removed_tasks), places(table, added_tasks)
    before, after = (
        {partition: Tally.of(offsets) for partition, offsets in side.offsets.items()} for side in (went, came)
    )
    tallies = {partition: tally - after.get(partition, Tally()) for partition, tally in before.items()}
    return {p: tally for p, tally in tallies.items() if tally != Tally()}, went.without - came.without
