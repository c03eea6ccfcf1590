"""Avro's simple types to the types of columns: which go together, and each value exactly or not at all.

==============================  =======================================================================================
int, long                       int (of an int), long, decimal; float and double where the number is exactly the same
float, double                   float (of a float), double
boolean                         boolean
string, bytes, fixed            string (UTF-8), binary
enum, uuid                      string
decimal (bytes, fixed)          decimal, where it fits exactly
date                            date
timestamp-millis, -micros       timestamp with zone; `local-` without; digits after the sixth are cut off, of `-nanos`
time-millis, time-micros        int, long: the number as it is
==============================  =======================================================================================

Every logical type may also go where its own type goes. Years are 0001 to 9999.
"""

import uuid
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import types as t

from lakehouse.formats import schema_errors
from lakehouse.formats.avro.cursor import Cursor, Longs
from lakehouse.formats.avro.nodes import AvroType
from lakehouse.formats.json.text import BEYOND_YEARS, FIRST_DAY, FIRST_MICRO, LAST_DAY, LAST_MICRO
from lakehouse.formats.schema_errors import Unfit
from lakehouse.formats.verdict import RecordError

Read = Callable[[Cursor], pa.Array]
_DOES_NOT_FIT = "the number does not fit the type"
_PER_MICRO = {"millis": 1000, "micros": 1}


def leaf(node: AvroType, declared: pa.DataType, path: str) -> Read:  # noqa: PLR0911 # one return a type
    """What reads values of a simple type into a column's.

    Raises:
        Unfit: the column cannot take them.
    """
    match node.kind:
        case "null":
            return lambda cursor: pa.nulls(len(cursor), declared)
        case "boolean" if t.is_boolean(declared):
            return _booleans
        case "int" | "long":
            return _whole(node, declared, path)
        case "float" if t.is_floating(declared):
            return lambda cursor: _floats(cursor, declared)
        case "double" if t.is_float64(declared):
            return lambda cursor: pa.array(cursor.number(np.float64))
        case "enum" if t.is_string(declared):
            return _enum(node)
        case "bytes" | "string" | "fixed":
            return _bytes(node, declared, path)
        case _:
            raise unfit(node, declared, path)


def unfit(node: AvroType, declared: pa.DataType, path: str) -> Unfit:
    """That a column cannot take a type."""
    kind = f"{node.kind} ({node.logical})" if node.logical else node.kind
    return schema_errors.unfit(kind, declared, path)


def _floats(cursor: Cursor, declared: pa.DataType) -> pa.Array:
    with np.errstate(invalid="ignore"):  # of a NaN that signals: it becomes a quiet one
        return pa.array(cursor.number(np.float32).astype(declared.to_pandas_dtype()))


def _booleans(cursor: Cursor) -> pa.Array:
    values = cursor.bytes_of_size(1).reshape(-1)
    wrong = np.flatnonzero(values > 1)
    if wrong.size:
        cursor.fail(wrong, RecordError("not_avro", "a boolean that is neither 0 nor 1"))
    return pa.array(values.astype(np.bool_))


def _enum(node: AvroType) -> Read:
    symbols = pa.array(node.symbols, pa.string())

    def read(cursor: Cursor) -> pa.Array:
        index = cursor.long()
        wrong = np.flatnonzero((index < 0) | (index >= len(symbols)))
        if wrong.size:
            cursor.fail(wrong, RecordError("not_avro", "an enum has no such symbol"))
            index[wrong] = 0
        return symbols.take(pa.array(index))

    return read


def _numbers(node: AvroType) -> Callable[[Cursor], Longs]:
    if node.kind == "long":
        return Cursor.long

    def read(cursor: Cursor) -> Longs:
        numbers = cursor.long()
        wrong = np.flatnonzero((numbers < -(2**31)) | (numbers >= 2**31))
        if wrong.size:
            cursor.fail(wrong, RecordError("not_avro", "an int of more than 32 bits"))
            numbers[wrong] = 0
        return numbers

    return read


def _whole(node: AvroType, declared: pa.DataType, path: str) -> Read:
    numbers = _numbers(node)
    if t.is_int64(declared):
        return lambda cursor: pa.array(numbers(cursor))
    if t.is_int32(declared) and node.kind == "int":
        return lambda cursor: pa.array(numbers(cursor).astype(np.int32))
    if node.logical == "date" and t.is_date32(declared):
        return _days(numbers, path)
    if "timestamp-" in node.logical and t.is_timestamp(declared) and declared.unit == "us":
        if (declared.tz is None) == node.logical.startswith("local-"):
            return _instants(numbers, node.logical.rsplit("-", 1)[1], declared, path)
    elif not node.logical and t.is_floating(declared):
        return _exact_floats(numbers, declared, path)
    elif not node.logical and t.is_decimal128(declared):
        return lambda cursor: _decimals(cursor, numbers(cursor).tolist(), 0, declared, path)
    raise unfit(node, declared, path)


def _days(numbers: Callable[[Cursor], Longs], path: str) -> Read:
    def read(cursor: Cursor) -> pa.Array:
        days = _between(cursor, numbers(cursor), FIRST_DAY, LAST_DAY, path)
        return pa.array(days.astype(np.int32)).cast(pa.date32())

    return read


def _instants(numbers: Callable[[Cursor], Longs], unit: str, declared: pa.DataType, path: str) -> Read:
    def read(cursor: Cursor) -> pa.Array:
        raw = numbers(cursor)
        if unit == "nanos":
            micros = np.floor_divide(raw, 1000)
        else:
            factor = _PER_MICRO[unit]
            micros = _between(cursor, raw, FIRST_MICRO // factor, LAST_MICRO // factor, path) * factor
        return pa.array(micros).cast(declared)

    return read


def _between(cursor: Cursor, numbers: Longs, first: int, last: int, path: str) -> Longs:
    beyond = np.flatnonzero((numbers < first) | (numbers > last))
    if beyond.size:
        cursor.fail(beyond, RecordError("out_of_range", f"`{path}`: {BEYOND_YEARS}"))
        numbers[beyond] = 0
    return numbers


def _exact_floats(numbers: Callable[[Cursor], Longs], declared: pa.DataType, path: str) -> Read:
    kind = declared.to_pandas_dtype()

    def read(cursor: Cursor) -> pa.Array:
        whole = numbers(cursor)
        floats = whole.astype(kind)
        # Both as 80-bit floats, or as Python's numbers where a machine has none: 2^63 has no 64-bit integer.
        differs = np.flatnonzero(np.abs(whole.astype(np.float64)) >= (1 << (24 if kind is np.float32 else 53)))
        wrong = np.array([i for i in differs.tolist() if int(floats[i]) != int(whole[i])], np.int64)
        if wrong.size:
            cursor.fail(wrong, RecordError("out_of_range", f"`{path}`: {_DOES_NOT_FIT}"))
        return pa.array(floats)

    return read


def _bytes(node: AvroType, declared: pa.DataType, path: str) -> Read:
    raw: Read = Cursor.binaries if node.kind != "fixed" else (lambda cursor: cursor.fixed(node.size))
    if t.is_binary(declared):
        # A string is text wherever it goes: the same verdict as of every other reader.
        return raw if node.kind != "string" else lambda cursor: text(cursor, raw(cursor), path).cast(pa.binary())
    if t.is_decimal128(declared) and node.logical == "decimal":

        def read(cursor: Cursor) -> pa.Array:
            unscaled = [int.from_bytes(value, "big", signed=True) for value in raw(cursor).to_pylist()]
            _require_precision(cursor, unscaled, node.precision, path)
            return _decimals(cursor, unscaled, node.scale, declared, path)

        return read
    if not t.is_string(declared):
        raise unfit(node, declared, path)
    if node.kind == "fixed" and node.logical == "uuid":
        return lambda cursor: pa.array([_uuid(value) for value in raw(cursor).to_pylist()], pa.string())
    return lambda cursor: text(cursor, raw(cursor), path)


def _require_precision(cursor: Cursor, unscaled: list[int], precision: int, path: str) -> None:
    """Refuse numbers of more digits than their schema says: some libraries round them, others do not."""
    limit = 10**precision
    wrong = [element for element, number in enumerate(unscaled) if not -limit < number < limit]
    if wrong:
        complaint = f"the number has more than the {precision} digits of its schema"
        cursor.fail(np.array(wrong, np.int64), RecordError("out_of_range", f"`{path}`: {complaint}"))
        for element in wrong:
            unscaled[element] = 0


def _uuid(value: bytes) -> str:
    return str(uuid.UUID(bytes=value)) if value else ""  # of a record that ends too early


def text(cursor: Cursor, raw: pa.BinaryArray, path: str) -> pa.StringArray:
    """Bytes as text; what is not UTF-8 is marked."""
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        texts = [_utf8(value) for value in raw.to_pylist()]
        wrong = np.array([i for i, value in enumerate(texts) if value is None], np.int64)
        cursor.fail(wrong, RecordError("wrong_type", f"`{path}`: not UTF-8"))
        return pa.array(["" if value is None else value for value in texts], pa.string())


def _utf8(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _decimals(cursor: Cursor, unscaled: Sequence[int], scale: int, declared: pa.Decimal128Type, path: str) -> pa.Array:
    """Numbers without their point, as decimals of the column's precision and scale."""
    more, limit = declared.scale - scale, 10**declared.precision
    factor, divisor = 10 ** max(more, 0), 10 ** max(-more, 0)
    wrong: list[int] = []
    packed: list[bytes] = []
    for element, number in enumerate(unscaled):
        whole, rest = divmod(number, divisor)
        scaled = whole * factor
        if rest or not -limit < scaled < limit:
            wrong.append(element)
            scaled = 0
        packed.append(scaled.to_bytes(16, "little", signed=True))
    if wrong:
        complaint = f"the number does not fit {declared.precision} digits with {declared.scale} decimals"
        cursor.fail(np.array(wrong, np.int64), RecordError("out_of_range", f"`{path}`: {complaint}"))
    buffers: list[Any] = [None, pa.py_buffer(b"".join(packed))]
    return pa.Array.from_buffers(declared, len(packed), buffers)
