"""A second look at offsets that brought no record: is there one after all, and if not, why can that be?

A topic's configuration says whether it is compacted. Nothing says whether its producers write in transactions, so the
log itself is asked. A reader of committed records gets whatever a run should have got. One that reads the uncommitted
as well gets the records of aborted transactions too. The markers that end a transaction nobody gets; but a consumer's
position moves beyond them, where at an offset that is not in the log it stays until a later record comes.
"""

import time
from collections.abc import Iterable
from types import TracebackType
from typing import NamedTuple, Self

from confluent_kafka import Consumer, KafkaError, TopicPartition

from lakehouse.engines.kafka.clients import ConsumerValue, onlooker_config
from lakehouse.engines.kafka.connection import LIBRDKAFKA_LOG, TIMEOUT, BrokerUnreachable, Connection
from lakehouse.engines.kafka.topics import topic_config
from lakehouse.settings import KafkaSettings

_TRIES = 3  # a marker is passed unseen where the next record comes in the very moment between two polls
_PAUSE = 0.02


class OffsetGap(NamedTuple):
    """Offsets from `start` up to, not including, `end` that brought no record."""

    partition: int
    start: int
    end: int


def cleanup_policy(kafka: KafkaSettings, topic: str) -> str:
    """The topic's `cleanup.policy`: `delete`, `compact`, or both with a comma.

    Raises:
        BrokerUnreachable: No broker answered.
        TopicMissing: There is no such topic.
        KafkaRefused: We may not ask for a topic's configuration.
    """
    return topic_config(kafka, topic)["cleanup.policy"]


def readable(kafka: KafkaSettings, topic: str, gaps: Iterable[OffsetGap]) -> dict[OffsetGap, int]:
    """Gap → the first offset in it that has a committed record, of those that have one.

    Raises:
        BrokerUnreachable: None of the questions was answered.
    """
    requested, answers = list(gaps), 0
    offsets: dict[OffsetGap, int] = {}
    with _Reader(kafka, topic, "read_committed", fetch_bytes=1 << 20) as reader:
        for gap in requested:
            reader.begin_at(gap)
            message = reader.poll(TIMEOUT)
            answers += message is not None
            if message is not None and message.record and message.offset < gap.end:
                offsets[gap] = message.offset
    if requested and not answers:
        raise BrokerUnreachable(
            f"Nothing of topic {topic} came from {kafka.bootstrap_servers} in {len(requested) * TIMEOUT:.0f} s."
        )
    return offsets


def transactional(kafka: KafkaSettings, topic: str, gaps: Iterable[OffsetGap]) -> OffsetGap | None:
    """The first gap that a transaction explains: by its marker, or by its records that were aborted.

    Args:
        kafka: How to reach the cluster.
        topic: The topic.
        gaps: Offsets without a committed record, see `readable`.
    """
    # The least that can be asked for is one batch, and a marker is a batch. While it waits to be taken, no other is
    # fetched, so that a position behind the marker can be seen before the next record moves it on.
    with _Reader(kafka, topic, "read_uncommitted", fetch_bytes=1) as reader:
        return next((gap for gap in gaps if any(_explained(reader, gap) for _ in range(_TRIES))), None)


def _explained(reader: "_Reader", gap: OffsetGap) -> bool:
    """Whether an uncommitted record is in the gap, or the position moves into it without one."""
    reader.begin_at(gap)
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        message = reader.poll(0)
        if message is not None and message.record:
            return message.offset < gap.end
        if gap.start < reader.position(gap) <= gap.end:
            return True
        if message is not None:
            return False
        time.sleep(_PAUSE)
    return False


class _Message(NamedTuple):
    """A record, or the end of the log."""

    offset: int
    record: bool


class _Reader:
    """A consumer that belongs to no group and stores no offset."""

    def __init__(self, kafka: KafkaSettings, topic: str, isolation: str, *, fetch_bytes: int) -> None:
        self._kafka, self._topic = kafka, topic
        config: dict[str, ConsumerValue] = {
            **onlooker_config(kafka, "second-look"),
            "isolation.level": isolation,
            "auto.offset.reset": "earliest",  # retention may overtake us between the question and the fetch
            "max.partition.fetch.bytes": fetch_bytes,
            "queued.min.messages": 1,
            "fetch.wait.max.ms": 50,
        }
        self._consumer = Consumer(config, logger=LIBRDKAFKA_LOG)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._consumer.close()

    def begin_at(self, gap: OffsetGap) -> None:
        """Read on from the start of a gap, and from nowhere else."""
        self._consumer.assign([TopicPartition(self._topic, gap.partition, gap.start)])

    def position(self, gap: OffsetGap) -> int:
        """The offset after the last thing that was handled; negative before the first."""
        return self._consumer.position([TopicPartition(self._topic, gap.partition)])[0].offset

    def poll(self, seconds: float) -> _Message | None:
        """What comes next, or None where nothing came in time."""
        message = self._consumer.poll(seconds)
        if message is None:
            return None
        error = message.error()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001
            with Connection(self._kafka) as connection:
                raise connection.explained(error, self._topic)
        offset = message.offset()
        assert offset is not None  # both have one
        return _Message(offset, record=error is None)
