"""Old runs leave Dagster's own storage on a laptop, which would grow by a gigabyte a day.

Only where the instance is ours: its home lies in the state folder. What a run did is in the seals and in the audit log.
Dagster itself needs some runs for longer: those that it would not know an asset, or a partition of one, without.
"""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta

import structlog
from dagster import AssetKey, DagsterInstance, DagsterRun, RunsFilter

from lakehouse.orchestration.resources import Lake
from lakehouse.orchestration.resources.run_records import FINISHED, under_way

_AT_ONCE = 50  # a look of a sensor has a minute
_log = structlog.get_logger(__name__)


def drop_old_runs(lake: Lake, instance: DagsterInstance, *, now: datetime | None = None) -> int:
    """Delete runs that ended longer ago than the setting `dagster.keep_runs_days`, some at a time.

    Args:
        lake: its settings say how long, and which folder is ours.
        instance: where runs are recorded; one that is not ours is left alone.
        now: from when it counts back.

    Returns:
        How many were deleted; none while a declaration does not load.
    """
    home = lake.settings.state.dagster
    if instance.root_directory != str(home) or lake.declarations.broken:
        return 0  # a table that does not load may be in partitions
    before = (now or datetime.now(UTC)) - timedelta(days=lake.settings.dagster.keep_runs_days)
    records = instance.get_run_records(RunsFilter(statuses=FINISHED, updated_before=before), ascending=True)
    if not records:
        return 0
    partitioned = {lake.names.key(name) for name, made in lake.declarations.derived.items() if made.partitions}
    needed = _needed(instance)
    old = [
        record.dagster_run
        for record in records
        if record.dagster_run.run_id not in needed and not _of_partitions(record.dagster_run, partitioned)
    ]
    for run in old[:_AT_ONCE]:
        instance.delete_run(run.run_id)
        instance.compute_log_manager.delete_logs(prefix=[run.run_id])
        # Dagster empties the run's file of events, and leaves it at its size.
        for file in (home / "history" / "runs").glob(f"{run.run_id}.db*"):
            file.unlink(missing_ok=True)
    dropped = min(len(old), _AT_ONCE)
    if dropped:
        _log.info("old_runs_deleted", runs=dropped, left=len(old) - dropped)
    return dropped


def _needed(instance: DagsterInstance) -> set[str]:
    """Runs that made the newest of an asset, and those whose re-execution has not ended."""
    newest = {
        record.asset_entry.last_materialization_record.run_id
        for record in instance.get_asset_records()
        if record.asset_entry.last_materialization_record is not None
    }
    return newest | {record.dagster_run.root_run_id or record.dagster_run.run_id for record in under_way(instance)}


def _of_partitions(run: DagsterRun, partitioned: Collection[AssetKey]) -> bool:
    """Whether Dagster knows by this run that partitions are there; a run of no chosen assets may be of any."""
    if run.asset_selection is None:
        return bool(partitioned) and run.asset_check_selection is None
    return not run.asset_selection.isdisjoint(partitioned)
