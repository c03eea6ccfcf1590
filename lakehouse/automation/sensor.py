"""A sensor per stream: compares stored position and topic every few seconds, and starts a run when one is due."""

from collections.abc import Sequence
from datetime import UTC, datetime

import dagster as dg

from lakehouse.automation.decision import PATIENCE, Decision, decide, position_digest, run_key
from lakehouse.ingest.refusals import IngestRefused
from lakehouse.kafka import BrokerUnreachable, KafkaBusy, KafkaRefused, TopicMissing, offsets_at
from lakehouse.resources import Lake
from lakehouse.resources.runs import under_way
from lakehouse.resources.standing import Standing, standing
from lakehouse.runtime import STREAM_TAG
from lakehouse.tables import Stream

EVERY_SECONDS = 5


def lag_sensor(stream: Stream, keys: Sequence[dg.AssetKey]) -> dg.SensorDefinition:
    """Make the sensor of a stream.

    Args:
        stream: the stream.
        keys: its assets; a run materializes them and evaluates their checks.
    """

    @dg.sensor(
        name=f"{stream.name}_lag",
        description=f"Starts a run when topic {stream.topic} holds records that stream {stream.name} has not read.",
        target=dg.AssetSelection.assets(*keys),
        minimum_interval_seconds=EVERY_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
    )
    def lag(context: dg.SensorEvaluationContext, lake: dg.ResourceParam[Lake]) -> dg.SensorResult:
        try:
            decision = _look(stream, lake, _running(context.instance, stream), context.cursor or "")
        except (BrokerUnreachable, KafkaBusy, KafkaRefused, TopicMissing) as trouble:
            # Said on the sensor's page, and tried again: a broker that is away for a while is no failure of ours.
            return dg.SensorResult(skip_reason=str(trouble), cursor=context.cursor)
        if decision.run_key is None:
            return dg.SensorResult(skip_reason=decision.reason, cursor=decision.cursor)
        request = dg.RunRequest(run_key=decision.run_key, tags={STREAM_TAG: stream.name})
        return dg.SensorResult(run_requests=[request], cursor=decision.cursor)

    return lag


def _look(stream: Stream, lake: Lake, running: bool, cursor: str) -> Decision:  # noqa: FBT001
    now = datetime.now(UTC)
    try:
        found = standing(lake, stream)
    except IngestRefused as refusal:
        # The run will refuse by name, where people look; once in a while, not at every look.
        key = run_key(stream.name, position_digest(refusal.message), now)
        return Decision(None if running else key, refusal.message, cursor)
    return decide(
        stream.name,
        position=position_digest({"topic": found.topic.topic_id, "position": found.position}),
        lag=found.lag,
        begun=found.sealed is not None,
        waited=found.lag > 0 and _has_older(lake, found, now),
        running=running,
        cursor=cursor,
        now=now,
    )


def _has_older(lake: Lake, found: Standing, now: datetime) -> bool:
    """Whether an unread record is older than the patience: asked by offsets, without fetching a record."""
    recent = offsets_at(lake.kafka, found.topic.topic, now - PATIENCE)
    return any(recent.get(partition, 0) > position for partition, position in found.position.items())


def _running(instance: dg.DagsterInstance, stream: Stream) -> bool:
    return bool(under_way(instance, {STREAM_TAG: stream.name}))
