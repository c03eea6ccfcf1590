"""Looks for a record that is too large for Spark, without Spark: a plain consumer that unpacks no more than a limit.

A record of 600 MB that packs to 60 kB passes every broker, and ends the memory of whoever unpacks it. Of zstd, the
consumer refuses to unpack a batch that is larger than its limit, and says at which offset; what is packed otherwise it
unpacks, a batch at a time, and the record's size is seen.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from lakehouse.engines.kafka.clients import ConsumerValue, onlooker_config
from lakehouse.engines.kafka.connection import LIBRDKAFKA_LOG, Connection
from lakehouse.settings import KafkaSettings

LIMIT = 64 << 20  # bytes of a record: more has no place in a heap of a gigabyte, several times over
MOST_SECONDS = 30.0
_FETCHED = 4 << 20
_AT_ONCE = 500


@dataclass(frozen=True)
class Oversized:
    """The first record of its partition that is too large."""

    partition: int
    offset: int


def first_oversized(
    kafka: KafkaSettings,
    topic: str,
    ranges: Mapping[int, tuple[int, int]],
    *,
    limit: int = LIMIT,
    seconds: float = MOST_SECONDS,
) -> Oversized | None:
    """Look through ranges of a topic for a record that is too large.

    Args:
        kafka: How to reach the cluster.
        topic: The topic.
        ranges: Partition → from which offset up to, not including, which.
        limit: Bytes that a record may have, unpacked.
        seconds: How long it may take; what is not read by then is not looked at.

    Raises:
        KafkaRefused: The cluster does not let us read.
    """
    consumer = Consumer(_config(kafka, limit), logger=LIBRDKAFKA_LOG)
    ends = {partition: end for partition, (_, end) in ranges.items()}
    following = {partition: start for partition, (start, _) in ranges.items()}
    deadline = time.monotonic() + seconds
    try:
        consumer.assign([TopicPartition(topic, partition, start) for partition, start in following.items()])
        while ends and time.monotonic() < deadline:
            for message in consumer.consume(num_messages=_AT_ONCE, timeout=0.5):
                partition = message.partition()
                if partition not in ends:
                    continue
                if _too_large(message, limit, kafka, topic):
                    offset = message.offset()
                    return Oversized(partition, offset if offset is not None and offset >= 0 else following[partition])
                following[partition] = (message.offset() or 0) + 1
                if message.error() is not None or following[partition] >= ends[partition]:
                    del ends[partition]
                    consumer.pause([TopicPartition(topic, partition)])
        return None
    finally:
        consumer.close()


def _too_large(message: Message, limit: int, kafka: KafkaSettings, topic: str) -> bool:
    error = message.error()
    if error is None:
        return sum(len(part) for part in (message.key(), message.value()) if part is not None) > limit
    if error.code() == KafkaError._BAD_COMPRESSION:  # noqa: SLF001
        return True
    if error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001
        with Connection(kafka) as connection:
            raise connection.explained(error, topic)
    return False


def _config(kafka: KafkaSettings, limit: int) -> dict[str, ConsumerValue]:
    """An onlooker that unpacks no more than the limit."""
    return {
        **onlooker_config(kafka, "peek"),
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",  # retention may overtake us
        "receive.message.max.bytes": limit,
        "fetch.max.bytes": _FETCHED,
        "max.partition.fetch.bytes": _FETCHED // 4,
        "message.max.bytes": _FETCHED // 4,  # fetch.max.bytes may not be less
        "queued.max.messages.kbytes": 16384,
    }
