"""Sending many messages: idempotent, compressed, in order, with a bar to look at; a message that fails stops it."""

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from lakehouse.engines.kafka.clients import client_config
from lakehouse.engines.kafka.connection import LIBRDKAFKA_LOG
from lakehouse.engines.kafka.topics import read_topic
from lakehouse.errors import LakehouseError
from lakehouse.settings import KafkaSettings

CHUNK = 5_000
ANY_PARTITION = -1

SETTINGS: Mapping[str, str | int | bool] = {
    "enable.idempotence": True,
    # What arrived in a partition is always a prefix of what was sent to it, also after a crash: the demo relies on it.
    "enable.gapless.guarantee": True,
    "compression.type": "lz4",
    "linger.ms": 50,
    "batch.size": 1_000_000,
    "queue.buffering.max.messages": 200_000,
    "queue.buffering.max.kbytes": 262_144,
    "delivery.timeout.ms": 60_000,
    "delivery.report.only.error": True,
}


class NotDelivered(LakehouseError):
    """The cluster did not take a message."""


class Record(NamedTuple):
    """A message to send."""

    value: bytes | None
    key: bytes | None = None
    partition: int = ANY_PARTITION
    headers: tuple[tuple[str, bytes], ...] = ()


def send(
    kafka: KafkaSettings,
    topic: str,
    records: Iterable[Record],
    *,
    total: int | None = None,
    console: Console | None = None,
) -> int:
    """Send records to a topic that exists, and return how many were sent once the cluster has acknowledged all.

    Args:
        kafka: How to reach the cluster.
        topic: The topic.
        records: What to send, in order; records of one partition arrive in this order.
        total: How many there are, for the progress bar.
        console: Where progress is shown; nowhere if None.

    Raises:
        NotDelivered: A message was not taken. Those before it in its partition were.
        TopicMissing: There is no such topic.
        BrokerUnreachable: No broker answered.
    """
    read_topic(kafka, topic)  # librdkafka would wait a minute for a topic that does not exist
    iterator = iter(records)
    sent = 0
    with _shipment(kafka, topic) as shipment, _progress(console) as progress:
        task: TaskID = progress.add_task(f"messages to {topic}", total=total)
        while chunk := list(islice(iterator, CHUNK)):
            shipment.add(chunk)
            sent += len(chunk)
            progress.update(task, completed=sent)
        shipment.finish()
        progress.update(task, total=sent)
    return sent


@contextmanager
def _shipment(kafka: KafkaSettings, topic: str) -> Generator["_Shipment"]:
    """A producer that is closed by us, and not by garbage collection.

    It and its callbacks hold each other, so it may be collected in a thread of librdkafka's that asks us for a token:
    librdkafka then aborts the process.
    """
    shipment = _Shipment(kafka, topic)
    try:
        yield shipment
    finally:
        shipment.close()


class _Shipment:
    def __init__(self, kafka: KafkaSettings, topic: str) -> None:
        self._servers = kafka.bootstrap_servers
        self._topic = topic
        self._failure: str | None = None
        self._producer = Producer({**client_config(kafka), **SETTINGS, "error_cb": self._broken}, logger=LIBRDKAFKA_LOG)

    def add(self, records: list[Record]) -> None:
        for record in records:
            while not self._queued(record):
                self._served(self._producer.poll, 0.1)
        self._served(self._producer.poll, 0)

    def finish(self) -> None:
        while self._served(self._producer.flush, 1.0):
            pass

    def close(self) -> None:
        """End it; what was not delivered is dropped, for it is told."""
        self._producer.purge()
        self._producer.close()

    def _queued(self, record: Record) -> bool:
        try:
            self._producer.produce(
                self._topic,
                value=record.value,
                key=record.key,
                partition=record.partition,
                headers=list(record.headers) or None,
                on_delivery=self._failed,
            )
        except BufferError:  # the queue is full: the network is slower than we are
            return False
        return True

    def _failed(self, error: KafkaError | None, message: Message) -> None:
        if error is not None and self._failure is None:
            self._failure = f"partition {message.partition()}: {error.str()} ({error.name()})"

    def _broken(self, error: KafkaError) -> None:
        """Remember what ended the producer for good; other errors, a broker away for a while, librdkafka mends."""
        if error.fatal() and self._failure is None:
            self._failure = error.str()

    def _served(self, serve: Callable[[float], int], seconds: float) -> int:
        """Let librdkafka report, and complain about what it reported."""
        remaining = 0
        try:
            remaining = serve(seconds)
        except (KafkaException, SystemError) as error:
            # A fatal error may also be raised out of here: as the cause of another one, or without any word of its own.
            self._failure = self._failure or str(error.__cause__ or error)
        if self._failure is not None:
            raise NotDelivered(
                f"A message for topic {self._topic} at {self._servers} was not delivered: {self._failure}."
            )
        return remaining


def _progress(console: Console | None) -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        disable=console is None,
    )
