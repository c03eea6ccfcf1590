"""Freshness and lag: how far behind its topic is the stream, and since when does the oldest unread record wait?"""

from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg

from lakehouse.declarations import Stream
from lakehouse.engines.kafka.several_topics.stream_topics import oldest_unread
from lakehouse.errors import LakehouseError
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.resources import Lake
from lakehouse.orchestration.resources.materialization import rows_shown
from lakehouse.orchestration.resources.stream_status import stream_status
from lakehouse.steps.ingest.refusals import IngestRefused
from lakehouse.steps.ingest.standing import Standing

NAME = "freshness_and_lag"
DESCRIPTION = (
    "How many offsets of the topic are unread, and how old the oldest unread record is. Fails when that record has "
    "waited longer than the stream's declaration allows. `valid through` is the moment up to which the table is known "
    "to hold everything that was sent."
)


def freshness_result(
    status: Standing,
    oldest: datetime | None,
    allowed: timedelta,
    key: dg.AssetKey,
    names: DagsterNames = DEFAULT_NAMES,
) -> dg.AssetCheckResult:
    """Tell how fresh a stream is."""
    age = datetime.now(UTC) - oldest if oldest else timedelta(0)
    metadata: dict[str, Any] = {
        "lag": status.lag,
        "unread": _unread(status),
        "age of the oldest unread record (s)": round(age.total_seconds(), 1),
        "allowed age (s)": allowed.total_seconds(),
    }
    if status.snapshots:
        metadata["snapshot id"] = str(status.snapshots.get(names.table(key), "none"))
    if status.valid_through is not None:
        metadata["valid through"] = dg.MetadataValue.timestamp(status.valid_through)
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=NAME,
        passed=age <= allowed,
        # Late is not wrong: what the table holds stays true.
        severity=dg.AssetCheckSeverity.WARN,
        description=_describe(status, age, allowed),
        metadata=metadata,
    )


def doubtful_result(refusal: IngestRefused, key: dg.AssetKey) -> dg.AssetCheckResult:
    """Tell that the stream's tables contradict each other or the topic, so that nobody can say how far it has read."""
    return _unknown(f"How far the stream has read is in doubt. {refusal}", key)


def trouble_result(trouble: LakehouseError, key: dg.AssetKey) -> dg.AssetCheckResult:
    """Tell that broker or topic do not answer, so that nobody can say what is unread."""
    return _unknown(f"Nobody can say what is unread. {trouble}", key)


def _unknown(description: str, key: dg.AssetKey) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        asset_key=key, check_name=NAME, passed=False, severity=dg.AssetCheckSeverity.WARN, description=description
    )


def look(lake: Lake, stream: Stream) -> tuple[Standing, datetime | None]:
    """Ask tables and broker.

    Raises:
        IngestRefused: the tables contradict each other, or the topic is not the one that was read.
        BrokerUnreachable: no broker answered, so nobody can say how fresh the stream is.
    """
    status = stream_status(lake, stream)
    return status, oldest_unread(lake.kafka, status.topic, status.position) if status.lag else None


def _unread(status: Standing) -> dg.TableMetadataValue:
    numbers = status.topic.numbers
    columns = {
        "partition": "string" if numbers.many else "int",
        "read up to": "int",
        "end of log": "int",
        "unread": "int",
    }
    limits = status.topic.partitions
    return rows_shown(
        columns,
        [
            (numbers.label(p) if numbers.many else p, status.position[p], limits[p].last_stable, unread)
            for p, unread in status.unread.items()
        ],
    )


def _describe(status: Standing, age: timedelta, allowed: timedelta) -> str:
    if status.lag == 0:
        return f"{status.progress}."
    waited = f"{status.progress}; the oldest record waits for {_span(age)}"
    return f"{waited}, longer than the {_span(allowed)} that are allowed." if age > allowed else f"{waited}."


def _span(span: timedelta) -> str:
    return str(timedelta(seconds=round(span.total_seconds())))
