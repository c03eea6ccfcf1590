import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from lakehouse.engines.kafka import (
    BrokerUnreachable,
    PartitionRange,
    Record,
    TopicMissing,
    client_config,
    create_topic,
    offsets_at,
    read_topic,
    send,
    topic_names,
)
from lakehouse.settings import KafkaSettings
from lakehouse_tests.fixtures.broker import TopicFactory

pytestmark = pytest.mark.kafka


@contextmanager
def open_transaction(broker: KafkaSettings, topic: str) -> Iterator[Producer]:
    producer = Producer({**client_config(broker), "transactional.id": f"of-{topic}"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, b"not yet")
    producer.flush()
    yield producer
    producer.abort_transaction()


def test_an_empty_topic_has_empty_ranges(broker: KafkaSettings, topic: TopicFactory):
    state = read_topic(broker, topic(partitions=3))
    assert state.partitions == {number: PartitionRange(0, 0) for number in range(3)}
    assert state.cluster_id
    assert state.topic_id


def test_ranges_grow_with_what_is_sent(broker: KafkaSettings, topic: TopicFactory):
    name = topic(partitions=2)
    assert send(broker, name, [Record(b"x", partition=1), Record(b"y", partition=1), Record(None, partition=0)]) == 3
    assert read_topic(broker, name).partitions == {0: PartitionRange(0, 1), 1: PartitionRange(0, 2)}


def test_the_end_is_the_last_stable_offset_while_a_transaction_is_open(broker: KafkaSettings, topic: TopicFactory):
    name = topic()
    send(broker, name, [Record(b"committed")])
    with open_transaction(broker, name) as producer:
        assert read_topic(broker, name).partitions[0] == PartitionRange(0, 1)
        producer.commit_transaction()
        deadline = time.monotonic() + 60
        while read_topic(broker, name).partitions[0].last_stable < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert read_topic(broker, name).partitions[0] == PartitionRange(0, 3)  # two records and the commit marker
        producer.begin_transaction()


def test_a_topic_created_again_has_another_identity(broker: KafkaSettings, topic: TopicFactory):
    name = topic()
    before = read_topic(broker, name)
    assert create_topic(broker, name, 1) == before  # creating an existing one changes nothing
    with AdminClient(client_config(broker)) as admin:
        admin.delete_topics([name])[name].result()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        after = create_topic(broker, name, 1)
        if after.topic_id != before.topic_id:
            break
    assert after.cluster_id == before.cluster_id
    assert after.topic_id != before.topic_id


def test_a_missing_topic_is_named(broker: KafkaSettings):
    with pytest.raises(TopicMissing, match=f"no-such-topic .*{broker.bootstrap_servers}"):
        read_topic(broker, "no-such-topic")


def test_a_missing_broker_is_named_within_seconds():
    with pytest.raises(BrokerUnreachable, match=r"127\.0\.0\.1:1 \(asked for topic flights\): .*refused.*lakehouse up"):
        read_topic(KafkaSettings(bootstrap_servers="127.0.0.1:1"), "flights")


def test_offsets_at_a_moment(broker: KafkaSettings, topic: TopicFactory):
    name = topic(partitions=2)
    send(broker, name, [Record(b"early", partition=0)])
    time.sleep(0.1)
    moment = datetime.now(UTC)
    time.sleep(0.1)
    send(broker, name, [Record(b"late", partition=0)])
    assert offsets_at(broker, name, moment) == {0: 1, 1: 0}
    assert offsets_at(broker, name, datetime(2000, 1, 1, tzinfo=UTC)) == {0: 0, 1: 0}
    assert offsets_at(broker, name, datetime(2100, 1, 1, tzinfo=UTC)) == {0: 2, 1: 0}


def threads_of_librdkafka() -> int:
    return sum(task.read_text().startswith("rdk:") for task in Path("/proc/self/task").glob("*/comm"))


def test_nothing_of_a_question_is_left_to_garbage_collection(broker: KafkaSettings, topic: TopicFactory):
    gc.collect()
    gc.disable()
    try:
        before = threads_of_librdkafka()
        name = topic()
        read_topic(broker, name)
        offsets_at(broker, name, datetime.now(UTC))
        assert name in topic_names(broker)
        with pytest.raises(TopicMissing):
            read_topic(broker, "no-such-topic")
        with pytest.raises(BrokerUnreachable):
            read_topic(KafkaSettings(bootstrap_servers="127.0.0.1:1"), "flights")
        assert threads_of_librdkafka() == before
    finally:
        gc.enable()


def test_a_moment_without_zone_is_refused(broker: KafkaSettings):
    with pytest.raises(ValueError, match="no time zone"):
        offsets_at(broker, "any", datetime(2013, 1, 1))  # noqa: DTZ001
