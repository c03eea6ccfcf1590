"""Reads whole records of some ranges of a topic, in this process: for a look at few of them, not for an ingest."""

import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, TopicPartition

from lakehouse.engines.kafka.clients import onlooker_config
from lakehouse.engines.kafka.connection import LIBRDKAFKA_LOG, TIMEOUT, BrokerUnreachable, Connection
from lakehouse.settings import KafkaSettings

_BATCH = 1_000


class StoredRecord(NamedTuple):
    """A committed record."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


def record_values(kafka: KafkaSettings, topic: str, ranges: Mapping[int, tuple[int, int]]) -> Iterator[StoredRecord]:
    """The committed records of one range of each partition, partition by partition.

    Args:
        kafka: how to reach the cluster.
        topic: the topic.
        ranges: partition → first offset, and the offset after the last; which is the last stable one at most.

    Raises:
        BrokerUnreachable: nothing came in time.
    """
    wanted = {partition: span for partition, span in sorted(ranges.items()) if span[0] < span[1]}
    if not wanted:
        return
    config = {**onlooker_config(kafka, "values"), "isolation.level": "read_committed", "auto.offset.reset": "earliest"}
    consumer = Consumer(config, logger=LIBRDKAFKA_LOG)
    try:
        for partition, (start, end) in wanted.items():
            consumer.assign([TopicPartition(topic, partition, start)])
            yield from _read(consumer, kafka, topic, partition, end)
    finally:
        consumer.close()


def _read(consumer: Consumer, kafka: KafkaSettings, topic: str, partition: int, end: int) -> Iterator[StoredRecord]:
    deadline = time.monotonic() + TIMEOUT
    while True:
        messages = consumer.consume(_BATCH, timeout=0.2)
        if messages:
            deadline = time.monotonic() + TIMEOUT
        elif time.monotonic() > deadline:
            raise BrokerUnreachable(
                f"Nothing of topic {topic}, partition {partition}, came from {kafka.bootstrap_servers} in "
                f"{TIMEOUT:.0f} s."
            )
        for message in messages:
            error, offset = message.error(), message.offset()
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                    return
                with Connection(kafka) as connection:
                    raise connection.explained(error, topic)
            if offset is None or offset >= end:
                return
            yield StoredRecord(partition, offset, message.key(), message.value())
            if offset == end - 1:
                return
