"""Was a log cut below a position and filled again, so that other records have the offsets of those that were read?

Kafka gives every leader of a partition a number, its epoch, and a log is cut only where another leader begins. So where
the epoch is that of the position, nothing can have happened, and nobody is asked. Where it is another, the broker is
asked at which offset the position's epoch ended (KIP-320). A consumer does it that is assigned position and epoch.
"""

import time
from collections.abc import Mapping
from dataclasses import replace

from confluent_kafka import Consumer, KafkaError, TopicPartition

from lakehouse.engines.kafka.clients import ConsumerValue, onlooker_config
from lakehouse.engines.kafka.connection import LIBRDKAFKA_LOG, TIMEOUT, BrokerUnreachable, Connection
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.topics import TopicState
from lakehouse.settings import KafkaSettings

_CUT = (KafkaError._LOG_TRUNCATION, KafkaError._AUTO_OFFSET_RESET)  # noqa: SLF001


def with_truncation(kafka: KafkaSettings, topic: TopicState, previous: KafkaStatement | None) -> TopicState:
    """The same state, with the partitions that were cut below where a stream stands.

    A seal that names no epoch, as one of an older version, is not asked about; nor is another topic, whose offsets say
    nothing of this one, or a log that ends before the position.

    Raises:
        BrokerUnreachable: a partition has had another leader since, and no broker answered.
    """
    if previous is None or (previous.cluster_id, previous.topic_id) != (topic.cluster_id, topic.topic_id):
        return topic
    positions = {
        partition: (end, previous.leader_epochs[partition])
        for partition, end in previous.end.items()
        if partition in previous.leader_epochs
        and topic.leader_epochs.get(partition, previous.leader_epochs[partition]) != previous.leader_epochs[partition]
        and previous.numbers.topic_id(partition) == topic.numbers.topic_id(partition)
        and 0 < end <= topic.partitions[partition].last_stable
        and end >= topic.partitions[partition].earliest
    }
    numbers, cut = topic.numbers, set[int]()
    for name, of_topic in numbers.by_topic(positions).items():
        cut |= {numbers.stream_partition(name, p) for p in truncated(kafka, name, of_topic)}
    return replace(topic, truncated=frozenset(cut)) if positions else topic


def truncated(kafka: KafkaSettings, topic: str, positions: Mapping[int, tuple[int, int]]) -> frozenset[int]:
    """The partitions whose log was cut below a position.

    Args:
        kafka: how to reach the cluster.
        topic: the topic.
        positions: partition → offset, and the leader's epoch when the log was read up to it.

    Raises:
        BrokerUnreachable: a question was not answered.
    """
    consumer = Consumer(_config(kafka), logger=LIBRDKAFKA_LOG)
    try:
        consumer.assign(
            [
                TopicPartition(topic, partition, offset, leader_epoch=epoch)
                for partition, (offset, epoch) in positions.items()
            ]
        )
        return _answers(consumer, kafka, topic, set(positions))
    finally:
        consumer.close()


def _answers(consumer: Consumer, kafka: KafkaSettings, topic: str, asked: set[int]) -> frozenset[int]:
    """A record, or the end of the log, comes only from a position that has stood the question."""
    cut, deadline = set[int](), time.monotonic() + TIMEOUT
    while asked:
        message = consumer.poll(0.5)
        if message is None:
            if time.monotonic() > deadline:
                raise BrokerUnreachable(
                    f"Nothing of topic {topic} came from {kafka.bootstrap_servers} in {TIMEOUT:.0f} s, so nobody can "
                    f"say whether the log of partition(s) {sorted(asked)} was cut."
                )
            continue
        partition, error = message.partition(), message.error()
        if error is not None and error.code() in _CUT and partition in asked:
            cut.add(partition)
        elif error is not None and error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001
            with Connection(kafka) as connection:
                raise connection.explained(error, topic)
        if partition is not None:
            asked.discard(partition)
            # Or it would fill the queue again and again, and the others would never be asked.
            consumer.pause([TopicPartition(topic, partition)])
    return frozenset(cut)


def _config(kafka: KafkaSettings) -> dict[str, ConsumerValue]:
    """An onlooker that says where it would begin elsewhere."""
    return {
        **onlooker_config(kafka, "truncation"),
        "auto.offset.reset": "error",
        "max.partition.fetch.bytes": 1,
        "queued.min.messages": 1,
        "fetch.queue.backoff.ms": 0,
        "fetch.wait.max.ms": 50,
    }
