"""Ranges of a real topic are read through: each committed record in them once, with whether it has a value."""

import pytest

from lakehouse.engines.kafka import BrokerUnreachable, Record, records, send
from lakehouse.engines.kafka.records import record_offsets
from lakehouse.engines.kafka.second_look import OffsetGap
from lakehouse.settings import KafkaSettings
from lakehouse_tests.engines.kafka.test_second_look import transactions
from lakehouse_tests.fixtures.broker import TopicFactory

pytestmark = pytest.mark.kafka


def offsets(broker: KafkaSettings, topic: str, *ranges: tuple[int, int, int]) -> list[tuple[int, int, bool]]:
    return [
        (batch.partition, offset, has_value)
        for batch in record_offsets(broker, topic, [OffsetGap(*span) for span in ranges])
        for offset, has_value in zip(batch.offsets.tolist(), batch.has_value.tolist(), strict=True)
    ]


@pytest.mark.parametrize("near", [20_000, 0], ids=["read over", "sought"])
def test_records_of_ranges(
    broker: KafkaSettings, topic: TopicFactory, monkeypatch: pytest.MonkeyPatch, near: int
) -> None:
    monkeypatch.setattr(records, "_NEAR", near)
    name = topic(partitions=2)
    send(broker, name, [Record(None if n == 5 else b"%d" % n, key=b"k", partition=0) for n in range(9)])
    send(broker, name, [Record(b"x", partition=1) for _ in range(2)])
    assert offsets(broker, name, (0, 1, 3), (0, 5, 7), (1, 1, 2)) == [
        (0, 1, True),
        (0, 2, True),
        (0, 5, False),
        (0, 6, True),
        (1, 1, True),
    ]
    assert offsets(broker, name) == []


def test_aborted_records_and_markers_are_no_records(broker: KafkaSettings, topic: TopicFactory) -> None:
    name = topic()
    transactions(broker, name, "abort", "commit")
    assert offsets(broker, name, (0, 0, 6)) == [(0, 3, True), (0, 4, True)]


def test_a_broker_that_is_away_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "TIMEOUT", 0.5)
    with pytest.raises(BrokerUnreachable, match=r"127\.0\.0\.1:1"):
        offsets(KafkaSettings(bootstrap_servers="127.0.0.1:1"), "topic", (0, 0, 1))
