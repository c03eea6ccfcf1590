"""What Dagster has recorded of finished runs, as events of the audit log: the run, its checks, what it refused.

A run is read once it has ended, so all of it is in one append. What an exception says may repeat the value of a row:
only the words of our own errors are taken over, and of any other its class.
"""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import dagster as dg
from dagster import (
    AssetCheckEvaluation,
    DagsterEventType,
    DagsterInstance,
    DagsterRun,
    DagsterRunStatus,
    EventLogEntry,
    RunRecord,
    RunsFilter,
)

from lakehouse.errors import LakehouseError
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.run_context import PROCESS_TAG, RUNTIME_DATE_TAG, USER_TAG, parsed_date
from lakehouse.protocol.journal.event import Event, Known
from lakehouse.protocol.journal.position import JournalNews, JournalPosition

FINISHED = [DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED]
MOST_RUNS = 50
_MOST_RECORDS = 1000
# A database may show a run a moment after another that ended later, so each look begins a little before the last end.
_OVERLAP = timedelta(minutes=1)
_INSTANCE_KEY = "lakehouse/journal"
_ASSET_JOB = "__ASSET_JOB"  # what Dagster calls the job of any assets that are chosen by hand, or by automation
_MOST_NAMES = 6
_READ = {
    DagsterEventType.ASSET_CHECK_EVALUATION,
    DagsterEventType.ASSET_MATERIALIZATION_PLANNED,
    DagsterEventType.STEP_FAILURE,
}
_WRAPPED = ("DagsterExecutionStepExecutionError", "RetryRequested")  # what Dagster puts around why a step ended
_USER_TAGS = (USER_TAG, "dagster/reporting_user")


def run_news(
    instance: DagsterInstance, position: JournalPosition, known: Known, names: DagsterNames = DEFAULT_NAMES
) -> JournalNews:
    """Find the finished runs that the log has not come to yet, with their checks and refusals."""
    name = instance_name(instance)
    until_ms = position.runs.get(name, 0)
    since = datetime.fromtimestamp(until_ms / 1000, UTC) - _OVERLAP if until_ms else None
    filters = RunsFilter(statuses=FINISHED, updated_after=since)
    records = instance.get_run_records(filters, limit=_MOST_RECORDS, order_by="update_timestamp", ascending=True)
    runs = [(_ended(record, names), record) for record in records]
    logged = known([event for event, _ in runs])
    new = [(event, record) for event, record in runs if event.id not in logged]
    batch = new[:MOST_RUNS]
    if batch:
        until_ms = max(until_ms, int(batch[-1][1].update_timestamp.timestamp() * 1000))
        position = position.with_runs(name, until_ms)
    events = [of for event, record in batch for of in (*_of_run(instance, record.dagster_run, names), event)]
    return JournalNews(tuple(events), position, more=len(new) > len(batch) or len(records) == _MOST_RECORDS)


def newest_end(instance: DagsterInstance) -> str:
    """What changes when a run ends: one look at one row."""
    records = instance.get_run_records(RunsFilter(statuses=FINISHED), limit=1, order_by="update_timestamp")
    return f"{records[0].dagster_run.run_id} {records[0].update_timestamp.timestamp()}" if records else ""


def who_started(run: DagsterRun | None) -> str:
    """The person, sensor, schedule, backfill or command that started a run, as far as its tags tell."""
    if run is None:
        return ""
    tags = run.tags
    if (user := next((tags[tag] for tag in _USER_TAGS if tag in tags), "")) and PROCESS_TAG in tags:
        return f"{user}, by the command line"
    for tag, kind in (
        ("dagster/sensor_name", "sensor"),
        ("dagster/schedule_name", "schedule"),
        ("dagster/backfill", "backfill"),
    ):
        if tag in tags:
            return f"{kind} {tags[tag]}"
    return user or ("the command line" if PROCESS_TAG in tags else "Dagster's UI or API")


def named(news: JournalNews, instance: DagsterInstance) -> JournalNews:
    """The same, with who started the run, where Dagster still knows it."""
    runs = {event.run_id for event in news.events if event.run_id and not event.who}
    started = {run_id: who_started(instance.get_run_by_id(run_id)) for run_id in runs}
    return replace(news, events=tuple(replace(e, who=e.who or started.get(e.run_id, "")) for e in news.events))


def instance_name(instance: DagsterInstance) -> str:
    """A name for this Dagster database, kept in it: another database has other runs and needs a position of its own."""
    storage = instance.daemon_cursor_storage
    name = storage.get_cursor_values({_INSTANCE_KEY}).get(_INSTANCE_KEY)
    if name is None:
        name = uuid.uuid4().hex
        storage.set_cursor_values({_INSTANCE_KEY: name})
    return name


def _ended(record: RunRecord, names: DagsterNames) -> Event:
    run = record.dagster_run
    ended = record.end_time or record.update_timestamp.timestamp()
    seconds = ended - record.start_time if record.start_time else 0.0
    date = run.tags.get(RUNTIME_DATE_TAG, "")
    return Event(
        id=f"run:{run.run_id}",
        kind="run",
        timestamp=datetime.fromtimestamp(ended, UTC),
        outcome=run.status.value.lower(),
        severity="ERROR" if run.status is DagsterRunStatus.FAILURE else "",
        message=f"Run of {_subject(run, names)} ended after {seconds:.1f} s.",
        who=who_started(run),
        run_id=run.run_id,
        root_run_id=run.root_run_id or run.run_id,
        runtime_date=date if _is_date(date) else "",
        details={
            "job": run.job_name,
            "created": record.create_timestamp.isoformat(),
            "tables": sorted(names.table(key) for key in run.asset_selection or ()),
            "seconds": round(seconds, 3),
        },
    )


def _subject(run: DagsterRun, names: DagsterNames) -> str:
    """What a run was of: its job, or the assets that were chosen."""
    if run.job_name != _ASSET_JOB:
        return run.job_name
    assets = {names.table(key) for key in run.asset_selection or ()}
    checked = {names.table(check.asset_key) for check in run.asset_check_selection or ()}
    chosen = sorted(assets or checked)
    if not chosen:
        return "all assets"
    more = f" and {len(chosen) - _MOST_NAMES} more" if len(chosen) > _MOST_NAMES else ""
    return ("" if assets else "checks of ") + ", ".join(chosen[:_MOST_NAMES]) + more


def _of_run(instance: DagsterInstance, run: DagsterRun, names: DagsterNames) -> Iterator[Event]:
    tables: dict[str, list[str]] = {}
    for record in instance.get_records_for_run(run.run_id, of_type=_READ).records:
        entry = record.event_log_entry
        happened = entry.get_dagster_event()
        if happened.event_type is DagsterEventType.ASSET_MATERIALIZATION_PLANNED:
            if happened.step_key and happened.asset_key:
                tables.setdefault(happened.step_key, []).append(names.table(happened.asset_key))
        elif happened.event_type is DagsterEventType.ASSET_CHECK_EVALUATION:
            yield _checked(run, entry, happened.asset_check_evaluation_data, names)
        else:
            yield _refused(run, entry, tables.get(happened.step_key or "", []))


def _checked(run: DagsterRun, entry: EventLogEntry, evaluation: AssetCheckEvaluation, names: DagsterNames) -> Event:
    table = names.table(evaluation.asset_key)
    snapshot = evaluation.metadata.get("snapshot id")
    text = str(snapshot.value) if snapshot is not None else ""
    numbers = {
        label: value.value
        for label, value in evaluation.metadata.items()
        if isinstance(value, dg.IntMetadataValue | dg.FloatMetadataValue)
    }
    return Event(
        id=f"check:{run.run_id}:{table}:{evaluation.check_name}:{entry.timestamp}",
        kind="check",
        timestamp=datetime.fromtimestamp(entry.timestamp, UTC),
        outcome="passed" if evaluation.passed else "failed",
        severity="" if evaluation.passed else evaluation.severity.value,
        message=f"{evaluation.check_name}: {evaluation.description or ('passed' if evaluation.passed else 'failed')}",
        table=table,
        snapshot_id=int(text) if text.isdecimal() else None,
        who=who_started(run),
        run_id=run.run_id,
        root_run_id=run.root_run_id or run.run_id,
        step=entry.step_key or "",
        details={"check": evaluation.check_name, "blocking": bool(evaluation.blocking), "numbers": numbers},
    )


def _refused(run: DagsterRun, entry: EventLogEntry, tables: list[str]) -> Event:
    kind, message = _why(entry)
    ours = kind in _ours()
    return Event(
        id=f"refusal:{run.run_id}:{entry.step_key}:{entry.timestamp}",
        kind="refusal",
        timestamp=datetime.fromtimestamp(entry.timestamp, UTC),
        outcome="refused" if ours else "error",
        severity="ERROR",
        message=message if ours else f"{kind}; what it said is in the run, as it may hold a value.",
        table=tables[0] if len(tables) == 1 else "",
        who=who_started(run),
        run_id=run.run_id,
        root_run_id=run.root_run_id or run.run_id,
        step=entry.step_key or "",
        details={"error": kind, "tables": sorted(tables)},
    )


def _why(entry: EventLogEntry) -> tuple[str, str]:
    """The class of the error that ended a step, and what it said."""
    data = entry.get_dagster_event().step_failure_data
    shown = data.user_failure_data
    if shown is not None and (refused := shown.metadata.get("refused")) is not None:  # ours, in Dagster's clothes
        return str(refused.value), shown.description or ""
    error = data.error
    while error is not None and error.cls_name in _WRAPPED and error.cause is not None:
        error = error.cause
    if error is None:
        return "unknown", ""
    # The message begins with the class.
    return error.cls_name or "unknown", error.message.strip().partition(": ")[2] or error.message.strip()


def _ours() -> set[str]:
    """Names of the errors whose words are free of values; that a blocking check failed is said by Dagster."""
    names, waiting = {"DagsterAssetCheckFailedError"}, [LakehouseError]
    while waiting:
        kinds = waiting.pop().__subclasses__()
        names |= {kind.__name__ for kind in kinds}
        waiting += kinds
    return names


def _is_date(text: str) -> bool:
    try:
        parsed_date(text)
    except LakehouseError:
        return False
    return True
