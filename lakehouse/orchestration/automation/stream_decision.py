"""Whether a stream's next run is due; pure, so that every case can be tested without a broker."""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timedelta

from lakehouse.orchestration.automation.backoff import Failures
from lakehouse.orchestration.automation.sensor_options import DEFAULT_OPTIONS, SensorOptions

# A position may come again (a rollback by hand), so time goes by in the name of its run.
RETRY_AFTER = timedelta(minutes=5)


@dataclass(frozen=True)
class Decision:
    """What a sensor does.

    Args:
        run_key: names the run to start; None: start none.
        reason: for the sensor's page.
        cursor: what the next look is to remember.
    """

    run_key: str | None
    reason: str
    cursor: str


def decide(
    stream: str,
    *,
    position: str,
    lag: int,
    begun: bool,
    waited: bool,
    running: bool,
    failures: Failures,
    cursor: str,
    now: datetime,
    options: SensorOptions = DEFAULT_OPTIONS,
) -> Decision:
    """Decide whether to start a run. It costs seconds, so few records wait until they have company, though never long.

    Args:
        stream: its name.
        position: digest of the stored position, see `position_digest`.
        lag: offsets that wait to be read.
        begun: whether the tables have a position at all; the first run gives them one, also from an empty topic.
        waited: whether some unread record is older than the patience, by Kafka's timestamps.
        running: whether a run of this stream is queued or under way.
        failures: of its newest runs, those that began at this position: whose run has moved on is not stuck.
        cursor: what the last look left: the position at which records already waited.
        now: the present moment.
        options: patience, and how many records are enough for a run.
    """
    if running:
        return Decision(None, "a run of this stream is under way", cursor)
    if begun and lag == 0:
        return Decision(None, "nothing unread", "")
    unread = f"{lag} unread" if begun else "no position yet"
    if wait := failures.reason_to_wait(now):
        return Decision(None, f"{unread}; {wait}", cursor)
    # Timestamps are the producer's word. What was unread at the last look has waited, whatever they say.
    if begun and lag < options.enough_records and options.patience and not waited and cursor != position:
        return Decision(None, f"{lag} unread, none older than {options.patience.total_seconds():g} s", position)
    return Decision(run_key(stream, position, failures, now), unread, position)


def decide_refusal(
    name: str, message: str, *, kind: str, running: bool, failures: Failures, now: datetime, cursor: str = ""
) -> Decision:
    """Decide whether to start a run of a table that will refuse by name, where people look.

    Args:
        name: of the stream or mirror.
        message: why it will refuse.
        kind: class of the refusal. Its message may change from look to look, as a lost range grows.
        running: whether a run is queued or under way.
        failures: of its newest runs.
        now: the present moment.
        cursor: what the last look left.
    """
    if running:
        return Decision(None, message, cursor)
    if wait := failures.reason_to_wait(now):
        return Decision(None, f"{message} {wait}", cursor)
    return Decision(run_key(name, position_digest(kind), failures, now), message, cursor)


def run_key(name: str, position: str, failures: Failures, now: datetime) -> str:
    """Name the run from a position: the same for `RETRY_AFTER`, so that Dagster starts it once in that time."""
    return f"{name}:{position}:{failures.count}:{int(now.timestamp() // RETRY_AFTER.total_seconds())}"


def position_digest(position: object) -> str:
    """A short name for a position, or for whatever stands in the way of one."""
    return hashlib.sha256(json.dumps(position, sort_keys=True).encode()).hexdigest()[:16]
