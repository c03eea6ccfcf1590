"""A sensor per stream: compares stored position and topic every few seconds, and starts a run when one is due."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import dagster as dg

from lakehouse.declarations import Stream
from lakehouse.engines.kafka import BrokerUnreachable, KafkaBusy, KafkaRefused, TopicMissing
from lakehouse.engines.kafka.several_topics.stream_topics import stream_offsets_at
from lakehouse.orchestration.automation.backoff import Failures
from lakehouse.orchestration.automation.sensor_options import DEFAULT_OPTIONS, SensorOptions
from lakehouse.orchestration.automation.stream_decision import Decision, decide, decide_refusal, position_digest
from lakehouse.orchestration.checks.stream.verdict import StreamCursor, Verdict, of_refusal, of_standing, of_trouble
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.resources import Lake
from lakehouse.orchestration.resources.run_records import failures, under_way
from lakehouse.orchestration.resources.stream_status import stream_status
from lakehouse.orchestration.run_context import POSITION_TAG, STREAM_TAG
from lakehouse.steps.ingest.refusals import IngestRefused
from lakehouse.steps.ingest.standing import Standing


def lag_sensor(
    stream: Stream,
    keys: Sequence[dg.AssetKey],
    names: DagsterNames = DEFAULT_NAMES,
    options: SensorOptions = DEFAULT_OPTIONS,
) -> dg.SensorDefinition:
    """Make the sensor of a stream.

    Args:
        stream: the stream.
        keys: its assets; a run materializes them and evaluates their checks.
        names: how Dagster knows the resource of tables.
        options: whether it runs without being switched on, how often it looks, and for how long few records wait.
    """
    options = options.for_stream(stream)

    @dg.sensor(
        name=f"{stream.name}_lag",
        description=f"Starts a run when topic {stream.topic} holds records that stream {stream.name} has not read.",
        target=dg.AssetSelection.assets(*keys),
        minimum_interval_seconds=options.every_seconds,
        default_status=options.status,
    )
    @names.resources
    def lag(context: dg.SensorEvaluationContext, lake: dg.ResourceParam[Lake]) -> dg.SensorResult:
        last = StreamCursor.of(context.cursor)
        try:
            looked = _look(stream, lake, context.instance, last.position, options)
            events = looked.verdict.events(last)  # it may ask the broker for the oldest unread record
        except (BrokerUnreachable, KafkaBusy, KafkaRefused, TopicMissing) as trouble:
            # A failing check of the tables, and tried again: a broker that is away is no failure of ours.
            verdict = of_trouble(stream, trouble, lake)
            cursor = StreamCursor(last.position, verdict.state).cursor()
            return dg.SensorResult(skip_reason=str(trouble), cursor=cursor, asset_events=verdict.events(last))
        decision = looked.decision
        cursor = StreamCursor(decision.cursor, looked.verdict.state).cursor()
        if decision.run_key is None:
            return dg.SensorResult(skip_reason=decision.reason, cursor=cursor, asset_events=events)
        tags = {STREAM_TAG: stream.name, POSITION_TAG: looked.position}
        request = dg.RunRequest(run_key=decision.run_key, tags=tags, asset_selection=list(keys))
        return dg.SensorResult(run_requests=[request], cursor=cursor, asset_events=events)

    return lag


@dataclass(frozen=True)
class _Looked:
    """What to do, the digest of the position (or of what is in its way) that a run begins at, and how fresh it is."""

    decision: Decision
    position: str
    verdict: Verdict


def _look(stream: Stream, lake: Lake, instance: dg.DagsterInstance, cursor: str, options: SensorOptions) -> _Looked:
    now = datetime.now(UTC)
    running = bool(under_way(instance, {STREAM_TAG: stream.name}))
    try:
        status = stream_status(lake, stream)
    except IngestRefused as refusal:
        kind = type(refusal).__name__
        failed = _failures(instance, stream, position_digest(kind))
        decision = decide_refusal(
            stream.name, refusal.message, kind=kind, running=running, failures=failed, now=now, cursor=cursor
        )
        return _Looked(decision, position_digest(kind), of_refusal(stream, refusal, lake))
    position = position_digest({"topic": status.topic.topic_id, "position": status.position})
    decision = decide(
        stream.name,
        position=position,
        lag=status.lag,
        begun=status.sealed is not None,
        waited=status.lag > 0 and _has_older(lake, status, now - options.patience),
        running=running,
        failures=_failures(instance, stream, position),
        cursor=cursor,
        now=now,
        options=options,
    )
    late = status.sealed is not None and status.lag > 0 and _has_older(lake, status, now - stream.freshness)
    return _Looked(decision, position, of_standing(stream, status, lake, late=late))


def _failures(instance: dg.DagsterInstance, stream: Stream, position: str) -> Failures:
    """Of the newest runs that did not succeed, one after the other, those that began where the stream stands now."""
    failed = failures(instance, {STREAM_TAG: stream.name})
    return Failures.of([record for record in failed if record.dagster_run.tags.get(POSITION_TAG) == position])


def _has_older(lake: Lake, status: Standing, moment: datetime) -> bool:
    """Whether an unread record is older than a moment: asked by offsets, without fetching a record."""
    recent = stream_offsets_at(lake.kafka, status.topic, moment)
    return any(recent.get(partition, 0) > position for partition, position in status.position.items())
