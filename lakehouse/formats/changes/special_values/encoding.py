"""Values that a column has no room for, by what its changelog declares: null, a bound of the type, or text."""

import datetime as dt
import decimal
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute
from pyarrow import types as t

from lakehouse.declarations.policies.special_values import SpecialValues
from lakehouse.formats.changes.debezium.schema_encoding import SchemaEncoding
from lakehouse.formats.changes.encodings import JSON, Encoding, PlainEncoding, floats, quoted
from lakehouse.formats.changes.facts import ChangeTable, bools, rows_where
from lakehouse.formats.changes.row_images import Images
from lakehouse.formats.changes.special_values.forms import special_count, special_number, special_time
from lakehouse.formats.json.text import BEYOND_YEARS, Parsed, Refused

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers


def images_of(table: ChangeTable, encoding: Encoding) -> Images:
    """Reads images of a changelog's rows, with what is declared of special values.

    Raises:
        UndecodableType: a column's type has no form in these messages.
    """
    if table.special_values:
        names = frozenset(field.name for field in table.source_key)
        encoding = SpecialValuesEncoding(encoding, table.special_values, names)
    return Images(table.source_row, encoding)


@dataclass(frozen=True)
class SpecialValuesEncoding:
    """Values as another encoding reads them, but for those that a column has no room for.

    Attributes:
        inner: the other encoding.
        policies: Spark's name of a type → what becomes of such values.
        key: columns of the key, for which no policy holds: two rows could become one.
    """

    inner: Encoding
    policies: Mapping[str, SpecialValues]
    key: frozenset[str]

    def wire(self, declared: pa.DataType, path: str) -> pa.DataType:
        """JSON of what may be text as well as a number; else the same."""
        policy = self._policy(declared, path)
        wire = self.inner.wire(declared, path)
        if policy == "text" and t.is_string(wire):
            return JSON
        plain_double = t.is_float64(declared) and isinstance(self.inner, PlainEncoding)
        return JSON if policy is not None and plain_double else wire

    def read(self, array: pa.Array, declared: pa.DataType, path: str) -> Parsed:
        """Reads them."""
        policy = self._policy(declared, path.partition(".")[2])
        if policy is None:
            return self.inner.read(array, declared, path)
        if policy == "text":
            return self._texts(array, declared, path)
        if t.is_float64(declared) and isinstance(self.inner, PlainEncoding):
            parsed, refused = floats(array, declared)
        else:
            parsed, refused = self.inner.read(array, declared, path)
        specials, refused = _specials(array, declared, parsed, refused)
        if not specials:
            return parsed, refused
        rows = np.fromiter(specials, np.int64, len(specials))
        values = [_bound(declared, value) if policy == "clamp" else None for value in specials.values()]
        if policy == "quarantine":
            refused.append(Refused(rows, "out_of_range", "NaN, infinity, or a year that is not within 0001 to 9999"))
        mask = np.zeros(len(array), np.bool_)
        mask[rows] = True
        index = np.zeros(len(array), np.int64)
        index[rows] = np.arange(len(rows))
        return pc.if_else(pa.array(mask), pa.array(values, declared).take(pa.array(index)), parsed), refused

    def placeholders(self, declared: pa.DataType, path: str) -> pa.Array | None:
        """The same, in quotes where the parser is asked for JSON."""
        texts = self.inner.placeholders(declared, path)
        as_text = self.wire(declared, path) == JSON and t.is_string(self.inner.wire(declared, path))
        return quoted(texts) if texts is not None and as_text else texts

    def _policy(self, declared: pa.DataType, path: str) -> SpecialValues | None:
        return None if path in self.key else self.policies.get(_type_name(declared))

    def _texts(self, array: pa.Array, declared: pa.DataType, path: str) -> Parsed:
        """Texts as they are; numbers and truth values as the message writes them."""
        if isinstance(self.inner, SchemaEncoding) and not self.inner.is_scalar(path.partition(".")[2]):
            return self.inner.read(array, declared, path)
        nested = pc.match_substring_regex(array, r"^[\[{]")
        if bools(pc.match_substring(array, "\\")).any():
            decoded = [msgspec.json.decode(text) if text and text[0] == '"' else text for text in array.to_pylist()]
            array = pa.array(decoded, pa.string())
        else:
            array = pc.replace_substring_regex(array, '^"(.*)"$', r"\1")
        if not nested.true_count:
            return array, []
        refused = Refused(rows_where(nested), "wrong_type", "expected text, a number or a truth value")
        return pc.if_else(nested, pa.scalar(None, pa.string()), array), [refused]


def _specials(
    array: pa.Array, declared: pa.DataType, parsed: pa.Array, refused: list[Refused]
) -> tuple[dict[int, float], list[Refused]]:
    """Element → NaN or infinity with a sign, and what is refused for other reasons."""
    specials: dict[int, float] = {}
    if t.is_floating(declared):
        numbers = parsed.fill_null(0).to_numpy(zero_copy_only=False)
        specials = {row: float(numbers[row]) for row in np.flatnonzero(~np.isfinite(numbers)).tolist()}
    others: list[Refused] = []
    for refusal in refused:
        elements = refusal.elements.tolist()
        values = array.take(pa.array(refusal.elements, pa.int64())).to_pylist()
        beyond = refusal.complaint == BEYOND_YEARS
        signs = [_special(value, declared, beyond=beyond) for value in values]
        specials |= {row: value for row, value in zip(elements, signs, strict=True) if value is not None}
        rest = [row for row, value in zip(elements, signs, strict=True) if value is None]
        if rest:
            others.append(Refused(np.array(rest), refusal.error_class, refusal.complaint))
    return specials, others


def _special(value: str | float, declared: pa.DataType, *, beyond: bool) -> float | None:
    if isinstance(value, float):
        return None if math.isfinite(value) else value
    if isinstance(value, int):
        return special_count(value, declared) if beyond else None
    text = value.strip('"')
    return special_time(text, beyond=beyond) if t.is_temporal(declared) else special_number(text)


def _type_name(declared: pa.DataType) -> str:
    """As Spark calls it; nothing for types that no policy is for."""
    if t.is_timestamp(declared):
        return "timestamp" if declared.tz else "timestamp_ntz"
    if t.is_decimal128(declared):
        return "decimal"
    names = {pa.float32(): "float", pa.float64(): "double", pa.date32(): "date", pa.string(): "string"}
    return names.get(declared, "")


def _bound(declared: pa.DataType, value: float) -> Any:
    """The last value of a type on one side; none for NaN, which is on neither."""
    return None if math.isnan(value) else _bounds(declared)[value > 0]


@cache
def _bounds(declared: Any) -> tuple[Any, Any]:
    """The first and the last value of a type."""
    if t.is_timestamp(declared):
        zone = dt.UTC if declared.tz else None
        return dt.datetime.min.replace(tzinfo=zone), dt.datetime.max.replace(tzinfo=zone)
    if t.is_date(declared):
        return dt.date.min, dt.date.max
    if t.is_decimal(declared):
        last = decimal.Decimal((0, (9,) * declared.precision, -declared.scale))
    else:
        last = float(np.finfo(np.float32 if t.is_float32(declared) else np.float64).max)
    return -last, last
