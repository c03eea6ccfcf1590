"""A look at the first unread records of a topic: how large they are, and since when they wait."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaError, Message, TopicPartition

from lakehouse.engines.kafka.clients import ConsumerValue, onlooker_config
from lakehouse.engines.kafka.connection import LIBRDKAFKA_LOG, TIMEOUT, BrokerUnreachable, Connection
from lakehouse.engines.kafka.topics import read_topic
from lakehouse.settings import KafkaSettings

_FIRST_MS, _LAST_MS = (
    int(end.timestamp()) * 1000 for end in (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC))
)
_PACKED = (KafkaError._BAD_COMPRESSION, KafkaError._BAD_MSG)  # noqa: SLF001
SAMPLE = 20  # records per partition: enough for a mean that bounds a run, few enough to cost one fetch


def sample_record_bytes(kafka: KafkaSettings, topic: str, starts: Mapping[int, int]) -> float:
    """Mean size (key, value and headers) of the first records from `starts` on; 0.0 if there are none to read.

    Records from one on that is too large to be unpacked, or broken, are not in the sample: the run will name it.

    Args:
        kafka: How to reach the cluster.
        topic: The topic.
        starts: The offset of the first record of interest, for each partition of interest.
    """
    first = _first(kafka, topic, starts, SAMPLE, packed=True)
    sizes = [_size(message) for messages in first.values() for message in messages]
    return sum(sizes) / len(sizes) if sizes else 0.0


def oldest_unread_time(kafka: KafkaSettings, topic: str, positions: Mapping[int, int]) -> datetime | None:
    """When the oldest record at or after the positions was produced; None if nothing is unread.

    Args:
        kafka: How to reach the cluster.
        topic: The topic.
        positions: The next offset to read of each partition.
    """
    timestamps = [
        message.timestamp() for messages in _first(kafka, topic, positions, 1).values() for message in messages
    ]
    times = [milliseconds for kind, milliseconds in timestamps if kind != TIMESTAMP_NOT_AVAILABLE]
    return _moment(min(times)) if times else None


def _moment(milliseconds: int) -> datetime:
    """The moment, or the first or last that a datetime can say: a producer may send any number as a timestamp."""
    return datetime.fromtimestamp(min(max(milliseconds, _FIRST_MS), _LAST_MS) / 1000, UTC)


def _first(
    kafka: KafkaSettings, topic: str, starts: Mapping[int, int], limit: int, *, packed: bool = False
) -> dict[int, list[Message]]:
    """Up to `limit` committed records of each partition, from its start (or the earliest that is left) on.

    With `packed`, a partition may end before a record that cannot be unpacked.
    """
    limits = read_topic(kafka, topic).partitions
    unread = {
        partition: max(start, limits[partition].earliest)
        for partition, start in starts.items()
        if partition in limits and start < limits[partition].last_stable
    }
    if not unread:
        return {}
    consumer = Consumer(_config(kafka), logger=LIBRDKAFKA_LOG)
    try:
        consumer.assign([TopicPartition(topic, partition, offset) for partition, offset in unread.items()])
        return _collect(consumer, kafka, topic, set(unread), limit, packed=packed)
    finally:
        consumer.close()


def _collect(
    consumer: Consumer, kafka: KafkaSettings, topic: str, unread: set[int], limit: int, *, packed: bool
) -> dict[int, list[Message]]:
    collected: dict[int, list[Message]] = {partition: [] for partition in unread}
    deadline = time.monotonic() + TIMEOUT
    while unread:
        messages = consumer.consume(num_messages=limit * len(unread), timeout=0.5)
        if not messages and time.monotonic() > deadline:
            raise BrokerUnreachable(
                f"No record of topic {topic} came from {kafka.bootstrap_servers} in {TIMEOUT:.0f} s."
            )
        for message in messages:
            partition = message.partition()
            if partition not in unread:
                continue
            error = message.error()
            if error is None:
                collected[partition].append(message)
            elif error.code() != KafkaError._PARTITION_EOF and not (packed and error.code() in _PACKED):  # noqa: SLF001
                with Connection(kafka) as connection:
                    raise connection.explained(error, topic)
            if error is not None or len(collected[partition]) == limit:
                unread.discard(partition)
                consumer.pause([TopicPartition(topic, partition)])
    return collected


def _config(kafka: KafkaSettings) -> dict[str, ConsumerValue]:
    """An onlooker that fetches little."""
    return {
        **onlooker_config(kafka, "peek"),
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",  # retention may overtake us between the question and the fetch
        "max.partition.fetch.bytes": 65536,
        "queued.min.messages": SAMPLE,
        "fetch.queue.backoff.ms": 0,
        "fetch.wait.max.ms": 50,
    }


def _size(message: Message) -> int:
    headers = message.headers() or []
    parts = [message.key(), message.value(), *(part for header in headers for part in header)]
    return sum(len(part) for part in parts if part is not None)
