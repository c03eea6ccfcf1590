from datetime import UTC, datetime

import pytest
from confluent_kafka import Producer

from lakehouse.engines.kafka import Record, client_config, oldest_unread_time, sample_record_bytes, send
from lakehouse.settings import KafkaSettings
from lakehouse_tests.fixtures.broker import TopicFactory

pytestmark = pytest.mark.kafka


def test_the_mean_counts_key_value_and_headers(broker: KafkaSettings, topic: TopicFactory):
    name = topic(partitions=2)
    send(
        broker, name, [Record(b"v" * 10, key=b"k" * 5, partition=0, headers=(("h", b"12"),)), Record(None, partition=1)]
    )
    assert sample_record_bytes(broker, name, {0: 0, 1: 0}) == (10 + 5 + 1 + 2) / 2


def test_only_the_first_records_of_the_range_are_looked_at(broker: KafkaSettings, topic: TopicFactory):
    name = topic()
    sizes = [1000] * 5 + [10] * 20 + [1000] * 500
    send(broker, name, [Record(b"x" * size) for size in sizes])
    assert sample_record_bytes(broker, name, {0: 5}) == 10


def test_nothing_unread_has_no_size_and_no_age(broker: KafkaSettings, topic: TopicFactory):
    name = topic(partitions=2)
    send(broker, name, [Record(b"read", partition=0)])
    assert sample_record_bytes(broker, name, {0: 1, 1: 0}) == 0
    assert oldest_unread_time(broker, name, {0: 1, 1: 0}) is None


def test_age_is_that_of_the_oldest_unread_record_of_all_partitions(broker: KafkaSettings, topic: TopicFactory):
    name = topic(partitions=2)
    producer = Producer(client_config(broker))
    for partition, milliseconds in ((0, 1_000), (0, 50_000), (1, 20_000), (1, 90_000)):
        producer.produce(name, b"x", partition=partition, timestamp=milliseconds)
    producer.flush()
    assert oldest_unread_time(broker, name, {0: 0, 1: 0}) == datetime.fromtimestamp(1, UTC)
    assert oldest_unread_time(broker, name, {0: 1, 1: 0}) == datetime.fromtimestamp(20, UTC)
    assert oldest_unread_time(broker, name, {0: 1}) == datetime.fromtimestamp(50, UTC)


def test_times_that_no_calendar_has(broker: KafkaSettings, topic: TopicFactory):
    """A producer may write any number as a timestamp, and the age is asked before every run."""
    name = topic(partitions=2, config={"message.timestamp.after.max.ms": str(2**63 - 1)})
    producer = Producer(client_config(broker))
    for partition, milliseconds in ((0, -(10**15)), (1, 10**15)):
        producer.produce(name, b"x", partition=partition, timestamp=milliseconds)
    producer.flush()
    assert oldest_unread_time(broker, name, {1: 0}) == datetime(9999, 12, 31, tzinfo=UTC)
    assert oldest_unread_time(broker, name, {0: 0, 1: 0}) in (
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, tzinfo=UTC),  # a client library may take a negative time as none
    )


def test_a_position_that_is_gone_counts_from_the_earliest_that_is_left(broker: KafkaSettings, topic: TopicFactory):
    name = topic(config={"cleanup.policy": "delete"})
    send(broker, name, [Record(b"x" * 7)] * 3)
    assert sample_record_bytes(broker, name, {0: -5}) == 7
