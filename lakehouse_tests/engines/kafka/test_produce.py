import io
import os

import pytest
from confluent_kafka import Consumer, TopicPartition
from rich.console import Console

from lakehouse.engines.kafka import NotDelivered, Record, TopicMissing, client_config, produce, send
from lakehouse.settings import KafkaSettings
from lakehouse_tests.fixtures.broker import SHIPPED, TopicFactory

pytestmark = pytest.mark.kafka


@pytest.fixture(autouse=True)
def as_shipped(broker: KafkaSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The producer as everybody has it; other tests send at once."""
    monkeypatch.setattr(produce, "SETTINGS", SHIPPED)


def values(broker: KafkaSettings, topic: str, partition: int, count: int) -> list[bytes | None]:
    consumer = Consumer({**client_config(broker), "group.id": "test", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(topic, partition, 0)])
    messages = consumer.consume(count, timeout=60)
    consumer.close()
    return [message.value() for message in messages]


def test_each_partition_holds_its_records_in_the_order_sent(broker: KafkaSettings, topic: TopicFactory):
    name = topic(partitions=3)
    records = [Record(str(number).encode(), partition=number % 3) for number in range(30_000)]
    shown = io.StringIO()
    assert send(broker, name, records, total=30_000, console=Console(file=shown)) == 30_000
    for partition in range(3):
        assert values(broker, name, partition, 10_000) == [str(n).encode() for n in range(partition, 30_000, 3)]
    assert "30000/30000" in shown.getvalue()


def test_a_message_that_is_not_taken_is_an_error(broker: KafkaSettings, topic: TopicFactory):
    name = topic(config={"max.message.bytes": "2000"})
    with pytest.raises(
        NotDelivered, match=f"{name} at {broker.bootstrap_servers} was not delivered.*[Ss]ize too large"
    ):
        send(broker, name, [Record(os.urandom(5000)), Record(b"small")])


def test_a_topic_that_does_not_exist_is_an_error_at_once(broker: KafkaSettings):
    with pytest.raises(TopicMissing):
        send(broker, "nobody-made-this", [Record(b"x")])
