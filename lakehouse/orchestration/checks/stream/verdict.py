"""How fresh a stream is, as its sensor sees it: an evaluation of the tables' check wherever the answer changes.

A run evaluates that check as well, but where a broker is away, a topic is gone or runs fail, there is no such run.
"""

from collections.abc import Callable
from dataclasses import dataclass

import dagster as dg

from lakehouse.declarations import Stream
from lakehouse.engines.kafka.several_topics.stream_topics import oldest_unread
from lakehouse.errors import LakehouseError
from lakehouse.orchestration.checks.stream.freshness import doubtful_result, freshness_result, trouble_result
from lakehouse.orchestration.resources import Lake
from lakehouse.steps.ingest.refusals import IngestRefused
from lakehouse.steps.ingest.standing import Standing

_FRESH = ""
_LATE = "late"
_SEPARATOR = "|"


@dataclass(frozen=True)
class StreamCursor:
    """What the last look left, as the sensor's cursor.

    Attributes:
        position: the digest of a position at which records already waited; empty where none did.
        state: how fresh the stream was, see `Verdict`.
    """

    position: str = ""
    state: str = _FRESH

    @classmethod
    def of(cls, cursor: str | None) -> "StreamCursor":
        """Read it; one of an earlier version is a position alone."""
        position, _, state = (cursor or "").partition(_SEPARATOR)
        return cls(position, state)

    def cursor(self) -> str:
        """Write it."""
        return f"{self.position}{_SEPARATOR}{self.state}" if self.state else self.position


@dataclass(frozen=True)
class Verdict:
    """How fresh a stream is.

    Attributes:
        state: empty where it is fresh; otherwise what is wrong, the same for as long as it is the same.
        results: what its check says of each of its tables, asked for only where that is to be told.
    """

    state: str
    results: Callable[[], list[dg.AssetCheckResult]]

    def events(self, last: StreamCursor) -> list[dg.AssetCheckEvaluation]:
        """What Dagster is to be told: nothing, where that was told at an earlier look."""
        return [] if self.state == last.state else [evaluation_of(result) for result in self.results()]


def of_trouble(stream: Stream, trouble: LakehouseError, lake: Lake) -> Verdict:
    """Nobody can say how fresh it is: the broker or the topic does not answer."""
    return Verdict(type(trouble).__name__, lambda: [trouble_result(trouble, key) for key in _keys(stream, lake)])


def of_refusal(stream: Stream, refusal: IngestRefused, lake: Lake) -> Verdict:
    """Tables and topic contradict each other."""
    return Verdict(type(refusal).__name__, lambda: [doubtful_result(refusal, key) for key in _keys(stream, lake)])


def of_standing(stream: Stream, status: Standing, lake: Lake, *, late: bool) -> Verdict:
    """Tables and topic say where it stands.

    Args:
        stream: the stream.
        status: where it stands.
        lake: its tables, and how to reach Kafka.
        late: whether an unread record is older than the stream allows.
    """

    def results() -> list[dg.AssetCheckResult]:
        oldest = oldest_unread(lake.kafka, status.topic, status.position) if status.lag else None
        return [freshness_result(status, oldest, stream.freshness, key, lake.names) for key in _keys(stream, lake)]

    return Verdict(_LATE if late else _FRESH, results)


def evaluation_of(result: dg.AssetCheckResult) -> dg.AssetCheckEvaluation:
    """A check's result as an event that a sensor may tell Dagster."""
    assert result.asset_key is not None
    assert result.check_name is not None
    return dg.AssetCheckEvaluation(
        asset_key=result.asset_key,
        check_name=result.check_name,
        passed=result.passed,
        severity=result.severity,
        description=result.description,
        metadata=result.metadata or {},
    )


def _keys(stream: Stream, lake: Lake) -> list[dg.AssetKey]:
    return [lake.names.key(name) for name in stream.tables]
