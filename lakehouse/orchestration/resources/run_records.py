"""What Dagster remembers of runs: which are under way, how long the longest took, how often the newest have failed."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from dagster import DagsterInstance, DagsterRunStatus, RunRecord, RunsFilter

from lakehouse.steps.maintenance.measure.longest_run import LONGEST_BELIEVED

UNFINISHED = [
    DagsterRunStatus.QUEUED,
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
]
FINISHED = [DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED]
_LOOKED_BACK = 10
# The newest; how long older ones took is in the seals of what they wrote.
_MOST_RUNS = 500


def under_way(instance: DagsterInstance, tags: Mapping[str, str | Sequence[str]] | None = None) -> list[RunRecord]:
    """Runs that wait or work, by their tags."""
    return list(instance.get_run_records(RunsFilter(statuses=UNFINISHED, tags=dict(tags or {}))))


def longest_run(instance: DagsterInstance, now: datetime) -> timedelta:
    """The longest run that Dagster remembers; one that is under way has taken as long as until now.

    Of one that is done no more than a month is believed: its clock was set right meanwhile.
    """
    records = [*instance.get_run_records(limit=_MOST_RUNS), *under_way(instance)]
    return max((_took(record, now) for record in records), default=timedelta(0))


def failures(instance: DagsterInstance, tags: Mapping[str, str]) -> list[RunRecord]:
    """The newest runs with these tags that did not succeed, one after the other, newest first."""
    failed: list[RunRecord] = []
    for record in instance.get_run_records(RunsFilter(statuses=FINISHED, tags=dict(tags)), limit=_LOOKED_BACK):
        if record.dagster_run.status is DagsterRunStatus.SUCCESS:
            break
        failed.append(record)
    return failed


def ended_at(record: RunRecord) -> datetime:
    """When a run ended."""
    return datetime.fromtimestamp(record.end_time, UTC) if record.end_time else record.update_timestamp


def _took(record: RunRecord, now: datetime) -> timedelta:
    began = record.start_time or record.create_timestamp.timestamp()
    if record.dagster_run.status in UNFINISHED:
        return timedelta(seconds=max(now.timestamp() - began, 0.0))
    return min(timedelta(seconds=max((record.end_time or began) - began, 0.0)), LONGEST_BELIEVED)
