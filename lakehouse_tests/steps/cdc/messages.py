"""Messages as they are in Kafka: read back whole, kept as JSON lines, loaded again where there is no broker."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka import Message as Received
from tenacity import retry, retry_if_exception, stop_after_delay, wait_fixed

from lakehouse.engines.kafka.connection import BUSY
from lakehouse.settings import KafkaSettings

RECORDED = Path(__file__).parent / "recorded"


@dataclass(frozen=True)
class Message:
    """One message. Connect's JSON converter writes text in all parts, so they are kept as text."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: str | None
    value: str | None
    headers: tuple[tuple[str, str | None], ...]

    @cached_property
    def key_document(self) -> Any:
        """The key as JSON, without its schema."""
        return _payload(self.key)

    @cached_property
    def document(self) -> Any:
        """The value as JSON, without its schema; None for a tombstone."""
        return _payload(self.value)

    def header(self, name: str) -> str | None:
        """The last header of that name."""
        return dict(self.headers).get(name)


def read_topics(kafka: KafkaSettings, prefix: str) -> Iterator[Message]:
    """Every message that is now in the topics of a connector, by topic, partition and offset."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "reads-only",
            "enable.auto.commit": False,
            "enable.partition.eof": False,
        }
    )
    try:
        topics = consumer.list_topics(timeout=30).topics
        for name in sorted(name for name in topics if name.removeprefix("__debezium-heartbeat.").startswith(prefix)):
            for partition in sorted(topics[name].partitions):
                yield from _read_partition(consumer, name, partition)
    finally:
        consumer.close()


def save(path: Path, messages: Iterable[Message]) -> None:
    """Write messages as JSON lines."""
    lines = (json.dumps(asdict(message), ensure_ascii=False) + "\n" for message in messages)
    path.write_text("".join(lines), encoding="utf-8")


def recorded(name: str) -> list[Message]:
    """Messages of a real connector, from `recorded/<name>.jsonl`; `record.py` says what happened at the source."""
    messages: list[Message] = []
    for line in (RECORDED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        fields = json.loads(line)
        headers = tuple((header, value) for header, value in fields.pop("headers"))
        messages.append(Message(headers=headers, **fields))
    return messages


def _read_partition(consumer: Consumer, topic: str, partition: int) -> Iterator[Message]:
    end = _end(consumer, topic, partition)
    consumer.assign([TopicPartition(topic, partition, 0)])
    position = 0
    while position < end:
        received = consumer.poll(30)
        if received is None or received.error() is not None:
            raise TimeoutError(f"{topic}-{partition} stopped at {position} of {end}: {received and received.error()}")
        position = received.offset() + 1
        yield _message(received)


def _is_busy(error: BaseException) -> bool:
    return isinstance(error, KafkaException) and error.args[0].code() in BUSY


@retry(retry=retry_if_exception(_is_busy), stop=stop_after_delay(30), wait=wait_fixed(0.1), reraise=True)
def _end(consumer: Consumer, topic: str, partition: int) -> int:
    """The offset after the last message; of a topic that was made a moment ago the broker denies being the leader."""
    _, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)
    return end


def _message(received: Received) -> Message:
    return Message(
        topic=str(received.topic()),
        partition=int(received.partition()),
        offset=int(received.offset()),
        timestamp=received.timestamp()[1],
        key=_text(received.key()),
        value=_text(received.value()),
        headers=tuple((name, _text(value)) for name, value in received.headers() or ()),
    )


def _text(part: bytes | str | None) -> str | None:
    return part.decode() if isinstance(part, bytes) else part


def _payload(text: str | None) -> Any:
    document = None if text is None else json.loads(text)
    return document["payload"] if isinstance(document, dict) and document.keys() == {"schema", "payload"} else document
