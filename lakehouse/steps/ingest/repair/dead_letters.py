"""Records of a quarantine as dead letters: on a Kafka topic, in the form in which Kafka Connect's sinks leave theirs.

The headers are those of `errors.deadletterqueue.context.headers.enable`: `__connect.errors.topic`, `.partition`,
`.offset`, and others of the error. Key, value and headers are as they came.

A record whose topic, partition and offset a record of the dead-letter topic has already is not sent again. Kafka has no
way to look and send in one step: two exports at one moment, or one whose answer was lost, may leave a record twice. So
each record is there at least once, and whoever reads knows a repetition by these three headers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan

from lakehouse.engines.kafka import Record, read_topic, send
from lakehouse.engines.kafka.records import record_values
from lakehouse.proofs.audit.coordinates import OFFSET, PARTITION
from lakehouse.protocol.seals.base import Base
from lakehouse.settings import KafkaSettings

PREFIX = "__connect.errors."
_PLACE = tuple(f"{PREFIX}{part}" for part in ("topic", "partition", "offset"))
_COLUMNS = ("key", "value", "headers", "error_class", "error_message", "run_id", "_kafka_topic", PARTITION, OFFSET)
Place = tuple[bytes, bytes, bytes]
"""Topic, partition and offset, as their headers have them."""


@dataclass(frozen=True)
class DeadLetters:
    """What is to be sent.

    Args:
        records: that the dead-letter topic does not have.
        present: how many it has.
    """

    records: Sequence[Record]
    present: int


def find_dead_letters(kafka: KafkaSettings, stream: str, quarantine: Base, topic: str) -> DeadLetters:
    """Compare a quarantine with a dead-letter topic.

    Raises:
        BrokerUnreachable: no broker answered.
        TopicMissing: there is no such topic.
    """
    limits = read_topic(kafka, topic).partitions
    ranges = {partition: (span.earliest, span.last_stable) for partition, span in limits.items()}
    present = {place for record in record_values(kafka, topic, ranges) if (place := place_of(record.headers))}
    rows = list(_rows(quarantine))
    records = [record for row in rows if place_of((record := dead_letter(stream, row)).headers) not in present]
    return DeadLetters(records, len(rows) - len(records))


def export_dead_letters(kafka: KafkaSettings, topic: str, letters: DeadLetters) -> int:
    """Send them, and return how many were acknowledged.

    Raises:
        NotDelivered: one was not taken; said again, the command goes on after those that were.
    """
    return send(kafka, topic, letters.records) if letters.records else 0


def dead_letter(stream: str, row: Mapping[str, Any]) -> Record:
    """A row of a quarantine as Connect would leave it."""
    errors = {
        "topic": row["_kafka_topic"],
        "partition": row[PARTITION],
        "offset": row[OFFSET],
        "connector.name": stream,
        "task.id": row["run_id"],
        "stage": "VALUE_CONVERTER",
        "exception.class.name": row["error_class"],
        "exception.message": row["error_message"],
    }
    own = tuple((header["key"], header["value"] or b"") for header in row["headers"] or ())
    return Record(
        row["value"], row["key"], headers=(*own, *((f"{PREFIX}{name}", str(v).encode()) for name, v in errors.items()))
    )


def place_of(headers: Sequence[tuple[str, bytes]]) -> Place | None:
    """Which record a dead letter is of, by the last headers of each name; None where it does not say."""
    last = dict(headers)
    if any(name not in last for name in _PLACE):
        return None
    topic, partition, offset = (last[name] for name in _PLACE)
    return topic, partition, offset


def _rows(quarantine: Base) -> Iterator[Mapping[str, Any]]:
    if quarantine.snapshot_id is None:
        return
    table = quarantine.table
    tasks = list(table.scan(snapshot_id=quarantine.snapshot_id).plan_files())
    schema = table.schema().select(*_COLUMNS)
    for batch in ArrowScan(table.metadata, table.io, schema, AlwaysTrue()).to_record_batches(tasks):
        yield from batch.to_pylist()
