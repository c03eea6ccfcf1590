"""Messages that mean a single value: Google's well-known types, and those that registries bring along.

==============================================  =======================================================================
google.protobuf.Timestamp                       timestamp; digits after the sixth are cut off
google.protobuf.Duration                        decimal: seconds, exactly; string: as in JSON, `1.5s`
google.protobuf.Int64Value and its like         what their value may be; null where the message is not there
google.protobuf.Struct, Value, ListValue        string: JSON
google.protobuf.FieldMask                       string: its paths, as in JSON
google.type.Date                                date
confluent.type.Decimal, google.type.Decimal     decimal, where it fits exactly
==============================================  =======================================================================

Each of them may also be a struct, as any message. Years are 0001 to 9999.
"""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor
from pyarrow import types as t

from lakehouse.formats.json.text import BEYOND_YEARS
from lakehouse.formats.protobuf.leaves import exact_decimal, leaf
from lakehouse.formats.protobuf.part import Part, Read, Values, take_each
from lakehouse.formats.verdict import RecordError

_WRAPPERS = {
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
}
_AS_TEXT = {f"google.protobuf.{name}" for name in ("Struct", "Value", "ListValue", "FieldMask", "Duration")}
_DECIMALS = {"confluent.type.Decimal", "google.type.Decimal", "google.protobuf.Duration"}
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799
_LONGEST_DURATION = 315_576_000_000
"""Seconds, as Google's definition has it."""
_MOST_DIGITS = 10_000


def known_type(message: Descriptor, declared: pa.DataType, path: str) -> Read | None:
    """What makes a column of such messages; nothing, where they are none, or the column is for something else.

    Raises:
        Unfit: the column cannot take the value of a wrapper.
    """
    name = message.full_name
    if name in _WRAPPERS:
        return _wrapped(leaf(message.fields_by_name["value"], declared, path))
    if name == "google.protobuf.Timestamp" and t.is_timestamp(declared) and declared.tz is not None:
        return _timestamps(declared, path)
    convert: Callable[[Any], Any] | None = None
    if t.is_string(declared) and name in _AS_TEXT:
        convert = _json(path, bare=name.endswith(("Duration", "FieldMask")))
    elif name == "google.type.Date" and t.is_date32(declared):
        convert = _date(path)
    elif t.is_decimal128(declared) and name in _DECIMALS:
        number = _seconds if name == "google.protobuf.Duration" else _decimal
        convert = _exactly(lambda value: number(value, path), exact_decimal(declared, path))
    return None if convert is None else _converted(declared, convert)


def _converted(declared: pa.DataType, convert: Callable[[Any], Any]) -> Read:
    return lambda values, part: pa.array(take_each(values, part, convert), declared)


def _wrapped(read: Read) -> Read:
    return lambda values, part: read([None if value is None else value.value for value in values], part)


def _timestamps(declared: pa.TimestampType, path: str) -> Read:
    wrong = RecordError("out_of_range", f"`{path}`: {BEYOND_YEARS}, or the nanoseconds are no part of a second")

    def micros(value: Any) -> int | RecordError:
        seconds, nanos = value.seconds, value.nanos
        if _FIRST_SECOND <= seconds <= _LAST_SECOND and 0 <= nanos < 1_000_000_000:
            return seconds * 1_000_000 + nanos // 1000
        return wrong

    def read(values: Values, part: Part) -> pa.Array:
        return pa.array(take_each(values, part, micros), pa.int64()).cast(declared)

    return read


def _date(path: str) -> Callable[[Any], dt.date | RecordError]:
    error = RecordError("out_of_range", f"`{path}`: there is no such day")

    def convert(value: Any) -> dt.date | RecordError:
        try:
            return dt.date(value.year, value.month, value.day)
        except (ValueError, OverflowError):
            return error

    return convert


def _seconds(value: Any, path: str) -> Decimal | RecordError:
    """Exactly; seconds and nanoseconds have one sign."""
    seconds, nanos = value.seconds, value.nanos
    if abs(seconds) > _LONGEST_DURATION or abs(nanos) >= 1_000_000_000 or seconds * nanos < 0:
        return RecordError("out_of_range", f"`{path}`: it is no duration")
    return Decimal(seconds * 1_000_000_000 + nanos).scaleb(-9)


def _decimal(value: Any, path: str) -> Decimal | RecordError:
    wrong = RecordError("wrong_type", f"`{path}`: it is no decimal number")
    if isinstance(value.value, str):  # Google's
        try:
            number = Decimal(value.value) if len(value.value) <= _MOST_DIGITS else Decimal("NaN")
        except InvalidOperation:
            return wrong
        return number if number.is_finite() else wrong
    if abs(value.scale) > _MOST_DIGITS or len(value.value) > _MOST_DIGITS // 3:
        return wrong
    unscaled = int.from_bytes(value.value, "big", signed=True)
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -value.scale))


def _exactly(
    number_of: Callable[[Any], Decimal | RecordError], exact: Callable[[Decimal | int], Decimal | RecordError]
) -> Callable[[Any], Decimal | RecordError]:
    def convert(value: Any) -> Decimal | RecordError:
        number = number_of(value)
        return number if isinstance(number, RecordError) else exact(number)

    return convert


def _json(path: str, *, bare: bool) -> Callable[[Any], str | RecordError]:
    """As Protobuf's own JSON has it; a text that is a value of its own without quotes."""
    error = RecordError("wrong_type", f"`{path}`: it has no form in JSON")

    def convert(value: Any) -> str | RecordError:
        try:
            text: str = json_format.MessageToJson(value, indent=None, sort_keys=True, ensure_ascii=False)
        except (json_format.Error, ValueError, TypeError, RecursionError):
            return error
        return text[1:-1] if bare else text

    return convert
