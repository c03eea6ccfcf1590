"""Protobuf's simple types to the types of columns: which go together, and each value exactly or not at all.

============================  =========================================================================================
int32, sint32, sfixed32       int, long, decimal; float and double where the number is exactly the same
uint32, fixed32               long, decimal; float and double as above
int64, sint64, sfixed64       long, decimal; float and double as above
uint64, fixed64               decimal; long where it fits, and the record is refused where not; float and double
float, double                 float (of a float), double
bool                          boolean
string, bytes                 string (UTF-8), binary
enum                          string: its name; int and long: its number
============================  =========================================================================================
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from google.protobuf.descriptor import FieldDescriptor
from pyarrow import types as t

from lakehouse.formats.protobuf.part import Part, Read, Values, take_each
from lakehouse.formats.schema_errors import unfit
from lakehouse.formats.verdict import RecordError

F = FieldDescriptor
_SIGNED_32 = {F.TYPE_INT32, F.TYPE_SINT32, F.TYPE_SFIXED32}
_UNSIGNED_64 = {F.TYPE_UINT64, F.TYPE_FIXED64}
_WHOLE = {
    *(*_SIGNED_32, *_UNSIGNED_64),
    *(F.TYPE_UINT32, F.TYPE_FIXED32, F.TYPE_INT64, F.TYPE_SINT64, F.TYPE_SFIXED64),
}
_NAMES = {
    number: name.removeprefix("TYPE_").lower()
    for name, number in vars(FieldDescriptor).items()
    if name.startswith("TYPE_")
}


def kind_name(field: FieldDescriptor) -> str:
    """What a `.proto` file calls the type of a field."""
    return field.message_type.full_name if field.message_type is not None else _NAMES[field.type]


def leaf(field: FieldDescriptor, declared: pa.DataType, path: str) -> Read:
    """What makes a column of a simple type's values.

    Raises:
        Unfit: the column cannot take them.
    """
    kind = field.type
    if kind in _WHOLE:
        read = _whole(kind, declared, path)
    elif kind == F.TYPE_ENUM:
        read = _enum(field, declared, path)
    elif kind in (F.TYPE_STRING, F.TYPE_BYTES) and (t.is_string(declared) or t.is_binary(declared)):
        read = _texts(path) if t.is_string(declared) else _bytes(path, text=kind == F.TYPE_STRING)
    else:
        fits = (
            (kind == F.TYPE_BOOL and t.is_boolean(declared))
            or (kind == F.TYPE_FLOAT and t.is_floating(declared))
            or (kind == F.TYPE_DOUBLE and t.is_float64(declared))
        )
        read = _as_it_is(declared) if fits else None
    if read is None:
        raise unfit(kind_name(field), declared, path)
    return read


def _as_it_is(declared: pa.DataType) -> Read:
    return lambda values, _: pa.array(values, declared)


def _converted(declared: pa.DataType, convert: Callable[[Any], Any]) -> Read:
    return lambda values, part: pa.array(take_each(values, part, convert), declared)


def _whole(kind: int, declared: pa.DataType, path: str) -> Read | None:
    beyond = RecordError("out_of_range", f"`{path}`: the number does not fit the type")
    if t.is_int64(declared):
        return _as_it_is(declared) if kind not in _UNSIGNED_64 else _converted(declared, _below(1 << 63, beyond))
    if t.is_int32(declared) and kind in _SIGNED_32:
        return _as_it_is(declared)
    if t.is_decimal128(declared):
        return _converted(declared, exact_decimal(declared, path))
    if t.is_floating(declared):
        return _converted(declared, _exact_float(declared, beyond))
    return None


def _below(limit: int, error: RecordError) -> Callable[[int], int | RecordError]:
    return lambda number: number if number < limit else error


def _exact_float(declared: pa.DataType, error: RecordError) -> Callable[[int], float | RecordError]:
    kind: Any = np.float32 if t.is_float32(declared) else np.float64

    def convert(number: int) -> float | RecordError:
        nearest = float(kind(number))
        return nearest if int(nearest) == number else error

    return convert


def exact_decimal(declared: pa.Decimal128Type, path: str) -> Callable[[Decimal | int], Decimal | RecordError]:
    """What gives a number as a decimal of the column's, or the reason why it cannot be one."""
    limit, scale = 10**declared.precision, declared.scale
    complaint = f"`{path}`: the number does not fit {declared.precision} digits with {scale} decimals"
    error = RecordError("out_of_range", complaint)

    def convert(number: Decimal | int) -> Decimal | RecordError:
        sign, digits, exponent = Decimal(number).as_tuple()
        if not isinstance(exponent, int) or exponent > declared.precision:
            return error if any(digits) else Decimal(0)
        whole = int("".join(map(str, digits)) or "0")
        shift = exponent + scale
        scaled, rest = (whole * 10**shift, 0) if shift >= 0 else divmod(whole, 10**-shift)
        if rest or scaled >= limit:
            return error
        return Decimal((sign, tuple(map(int, str(scaled))), -scale))

    return convert


def _enum(field: FieldDescriptor, declared: pa.DataType, path: str) -> Read | None:
    if t.is_int32(declared) or t.is_int64(declared):
        return _as_it_is(declared)
    if not t.is_string(declared):
        return None
    assert field.enum_type is not None
    names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
    error = RecordError("out_of_range", f"`{path}`: the enum has no name for its number")
    return _converted(declared, lambda number: names.get(number, error))


def _texts(path: str) -> Read:
    error = RecordError("wrong_type", f"`{path}`: not UTF-8")

    def read(values: Values, part: Part) -> pa.Array:
        # Of text that is not UTF-8, where its schema lets it pass, the library gives bytes.
        try:
            return pa.array(values, pa.string())
        except pa.ArrowInvalid:
            return pa.array(take_each(values, part, lambda value: _utf8(value, error)), pa.string())

    return read


def _bytes(path: str, *, text: bool) -> Read:
    if not text:
        return _as_it_is(pa.binary())
    # A text is UTF-8 wherever it goes.
    error = RecordError("wrong_type", f"`{path}`: not UTF-8")
    return _converted(pa.binary(), lambda value: value.encode() if isinstance(value, str) else error)


def _utf8(value: str | bytes, error: RecordError) -> str | RecordError:
    try:
        return value if isinstance(value, str) else value.decode()
    except UnicodeDecodeError:
        return error
