"""How a value of a Kafka Connect type is read into a declared type: exactly, or not at all.

Where a schema says how a value is written, that decides, and not the connector's options as they were declared. A pair
that is not here would give the value another meaning, and is refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute
from pyarrow import types as t

from lakehouse.formats.changes.debezium.connect_schema import DECIMAL, VARIABLE_DECIMAL, ConnectType
from lakehouse.formats.changes.decimals import base64_decimals
from lakehouse.formats.changes.encodings import JSON, days, floats, instants
from lakehouse.formats.changes.facts import rows_where
from lakehouse.formats.json.text import Parsed, Refused, parse_text

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers

_WHOLE = ("int8", "int16", "int32", "int64")
_SMALL = _WHOLE[:3]
_DAYS = ("io.debezium.time.Date", "org.apache.kafka.connect.data.Date")
_TIMESTAMPS = {
    "io.debezium.time.Timestamp": "millis",
    "org.apache.kafka.connect.data.Timestamp": "millis",
    "io.debezium.time.MicroTimestamp": "micros",
    "io.debezium.time.NanoTimestamp": "nanos",
}
UNITS: Mapping[str, str] = {
    **_TIMESTAMPS,
    "io.debezium.time.Time": "millis",
    "org.apache.kafka.connect.data.Time": "millis",
    "io.debezium.time.MicroTime": "micros",
    "io.debezium.time.NanoTime": "nanos",
}
"""Units of numbers that are times; which of them a source column gets may change with its precision."""
_ISO_DAY, _ISO_TIMESTAMP = "io.debezium.time.IsoDate", "io.debezium.time.IsoTimestamp"
_ZONED = "io.debezium.time.ZonedTimestamp"


@dataclass(frozen=True)
class ValueReader:
    """How a value is read.

    Attributes:
        wire: the type that the parser is asked for.
        read: wire values to the declared type, with nulls where something is refused.
    """

    wire: pa.DataType
    read: Callable[[pa.Array], Parsed]


def reading(written: ConnectType, declared: pa.DataType, unit: str) -> ValueReader | None:
    """How to read what is written in one type into another; None where it would not keep its meaning.

    Args:
        written: what the schema says.
        declared: the column's type.
        unit: of a number that is a time, where it is kept as a number: millis, micros or nanos.
    """
    if t.is_integer(declared):
        fits = written.kind in _WHOLE and UNITS.get(written.name, unit) == unit
        return _same(declared) if fits else None
    if t.is_floating(declared):
        return _floating(written, declared)
    if t.is_decimal(declared):
        return _decimal(written, declared)
    if t.is_temporal(declared):
        return _temporal(written, declared)
    if t.is_binary(declared):
        return _text(declared) if written.kind == "bytes" and written.name != DECIMAL else None
    kind = "boolean" if t.is_boolean(declared) else "string"
    return _same(declared) if written.kind == kind else None


def _same(declared: pa.DataType) -> ValueReader:
    return ValueReader(declared, lambda array: (array, []))


def _text(declared: pa.DataType, *, zone: bool = False) -> ValueReader:
    """From text; Debezium ends its texts without zone with a Z all the same."""
    if zone:
        return ValueReader(pa.string(), lambda array: parse_text(pc.replace_substring_regex(array, "Z$", ""), declared))
    return ValueReader(pa.string(), lambda array: parse_text(array, declared))


def _floating(written: ConnectType, declared: pa.DataType) -> ValueReader | None:
    double = t.is_float64(declared)
    if written.kind in _WHOLE and written.name not in UNITS:
        return ValueReader(pa.int64(), lambda array: _exact(array, declared, 2**53 if double else 2**24))
    if written.kind == "float" or (written.kind == "double" and double):
        return _same(declared) if double else ValueReader(JSON, lambda array: floats(array, declared))
    return None


def _decimal(written: ConnectType, declared: pa.DataType) -> ValueReader | None:
    match written:
        case ConnectType("bytes", name, int(scale)) if name == DECIMAL:
            return ValueReader(JSON, lambda array: base64_decimals(array, declared, scale))
        case ConnectType("struct", name) if name == VARIABLE_DECIMAL:
            return ValueReader(JSON, lambda array: base64_decimals(array, declared, None))
        case ConnectType("string", ""):
            return _text(declared)
        case ConnectType("float" | "double"):
            return ValueReader(pa.float64(), lambda array: parse_text(array.cast(pa.string()), declared))
        case ConnectType(kind, name) if kind in _WHOLE and name not in UNITS:
            return ValueReader(pa.int64(), lambda array: parse_text(array.cast(pa.string()), declared))
        case _:
            return None


def _temporal(written: ConnectType, declared: pa.DataType) -> ValueReader | None:
    if t.is_date(declared):
        if written.kind == "string":
            return _text(declared, zone=written.name == _ISO_DAY) if written.name in ("", _ISO_DAY) else None
        return ValueReader(pa.int32(), lambda array: days(array, declared)) if written.name in _DAYS else None
    if declared.tz is not None:
        return _text(declared) if written.kind == "string" and written.name in ("", _ZONED) else None
    if written.kind == "string":
        return _text(declared, zone=written.name == _ISO_TIMESTAMP) if written.name in ("", _ISO_TIMESTAMP) else None
    unit = _TIMESTAMPS.get(written.name)
    return None if unit is None else ValueReader(pa.int64(), lambda array: _whole_micros(array, declared, unit))


def _whole_micros(array: pa.Array, declared: pa.DataType, unit: str) -> Parsed:
    """Instants; of nanoseconds only those that are whole microseconds."""
    if unit != "nanos":
        return instants(array, declared, unit)
    odd = pa.array(array.fill_null(0).to_numpy() % 1000 != 0)
    own, refused = instants(pc.if_else(odd, pa.scalar(None, array.type), array), declared, unit)
    return own, [*refused, *_refusals(odd, "the nanoseconds are no whole microseconds")]


def _exact(array: pa.Array, declared: pa.DataType, limit: int) -> Parsed:
    beyond = pc.or_(pc.greater(array, limit), pc.less(array, -limit))
    numbers = pc.if_else(beyond, pa.scalar(None, array.type), array).cast(declared)
    return numbers, _refusals(beyond, "the number does not fit the type")


def _refusals(beyond: pa.BooleanArray, complaint: str) -> list[Refused]:
    rows = rows_where(beyond)
    return [Refused(rows, "out_of_range", complaint)] if len(rows) else []
