"""When unread records will be gone: by age, by size, or never."""

from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest

from lakehouse.engines.kafka import KafkaRefused
from lakehouse.engines.kafka.topics import PartitionRange, TopicRetention, TopicState
from lakehouse.orchestration.checks.stream.retention import Forecast, forecast, retention_result, unknown_result
from lakehouse.orchestration.resources.stream_status import Standing

NOW = datetime(2026, 1, 8, tzinfo=UTC)
WEEK = timedelta(days=7)
KEY = dg.AssetKey(["raw", "birds"])


def standing(position: int, *, earliest: int = 0, end: int = 1000) -> Standing:
    topic = TopicState("birds", "cluster", "id", {0: PartitionRange(earliest, end)})
    return Standing.of("birds", None, topic, first={0: position}, snapshots={})


def test_by_age_it_goes_when_the_oldest_unread_record_has_had_its_time() -> None:
    outlook = forecast(standing(400), TopicRetention(True, WEEK, None), NOW - timedelta(days=6), {0: 640}, NOW)
    assert (outlook.gone_at, outlook.because) == (NOW + timedelta(days=1), "retention.ms")
    assert outlook.share_left == pytest.approx(1 / 7)
    assert outlook.rates == {0: 0.1}
    result = retention_result(standing(400), outlook, TopicRetention(True, WEEK, None), KEY)
    assert (result.passed, result.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert "600 offsets of topic birds unread; the first of them may be gone at 2026-01-09 00:00" in str(
        result.description
    )
    single = retention_result(standing(999), outlook, TopicRetention(True, WEEK, None), KEY)
    assert str(single.description).startswith("1 offset of topic birds unread; ")


def test_by_size_it_goes_when_as_many_records_have_come_as_lie_before_it() -> None:
    outlook = forecast(standing(720), TopicRetention(True, None, 10**9), NOW, {0: 640}, NOW)
    assert (outlook.gone_at, outlook.share_left) == (NOW + timedelta(hours=2), 0.72)
    assert retention_result(standing(720), outlook, TopicRetention(True, None, 10**9), KEY).passed


def test_the_nearer_end_counts() -> None:
    outlook = forecast(standing(100), TopicRetention(True, WEEK, 10**9), NOW - timedelta(days=1), {0: 640}, NOW)
    assert (outlook.because, outlook.share_left) == ("retention.bytes, partition 0", 0.1)


@pytest.mark.parametrize(
    ("position", "retention", "oldest"),
    [
        (1000, TopicRetention(True, WEEK, 10**9), None),
        (400, TopicRetention(True, None, None), NOW - WEEK),
        (400, TopicRetention(False, WEEK, 10**9), NOW - WEEK),
    ],
)
def test_where_nothing_is_unread_or_nothing_ever_goes(
    position: int, retention: TopicRetention, oldest: datetime | None
) -> None:
    outlook = forecast(standing(position), retention, oldest, {0: 640}, NOW)
    assert (outlook.gone_at, outlook.share_left) == (None, 1.0)
    assert retention_result(standing(position), outlook, retention, KEY).passed


def test_where_nobody_may_ask_it_says_so() -> None:
    result = unknown_result(KafkaRefused("no."), KEY)
    assert (result.passed, "Nobody can say" in str(result.description)) == (False, True)
    assert Forecast().gone_at is None
