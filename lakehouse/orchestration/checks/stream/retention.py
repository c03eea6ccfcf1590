"""Retention forecast: when will records be gone that the stream has not read yet?

Kafka lets go of whole segments, the oldest first: by age (`retention.ms` of the newest record in it), and by size
(`retention.bytes` of a partition). So a record stays at least as long as is said here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg

from lakehouse.declarations import Stream
from lakehouse.engines.kafka.several_topics.stream_topics import oldest_unread, stream_offsets_at
from lakehouse.engines.kafka.topics import TopicRetention, topic_retention
from lakehouse.errors import LakehouseError
from lakehouse.orchestration.resources import Lake
from lakehouse.orchestration.resources.stream_status import stream_status
from lakehouse.steps.ingest.standing import Standing

NAME = "retention_forecast"
DESCRIPTION = (
    "When Kafka will let go of records that the stream has not read yet, by the topic's `retention.ms` and "
    "`retention.bytes`, the start of the log, the stream's position and the rate at which records come. Fails when "
    "less than a quarter of the time is left that the topic gives."
)
WARNED_BELOW = 0.25
_WINDOW = timedelta(hours=1)


@dataclass(frozen=True)
class Forecast:
    """What is known of the first unread record that goes.

    Args:
        gone_at: when it goes at the earliest; None where nothing is unread, or nothing ever goes.
        share_left: of the time, or of the offsets, that the topic keeps records for; 1 where nothing goes.
        because: of which setting of the topic.
        rates: partition → records a second, over the last hour.
    """

    gone_at: datetime | None = None
    share_left: float = 1.0
    because: str = ""
    rates: dict[int, float] | None = None


def forecast(
    status: Standing, retention: TopicRetention, oldest: datetime | None, hour_ago: dict[int, int], now: datetime
) -> Forecast:
    """Forecast; pure.

    Args:
        status: of the stream.
        retention: of the topic.
        oldest: when its oldest unread record was produced; None where nothing is unread.
        hour_ago: partition → the first offset of the last hour.
        now: the moment.
    """
    limits = status.topic.partitions
    rates = {
        p: max(0, span.last_stable - hour_ago.get(p, span.last_stable)) / _WINDOW.total_seconds()
        for p, span in limits.items()
    }
    ends: list[Forecast] = []
    if oldest is not None and retention.time is not None:
        gone_at = oldest + retention.time
        share = (gone_at - now) / retention.time if retention.time else 0.0
        ends.append(Forecast(gone_at, share, "retention.ms", rates))
    if retention.bytes is not None:
        ends += [
            # The log begins to lose the record once as many come as lie before it.
            Forecast(
                now + timedelta(seconds=min((status.position[p] - span.earliest) / rates[p], 1e9)),
                (status.position[p] - span.earliest) / (span.last_stable - span.earliest),
                f"retention.bytes, partition {p}",
                rates,
            )
            for p, span in limits.items()
            if status.unread[p] and rates[p]
        ]
    first = min(ends, key=lambda end: end.share_left, default=Forecast(rates=rates))
    return first if retention.deletes else Forecast(rates=rates)


def retention_result(
    status: Standing, ahead: Forecast, retention: TopicRetention, key: dg.AssetKey
) -> dg.AssetCheckResult:
    """Tell of the forecast."""
    metadata: dict[str, Any] = {
        "unread": status.lag,
        "share of the time left": round(ahead.share_left, 3),
        "records a second": round(sum((ahead.rates or {}).values()), 1),
        "retention.ms": str(retention.time) if retention.time is not None else "none",
        "retention.bytes": retention.bytes if retention.bytes is not None else "none",
    }
    if ahead.gone_at is not None:
        metadata["gone at"] = dg.MetadataValue.timestamp(ahead.gone_at)
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=NAME,
        passed=ahead.share_left >= WARNED_BELOW,
        severity=dg.AssetCheckSeverity.WARN,
        description=_describe(status, ahead),
        metadata=metadata,
    )


def unknown_result(error: LakehouseError, key: dg.AssetKey) -> dg.AssetCheckResult:
    """Tell that nobody can say."""
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=NAME,
        passed=False,
        severity=dg.AssetCheckSeverity.WARN,
        description=f"Nobody can say when unread records will be gone. {error}",
    )


def look(lake: Lake, stream: Stream) -> tuple[Standing, Forecast, TopicRetention]:
    """Ask tables and broker.

    Raises:
        IngestRefused: the tables contradict each other, or the topic is not the one that was read.
        BrokerUnreachable: no broker answered.
        KafkaRefused: we may not ask how the topic is configured.
    """
    status, now = stream_status(lake, stream), datetime.now(UTC)
    retention = shortest(
        [topic_retention(lake.kafka, name) for name in status.topic.numbers.names if name not in status.topic.absent]
    )
    if not status.lag or not retention.deletes:
        return status, Forecast(), retention
    oldest = oldest_unread(lake.kafka, status.topic, status.position)
    hour_ago = stream_offsets_at(lake.kafka, status.topic, now - _WINDOW)
    return status, forecast(status, retention, oldest, hour_ago, now), retention


def shortest(retentions: Sequence[TopicRetention]) -> TopicRetention:
    """Of several topics the one that lets go first; without any, nothing goes."""
    deleting = [retention for retention in retentions if retention.deletes]
    return min(deleting or retentions, key=lambda r: r.time or timedelta.max, default=TopicRetention(False, None, None))


def _describe(status: Standing, ahead: Forecast) -> str:
    if not status.lag:
        return f"{status.progress}."
    if ahead.gone_at is None:
        return f"{status.progress}, and nothing says that they go."
    return (
        f"{status.progress}; the first of them may be gone at "
        f"{ahead.gone_at:%Y-%m-%d %H:%M} UTC ({ahead.because}), with {max(ahead.share_left, 0):.0%} of the time left."
    )
