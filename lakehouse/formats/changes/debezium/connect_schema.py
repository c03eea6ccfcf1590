"""What a Kafka Connect schema, beside a message or a key, says of each of its values: how it is written, by path.

A path is the column's name, with `.field`, `[]` and `{}` for fields, elements of lists and values of maps.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from lakehouse.formats.changes.reading import Fields, fields_of, is_wrapped
from lakehouse.formats.source_names import parser_name
from lakehouse.formats.verdict import RecordError

DECIMAL = "org.apache.kafka.connect.data.Decimal"
VARIABLE_DECIMAL = "io.debezium.data.VariableScaleDecimal"
_IMAGES = ("before", "after")


@dataclass(frozen=True, slots=True)
class ConnectType:
    """How a value is written.

    Attributes:
        kind: Kafka Connect's type, such as `int64`, `bytes` or `string`.
        name: the logical type, such as `io.debezium.time.Timestamp`; empty where there is none.
        scale: digits after the point, of a decimal with a scale of its own.
    """

    kind: str
    name: str = ""
    scale: int | None = None

    def __str__(self) -> str:
        scale = "" if self.scale is None else f", scale {self.scale}"
        return f"{self.kind}{f' ({self.name}{scale})' if self.name else ''}"


MessageSchema = tuple[tuple[str, ConnectType], ...]
"""Path → type, of every value that has no parts; empty where a message carries no schema, or none of a row."""


class _Type(msgspec.Struct):
    type: str = ""
    field: str = ""
    name: str | None = None
    parameters: dict[str, Any] | None = None
    fields: list["_Type"] = []
    items: "_Type | None" = None
    values: "_Type | None" = None


_DECODER = msgspec.json.Decoder(_Type)


def row_schema(schema: bytes) -> MessageSchema:
    """What an envelope's schema says of the row's columns.

    The images of one change are of one table: where they are described differently, neither description is taken.
    """
    described: dict[str, ConnectType] = {}
    for image in _fields(schema):
        if image.field not in _IMAGES:
            continue
        for path, kind in _leaves(image.fields):
            known = described.setdefault(path, kind)
            if known != kind:
                described[path] = ConnectType(f"both {known} and {kind}")
    return tuple(described.items())


def key_schema(schema: bytes) -> MessageSchema:
    """What a key's schema says of the key's columns."""
    return tuple(_leaves(_fields(schema)))


def schema_beside(fields: Fields | RecordError) -> bytes | None:
    """The schema that stands beside a payload, or None."""
    return bytes(fields["schema"]) if not isinstance(fields, RecordError) and is_wrapped(fields) else None


def schema_of(value: bytes) -> bytes | None:
    """The schema that a message carries, or None."""
    return schema_beside(fields_of(value))


def _fields(schema: bytes) -> Sequence[_Type]:
    try:
        return _DECODER.decode(schema).fields
    except msgspec.DecodeError:  # null, or nothing of Kafka Connect's: it says nothing of any column
        return ()


def _leaves(fields: Sequence[_Type]) -> Iterator[tuple[str, ConnectType]]:
    for child in fields:
        yield from _parts(child, parser_name(child.field))


def _parts(described: _Type, path: str) -> Iterator[tuple[str, ConnectType]]:
    if described.type == "struct" and described.name != VARIABLE_DECIMAL:
        for child in described.fields:
            yield from _parts(child, f"{path}.{child.field}")
    elif described.type == "array" and described.items is not None:
        yield from _parts(described.items, f"{path}[]")
    elif described.type == "map" and described.values is not None:
        yield from _parts(described.values, f"{path}{{}}")
    else:
        yield path, ConnectType(described.type, described.name or "", _scale(described))


def _scale(described: _Type) -> int | None:
    text = (described.parameters or {}).get("scale")
    try:
        return int(text) if described.name == DECIMAL and isinstance(text, str) else None
    except ValueError:
        return None
