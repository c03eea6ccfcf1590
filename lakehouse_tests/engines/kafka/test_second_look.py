"""What a second reader sees at offsets that brought no record: a record, the trace of a transaction, or nothing."""

import pytest
from confluent_kafka import Producer

from lakehouse.engines.kafka import BrokerUnreachable, Record, client_config, second_look, send
from lakehouse.engines.kafka.second_look import OffsetGap, cleanup_policy, readable, transactional
from lakehouse.settings import KafkaSettings
from lakehouse_tests.fixtures.broker import TopicFactory

pytestmark = pytest.mark.kafka


def transactions(broker: KafkaSettings, topic: str, *ends: str) -> None:
    """Two records each, then their end: markers lie at offsets 2, 5, 8 and so on."""
    producer = Producer({**client_config(broker), "transactional.id": f"of-{topic}"})
    producer.init_transactions(20)
    for end in ends:
        producer.begin_transaction()
        for value in (b"x", b"y"):
            producer.produce(topic, value, partition=0)
        producer.flush(20)
        producer.commit_transaction(20) if end == "commit" else producer.abort_transaction(20)


def test_a_record_in_a_gap_is_found_and_one_behind_it_is_not(broker: KafkaSettings, topic: TopicFactory) -> None:
    name = topic(partitions=2)
    send(broker, name, [Record(b"%d" % n, partition=0) for n in range(5)])
    inside, behind, other = OffsetGap(0, 2, 4), OffsetGap(0, 5, 9), OffsetGap(1, 0, 1)
    assert readable(broker, name, [inside, behind, other]) == {inside: 2}
    assert readable(broker, name, []) == {}


def test_markers_of_committed_transactions_are_seen(broker: KafkaSettings, topic: TopicFactory) -> None:
    name = topic()
    transactions(broker, name, "commit", "commit")
    between, last = OffsetGap(0, 2, 3), OffsetGap(0, 5, 6)
    assert readable(broker, name, [between, last]) == {}
    assert transactional(broker, name, [between]) == between, "with records behind it"
    assert transactional(broker, name, [last]) == last, "at the end of the log"


def test_records_of_an_aborted_transaction_are_seen(broker: KafkaSettings, topic: TopicFactory) -> None:
    name = topic()
    transactions(broker, name, "abort", "commit")
    gap = OffsetGap(0, 0, 3)
    assert readable(broker, name, [gap]) == {}
    assert transactional(broker, name, [gap]) == gap


def test_without_transactions_there_is_no_trace_of_one(broker: KafkaSettings, topic: TopicFactory) -> None:
    name = topic()
    send(broker, name, [Record(b"%d" % n) for n in range(3)])
    assert transactional(broker, name, [OffsetGap(0, 3, 7)]) is None, "beyond the end"


def test_how_a_topic_is_cleaned(broker: KafkaSettings, topic: TopicFactory) -> None:
    assert cleanup_policy(broker, topic()) == "delete"
    assert cleanup_policy(broker, topic(config={"cleanup.policy": "compact,delete"})) == "compact,delete"


def test_a_broker_that_is_away_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_look, "TIMEOUT", 0.5)
    away = KafkaSettings(bootstrap_servers="127.0.0.1:1")
    with pytest.raises(BrokerUnreachable, match=r"127\.0\.0\.1:1"):
        readable(away, "topic", [OffsetGap(0, 0, 1)])
