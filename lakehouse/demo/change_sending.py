"""What a topic still lacks of a history, and a refusal where it has begun with another one."""

import time
from collections.abc import Iterator, Sequence

from confluent_kafka import Consumer, Message, TopicPartition

from lakehouse.demo.changes import FlightChanges
from lakehouse.engines.kafka import BrokerUnreachable, Record, client_config, read_topic
from lakehouse.engines.kafka.connection import LIBRDKAFKA_LOG
from lakehouse.errors import LakehouseError
from lakehouse.settings import KafkaSettings

_PATIENCE = 10.0  # seconds until a broker that does not answer is given up


class AnotherHistory(LakehouseError):
    """A topic has begun with other changes than these, or with the same in another order."""


def missing_changes(kafka: KafkaSettings, topic: str, changes: FlightChanges, ends: Sequence[int]) -> Iterator[Record]:
    """Return the messages that a topic does not hold yet.

    A partition holds the beginning of what belongs there, if its last message is the right one.

    Args:
        kafka: How to reach the cluster.
        topic: The topic.
        changes: What belongs in it.
        ends: The ends of its partitions.

    Raises:
        AnotherHistory: Its last messages are others.
    """
    last_offsets = {part: end - 1 for part, end in enumerate(ends) if 0 < end <= changes.ends[part]}
    for part, message in _messages(kafka, topic, last_offsets).items():
        expected = changes.record(part, last_offsets[part])
        if (message.value(), message.key()) != (expected.value, expected.key):
            raise AnotherHistory(
                f"Topic {topic} at {kafka.bootstrap_servers} holds other changes than these: the message at offset "
                f"{last_offsets[part]} of partition {part} differs.",
                remedy="complete it with the switches of `lakehouse simulate changes` it was begun with, delete "
                "it, or name another --topic.",
            )
    return changes.records(ends)


def _messages(kafka: KafkaSettings, topic: str, offsets: dict[int, int]) -> dict[int, Message]:
    """One message of each partition; those that are deleted by now are left out."""
    limits = read_topic(kafka, topic).partitions
    requested = {part: offset for part, offset in offsets.items() if offset >= limits[part].earliest}
    messages: dict[int, Message] = {}
    # librdkafka demands a group; nobody joins it, and nothing is stored.
    config = {**client_config(kafka), "group.id": f"{kafka.group_prefix}simulate", "enable.auto.commit": False}
    consumer = Consumer(config, logger=LIBRDKAFKA_LOG)
    try:
        consumer.assign([TopicPartition(topic, part, offset) for part, offset in requested.items()])
        deadline = time.monotonic() + _PATIENCE
        while len(messages) < len(requested):
            if time.monotonic() > deadline:
                raise BrokerUnreachable(f"No record of topic {topic} came from {kafka.bootstrap_servers}.")
            for message in consumer.consume(num_messages=len(requested), timeout=0.5):
                part = message.partition()
                if message.error() is None and part is not None and message.offset() == requested[part]:
                    messages[part] = message
    finally:
        consumer.close()
    return messages
