"""Random Avro schemas with the columns that they fill, and records of them, as Avro's own library has them."""

import datetime as dt
import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from io import BytesIO
from itertools import count
from typing import Any

import avro.io
import avro.schema
import pyarrow as pa
from hypothesis import strategies as st

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_INT = st.integers(-(2**31), 2**31 - 1)
_LONG = st.integers(-(2**63), 2**63 - 1)
_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@dataclass(frozen=True)
class Shape:
    """A type of the writer.

    Attributes:
        schema: in JSON; each use of it gets names of its own.
        column: what it fills.
        values: what the library writes,
        shown: and what a row has of that.
    """

    schema: Callable[[], Any]
    column: pa.DataType
    values: st.SearchStrategy[Any]
    shown: Callable[[Any], Any] = lambda value: value


_NAMES = count()


def _named(prefix: str) -> str:
    return f"{prefix}{next(_NAMES)}"


def _logical(kind: str, logical: str) -> Callable[[], Any]:
    return lambda: {"type": kind, "logicalType": logical}


def _decimal(schema: Callable[[], Any], precision: int, scale: int) -> Shape:
    limit = 10**precision - 1
    numbers = st.integers(-limit, limit).map(lambda n: Decimal(n).scaleb(-scale))
    return Shape(
        schema, pa.decimal128(precision + 2, scale + 1), numbers, lambda d: d.quantize(Decimal(1).scaleb(-scale - 1))
    )


def _moments(micros: int) -> st.SearchStrategy[dt.datetime]:
    first, last = -62_135_596_800_000_000 // micros, 253_402_300_799_999_999 // micros
    return st.integers(first, last).map(lambda n: _EPOCH + dt.timedelta(microseconds=n * micros))


def _fixed(size: int) -> Callable[[], Any]:
    return lambda: {"type": "fixed", "name": _named("F"), "size": size}


_SIMPLE = [
    Shape(lambda: "boolean", pa.bool_(), st.booleans()),
    Shape(lambda: "int", pa.int32(), _INT),
    Shape(lambda: "int", pa.int64(), _INT),
    Shape(lambda: "int", pa.float64(), _INT, float),
    Shape(lambda: "int", pa.decimal128(12, 2), _INT, lambda n: Decimal(n).quantize(Decimal("0.01"))),
    Shape(lambda: "long", pa.int64(), _LONG),
    Shape(lambda: "float", pa.float32(), st.floats(width=32, allow_nan=False)),
    Shape(lambda: "float", pa.float64(), st.floats(width=32, allow_nan=False)),
    Shape(lambda: "double", pa.float64(), st.floats(allow_nan=False)),
    Shape(lambda: "string", pa.string(), _TEXT),
    Shape(lambda: "string", pa.binary(), _TEXT, str.encode),
    Shape(lambda: "bytes", pa.binary(), st.binary(max_size=9)),
    Shape(_fixed(5), pa.binary(), st.binary(min_size=5, max_size=5)),
    Shape(
        lambda: {"type": "enum", "name": _named("E"), "symbols": ["A", "B", "C"]}, pa.string(), st.sampled_from("ABC")
    ),
    Shape(_logical("int", "date"), pa.date32(), st.dates()),
    Shape(_logical("long", "timestamp-millis"), pa.timestamp("us", "UTC"), _moments(1000)),
    Shape(_logical("long", "timestamp-micros"), pa.timestamp("us", "UTC"), _moments(1)),
    _decimal(lambda: {"type": "bytes", "logicalType": "decimal", "precision": 11, "scale": 3}, 11, 3),
    _decimal(lambda: {**_fixed(9)(), "logicalType": "decimal", "precision": 20, "scale": 0}, 20, 0),
]


def _optional(shape: Shape) -> Shape:
    return Shape(
        lambda: ["null", shape.schema()],
        shape.column,
        st.none() | shape.values,
        lambda value: None if value is None else shape.shown(value),
    )


def _list(shape: Shape) -> Shape:
    return Shape(
        lambda: {"type": "array", "items": shape.schema()},
        pa.list_(shape.column),
        st.lists(shape.values, max_size=4),
        lambda values: [shape.shown(value) for value in values],
    )


def _map(shape: Shape) -> Shape:
    return Shape(
        lambda: {"type": "map", "values": shape.schema()},
        pa.map_(pa.string(), shape.column),
        st.dictionaries(_TEXT, shape.values, max_size=3),
        lambda values: [(key, shape.shown(value)) for key, value in values.items()],
    )


def _record(shapes: list[Shape]) -> Shape:
    names = [f"m{number}" for number in range(len(shapes))]

    def shown(value: dict[str, Any]) -> dict[str, Any]:
        return {name: shape.shown(value[name]) for name, shape in zip(names, shapes, strict=True)}

    return Shape(
        lambda: {
            "type": "record",
            "name": _named("R"),
            "fields": [{"name": name, "type": shape.schema()} for name, shape in zip(names, shapes, strict=True)],
        },
        pa.struct([pa.field(name, shape.column) for name, shape in zip(names, shapes, strict=True)]),
        st.fixed_dictionaries({name: shape.values for name, shape in zip(names, shapes, strict=True)}),
        shown,
    )


_BRANCHES = Shape(
    lambda: ["null", "long", "string"],
    pa.struct([pa.field("string", pa.string()), pa.field("long", pa.int64())]),
    st.none() | _LONG | _TEXT,
    lambda value: (
        None
        if value is None
        else {
            "string": value if isinstance(value, str) else None,
            "long": value if isinstance(value, int) else None,
        }
    ),
)

SHAPES: st.SearchStrategy[Shape] = st.recursive(
    st.sampled_from([*_SIMPLE, _BRANCHES]),
    lambda inner: (
        inner.map(_list)
        | inner.map(_map)
        | inner.filter(lambda shape: not isinstance(shape.schema(), list)).map(_optional)
        | st.lists(inner, min_size=1, max_size=3).map(_record)
    ),
    max_leaves=5,
)
RECORDS = st.lists(SHAPES, min_size=1, max_size=5).map(_record)


def parsed(shape: Shape) -> tuple[str, avro.schema.Schema]:
    """The schema as text, and as the library has it."""
    text = json.dumps(shape.schema())
    return text, avro.schema.parse(text)


def written(schema: avro.schema.Schema, value: object) -> bytes:
    """A record in the library's bytes."""
    out = BytesIO()
    avro.io.DatumWriter(schema).write(value, avro.io.BinaryEncoder(out))
    return out.getvalue()


def read(schema: avro.schema.Schema, encoded: bytes) -> object:
    """A record as the library reads it."""
    source = BytesIO(encoded)
    value = avro.io.DatumReader(schema, schema).read(avro.io.BinaryDecoder(source))
    if source.read(1):
        raise ValueError("bytes are left over")
    return value
