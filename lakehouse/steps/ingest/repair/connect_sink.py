"""What the Iceberg sink of Kafka Connect has announced and not committed: records that its group has gone past.

A task of the sink commits its source offsets together with an event on the control topic that names the files. Later a
coordinator commits these files to the table, with the control topic's offsets up to which it has done so in the
snapshot's summary. A sink that is stopped in between has left records in files that no table lists.

The form of the events is that of Iceberg's `AvroEncoderUtil`: two magic bytes, the schema as Java's `writeUTF` writes
it, the record. Of the record only `type` (1: data written) and `groupId` matter.
"""

import io
import json
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import fastavro
import msgspec
from pyiceberg.table import Table

from lakehouse.engines.kafka.records import record_values
from lakehouse.engines.kafka.topics import read_topic
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import table_name
from lakehouse.protocol.seals.history import ancestry, head_of, summary_of
from lakehouse.settings import KafkaSettings

OFFSETS = "kafka.connect.offsets."
_MAGIC = b"\xc2\x01"
_DATA_WRITTEN = 1


class FilesAnnounced(LakehouseError):
    """The sink was stopped between writing files and committing them."""


class NoEvent(LakehouseError):
    """What is on the control topic is no event of the sink."""


class SinkPosition(NamedTuple):
    """Up to where a table has what its sink has announced.

    Attributes:
        control_topic: of the sink.
        offsets: partition of that topic → the next offset.
    """

    control_topic: str
    offsets: dict[int, int]


def sink_position(table: Table, group: str) -> SinkPosition | None:
    """What the newest of a table's snapshots says that a sink of this group has committed; None where none does."""
    for snapshot in ancestry(table, head_of(table)):
        for key, value in summary_of(snapshot).items():
            if key.startswith(OFFSETS) and key.endswith(f".{group}"):
                topic = key.removeprefix(OFFSETS).removesuffix(f".{group}")
                return SinkPosition(topic, msgspec.json.decode(value, type=dict[int, int], strict=False))
    return None


def require_committed(kafka: KafkaSettings, table: Table, group: str) -> SinkPosition | None:
    """Refuse to go on from a group's offsets while the sink has announced files that its table does not list.

    Returns:
        What the table says of the sink; None where no sink of this group has written it.

    Raises:
        FilesAnnounced: some are announced after what the table has.
        TopicMissing: the control topic is gone, so that nobody can tell.
    """
    position = sink_position(table, group)
    if position is None:
        return None
    limits = read_topic(kafka, position.control_topic).partitions
    unread = {
        partition: (max(position.offsets.get(partition, 0), span.earliest), span.last_stable)
        for partition, span in limits.items()
    }
    records = record_values(kafka, position.control_topic, unread)
    announced = sum(_announces(record.value, group) for record in records if record.value)
    if announced:
        raise FilesAnnounced(
            f"{table_name(table)}: the sink of {group} has announced {announced} files on {position.control_topic} "
            "that are in no snapshot: records that its group has gone past.",
            remedy="start the sink again until it has committed them, stop it and say the same; or go on --from rows, "
            "or --from offsets, before them",
        )
    return position


def _announces(value: bytes, group: str) -> bool:
    event = read_event(value)
    return event.get("type") == _DATA_WRITTEN and event.get("groupId", event.get("group_id")) == group


def read_event(value: bytes) -> Mapping[str, object]:
    """An event of the sink.

    Raises:
        NoEvent: it is none.
    """
    try:
        (length,) = struct.unpack_from(">H", value, 2)
        schema = _without_payload(json.loads(value.removeprefix(_MAGIC)[2 : 2 + length]))
        record = fastavro.schemaless_reader(io.BytesIO(value[4 + length :]), schema, None)
    except (ValueError, struct.error, EOFError, KeyError, IndexError, TypeError) as error:
        raise NoEvent(
            f"A record of the control topic is no event of the Iceberg sink ({type(error).__name__}).",
            remedy="go on --from rows, or --from offsets",
        ) from error
    return cast("Mapping[str, object]", record)


def _without_payload(schema: dict[str, Any]) -> dict[str, Any]:
    """The fields before the payload, as they are written: what they mean logically is of no interest."""
    names = [field["name"] for field in schema["fields"]]
    fields = schema["fields"][: names.index("payload")] if "payload" in names else schema["fields"]
    return {**schema, "fields": [{**field, "type": _as_written(field["type"])} for field in fields]}


def _as_written(kind: Any) -> Any:
    if isinstance(kind, list):
        return [_as_written(part) for part in cast("list[Any]", kind)]
    if isinstance(kind, dict):
        return {key: value for key, value in cast("dict[str, Any]", kind).items() if key != "logicalType"}
    return kind
