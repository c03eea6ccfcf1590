"""How each form of messages writes the values of a row; nested values are read by `images`, leaf by leaf."""

import base64
import math
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute
from pyarrow import types as t

from lakehouse.declarations.formats.change_format import Debezium
from lakehouse.formats.changes.decimals import base64_decimals
from lakehouse.formats.changes.facts import rows_where
from lakehouse.formats.json.text import BEYOND_YEARS, Parsed, Refused, parse_text
from lakehouse.formats.json.wire import wire_type

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers

# A 32-bit float is what the parser hands on as the JSON text of the value, whatever it is; see `decode.model.is_raw`.
JSON = pa.float32()
NOT_NUMBERS = {'"NaN"': math.nan, '"Infinity"': math.inf, '"-Infinity"': -math.inf}
"""JSON has no numbers for these; Debezium writes text."""
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
_DAY_MICROS = 86_400_000_000
_TO_MICROS = {"millis": (1000, 1), "micros": (1, 1), "nanos": (1, 1000)}


class Encoding(Protocol):
    """How leaves of a row are written."""

    def wire(self, declared: pa.DataType, path: str) -> pa.DataType:
        """The type that the parser is asked for.

        Raises:
            UndecodableType: there is none.
        """
        ...

    def read(self, array: pa.Array, declared: pa.DataType, path: str) -> Parsed:
        """Wire values to the declared type, with nulls where something is refused."""
        ...

    def placeholders(self, declared: pa.DataType, path: str) -> pa.Array | None:
        """What stands in wire values of this type for a value that was not sent."""
        ...


@dataclass(frozen=True)
class PlainEncoding:
    """Values as in records of any other stream of JSON; for flat records.

    Attributes:
        unavailable: text for a value that was not sent.
    """

    unavailable: str

    def wire(self, declared: pa.DataType, path: str) -> pa.DataType:
        """The same as for a table."""
        return wire_type(declared, path)

    def read(self, array: pa.Array, declared: pa.DataType, path: str) -> Parsed:  # noqa: ARG002 - one interface
        """The same as for a table."""
        return (array, []) if array.type == declared else parse_text(array, declared)

    def placeholders(self, declared: pa.DataType, path: str) -> pa.Array | None:  # noqa: ARG002 - one interface
        """The text, as it is and in Base64."""
        return _placeholders(self.unavailable, declared)


@dataclass(frozen=True)
class DebeziumEncoding:
    """Values as Debezium's JSON has them, by the connector's options."""

    options: Debezium

    def wire(self, declared: pa.DataType, path: str) -> pa.DataType:
        """Days, units of time, and decimals in one of three ways."""
        if t.is_date32(declared) and self.options.timestamps != "text":
            return pa.int32()
        if t.is_timestamp(declared) and declared.tz is None and self.options.timestamps != "text":
            return pa.int64()
        if t.is_decimal128(declared):
            return {"precise": JSON, "string": pa.string(), "double": pa.float64()}[self.options.decimals]
        return wire_type(declared, path)

    def read(self, array: pa.Array, declared: pa.DataType, path: str) -> Parsed:
        """Reads them."""
        if array.type == declared:
            return array, []
        if t.is_integer(array.type):
            return self._counted(array, declared, path)
        if t.is_decimal128(declared):
            if self.options.decimals == "precise":
                return base64_decimals(array, declared, declared.scale)
            return parse_text(array.cast(pa.string()), declared)
        if t.is_float32(declared):
            return floats(array, declared)
        if t.is_date32(declared) or (t.is_timestamp(declared) and declared.tz is None):
            array = pc.replace_substring_regex(array, "Z$", "")
        return parse_text(array, declared)

    def _counted(self, array: pa.Array, declared: pa.DataType, path: str) -> Parsed:
        """Days, or units of time, since the epoch."""
        if t.is_date32(declared):
            return days(array, declared)
        return instants(array, declared, self.unit(path.partition(".")[2]))

    def unit(self, path: str) -> str:
        """The declared unit of a column's times."""
        return "millis" if path in self.options.millis else self.options.timestamps

    def placeholders(self, declared: pa.DataType, path: str) -> pa.Array | None:  # noqa: ARG002 - one interface
        """The text, as it is and in Base64; decimals are looked at as JSON."""
        if not t.is_decimal128(declared):
            return _placeholders(self.options.unavailable, declared)
        if self.options.decimals == "double":
            return None
        texts = pa.array(_texts(self.options.unavailable))
        return quoted(texts) if self.options.decimals == "precise" else texts


def quoted(texts: pa.StringArray) -> pa.StringArray:
    """The JSON of texts that need no escapes."""
    return pc.binary_join_element_wise('"', texts, '"', "")


def _texts(unavailable: str) -> list[str]:
    return [unavailable, base64.b64encode(unavailable.encode()).decode()]


def _placeholders(unavailable: str, declared: pa.DataType) -> pa.Array | None:
    if t.is_binary(declared):
        return pa.array(_texts(unavailable))
    return pa.array([unavailable]) if t.is_string(declared) else None


def _within(array: pa.Array, first: int, last: int, target: pa.DataType) -> Parsed:
    extent = pc.min_max(array).as_py()
    if extent["min"] is None or (extent["min"] >= first and extent["max"] <= last):
        return array.view(target), []
    beyond = pc.or_(pc.less(array, first), pc.greater(array, last))
    refused = Refused(rows_where(beyond), "out_of_range", BEYOND_YEARS)
    return pc.if_else(pc.fill_null(beyond, True), pa.scalar(None, array.type), array).view(target), [refused]


def days(array: pa.Array, target: pa.DataType) -> Parsed:
    """Days since the epoch."""
    return _within(array, _FIRST_DAY, _LAST_DAY, target)


def instants(array: pa.Array, target: pa.DataType, unit: str) -> Parsed:
    """Units of time since the epoch; nanoseconds are rounded to the microsecond before."""
    times, divided = _TO_MICROS[unit]
    first, last = _FIRST_DAY * _DAY_MICROS, (_LAST_DAY + 1) * _DAY_MICROS - 1
    own, refused = _within(array, -(-first * divided // times), (last + 1) * divided // times - 1, pa.int64())
    if times > 1:
        own = pc.multiply(own, times)
    elif divided > 1:
        numbers = own.fill_null(0).to_numpy() // divided  # towards the past, also before 1970
        own = pa.array(numbers, mask=own.is_null().to_numpy(zero_copy_only=False))
    return own.view(target), refused


def floats(array: pa.Array, target: pa.DataType) -> Parsed:
    """The JSON of floats, with the texts that stand for what is no number."""
    known = pc.index_in(array, value_set=pa.array(list(NOT_NUMBERS)))
    if known.null_count == len(known):
        return parse_text(array, target)
    plain = pc.if_else(known.is_valid(), pa.scalar(None, pa.string()), array)
    numbers, refused = parse_text(plain, target)
    return pc.coalesce(pa.array(list(NOT_NUMBERS.values()), target).take(known), numbers), refused
