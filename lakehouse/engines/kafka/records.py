"""Reads through ranges of a topic: at which offsets a committed record is, and whether it has a value, or which."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from lakehouse.engines.kafka.clients import onlooker_config
from lakehouse.engines.kafka.connection import LIBRDKAFKA_LOG, TIMEOUT, BrokerUnreachable, Connection
from lakehouse.engines.kafka.second_look import OffsetGap
from lakehouse.engines.kafka.topics import read_topic
from lakehouse.errors import LakehouseError
from lakehouse.settings import KafkaSettings

_BATCH = 10_000
_NEAR = 20_000  # offsets that are read over rather than sought behind: one more seek costs as much


class RecordsLetGo(LakehouseError):
    """Kafka has let records go while they were being read."""


class CommittedRecords(NamedTuple):
    """Some of the committed records of a partition.

    Attributes:
        partition: of the topic.
        offsets: of these records.
        has_value: of each, whether it has a value; one without is a tombstone.
    """

    partition: int
    offsets: npt.NDArray[np.int64]
    has_value: npt.NDArray[np.bool_]


def record_offsets(kafka: KafkaSettings, topic: str, ranges: Iterable[OffsetGap]) -> Iterator[CommittedRecords]:
    """The committed records within some ranges, batch by batch.

    Args:
        kafka: how to reach the cluster.
        topic: the topic.
        ranges: which do not overlap, and end at the last stable offset at most.

    Raises:
        BrokerUnreachable: nothing came in time.
        RecordsLetGo: records of a range were let go meanwhile.
        TopicMissing: there is no such topic.
    """
    wanted = sorted(ranges)
    if not wanted:
        return
    config = {**onlooker_config(kafka, "records"), "isolation.level": "read_committed", "auto.offset.reset": "earliest"}
    consumer = Consumer(config, logger=LIBRDKAFKA_LOG)
    try:
        for span, edges in _joined(wanted):
            yield from _read(consumer, kafka, topic, span, edges)
    finally:
        consumer.close()
    earliest = {partition: limits.earliest for partition, limits in read_topic(kafka, topic).partitions.items()}
    for gap in wanted:
        if gap.start < earliest[gap.partition]:
            raise RecordsLetGo(
                f"Topic {topic}, partition {gap.partition}: records from offset {gap.start} on were let go while they "
                "were being read.",
                remedy="say the same again",
            )


_Edges = npt.NDArray[np.int64]


def _joined(ranges: list[OffsetGap]) -> Iterator[tuple[OffsetGap, _Edges]]:
    """What is read in one go, each with the edges of the ranges in it."""
    together: list[list[OffsetGap]] = []
    for gap in ranges:
        last = together[-1][-1] if together else None
        if last is not None and last.partition == gap.partition and gap.start - last.end <= _NEAR:
            together[-1].append(gap)
        else:
            together.append([gap])
    for gaps in together:
        edges = np.array([edge for gap in gaps for edge in (gap.start, gap.end)], np.int64)
        yield OffsetGap(gaps[0].partition, gaps[0].start, gaps[-1].end), edges


def _read(
    consumer: Consumer, kafka: KafkaSettings, topic: str, span: OffsetGap, edges: _Edges
) -> Iterator[CommittedRecords]:
    """The records of a span that lie between edges 0 and 1, 2 and 3, and so on."""
    consumer.assign([TopicPartition(topic, span.partition, span.start)])
    for messages in _batches(consumer, kafka, topic, span.partition, _BATCH):
        records = [message for message in messages if not _is_end(kafka, topic, message)]
        offsets = np.array([message.offset() for message in records], np.int64)
        at_end = len(records) < len(messages) or bool((offsets >= span.end - 1).any())
        inside = np.searchsorted(edges, offsets, side="right") % 2 == 1
        has_value = np.array([message.value() is not None for message in records], np.bool_)
        if inside.any():
            yield CommittedRecords(span.partition, offsets[inside], has_value[inside])
        if at_end:
            return


def _batches(
    consumer: Consumer, kafka: KafkaSettings, topic: str, partition: int, most: int
) -> Iterator[Sequence[Message]]:
    """What comes of the partition that is assigned, batch by batch, for as long as somebody asks.

    Raises:
        BrokerUnreachable: nothing came in time.
    """
    deadline = time.monotonic() + TIMEOUT
    while True:
        messages = consumer.consume(most, timeout=0.2)
        if messages:
            deadline = time.monotonic() + TIMEOUT
            yield messages
        elif time.monotonic() > deadline:
            raise BrokerUnreachable(
                f"Nothing of topic {topic}, partition {partition}, came from {kafka.bootstrap_servers} in "
                f"{TIMEOUT:.0f} s."
            )


def _is_end(kafka: KafkaSettings, topic: str, message: Message) -> bool:
    error = message.error()
    if error is None:
        return False
    if error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001
        with Connection(kafka) as connection:
            raise connection.explained(error, topic)
    return True


class StoredRecord(NamedTuple):
    """A committed record."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()


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
            yield from _values(consumer, kafka, topic, partition, end)
    finally:
        consumer.close()


def _values(consumer: Consumer, kafka: KafkaSettings, topic: str, partition: int, end: int) -> Iterator[StoredRecord]:
    for messages in _batches(consumer, kafka, topic, partition, 1_000):
        for message in messages:
            offset = message.offset()
            if _is_end(kafka, topic, message) or offset is None or offset >= end:
                return
            headers = tuple((name, _as_bytes(value)) for name, value in message.headers() or ())
            yield StoredRecord(partition, offset, message.key(), message.value(), headers)
            if offset == end - 1:
                return


def _as_bytes(value: str | bytes | None) -> bytes:
    """A header's value; one that is null has none."""
    return value.encode() if isinstance(value, str) else value or b""
