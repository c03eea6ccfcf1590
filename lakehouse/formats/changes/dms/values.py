"""How AWS DMS writes the values of a row."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from pyarrow import types as t

from lakehouse.formats.changes.encodings import JSON
from lakehouse.formats.changes.facts import rows_where
from lakehouse.formats.json.text import Parsed, Refused, parse_text
from lakehouse.formats.json.wire import wire_type

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers


@dataclass(frozen=True)
class DmsEncoding:
    """Values as AWS DMS has them: numbers and booleans also as text, timestamps with Z, binary in hexadecimal."""

    truths: dict[str, bool] = field(
        default_factory=lambda: {
            **dict.fromkeys(("true", "t", "1"), True),
            **dict.fromkeys(("false", "f", "0"), False),
        }
    )

    def wire(self, declared: pa.DataType, path: str) -> pa.DataType:
        """Whatever may be text or not is taken as JSON."""
        given = wire_type(declared, path)
        return JSON if t.is_boolean(given) or t.is_integer(given) or t.is_floating(given) else given

    def read(self, array: pa.Array, declared: pa.DataType, path: str) -> Parsed:  # noqa: ARG002 - one interface
        """Reads them."""
        if t.is_string(declared):
            return array, []
        if t.is_binary(declared):
            return _hexadecimal(array)
        if t.is_date32(declared):
            return parse_text(pc.replace_substring_regex(array, r"[T ]00:00:00(\.0+)?Z?$", ""), declared)
        if t.is_timestamp(declared):
            return parse_text(array if declared.tz else pc.replace_substring_regex(array, "Z$", ""), declared)
        return self._read_json(pc.replace_substring_regex(array, '^"(.*)"$', r"\1"), declared)

    def _read_json(self, text: pa.Array, declared: pa.DataType) -> Parsed:
        if t.is_boolean(declared):
            return _booleans(text, self.truths)
        if t.is_integer(declared):
            return _whole_numbers(text, declared)
        return _fractions(text, declared) if t.is_floating(declared) else parse_text(text, declared)

    def placeholders(self, declared: pa.DataType, path: str) -> pa.Array | None:
        """DMS sends every value."""
        del declared, path


def _hexadecimal(array: pa.Array) -> Parsed:
    text = pc.replace_substring_regex(array, "^0[xX]", "")
    wrong = pc.invert(pc.match_substring_regex(text, "^(?:[0-9A-Fa-f]{2})*$"))
    values = [
        None if value is None or bad else bytes.fromhex(value)
        for value, bad in zip(text.to_pylist(), wrong.to_pylist(), strict=True)
    ]
    return pa.array(values, pa.binary()), _refusals(wrong, "expected hexadecimal digits")


def _booleans(text: pa.Array, truths: dict[str, bool]) -> Parsed:
    booleans = [None if value is None else truths.get(value.lower()) for value in text.to_pylist()]
    array = pa.array(booleans, pa.bool_())
    return array, _refusals(pc.and_(text.is_valid(), array.is_null()), "expected boolean")


def _whole_numbers(text: pa.Array, target: pa.DataType) -> Parsed:
    wrong = pc.invert(pc.match_substring_regex(text, "^-?[0-9]{1,40}$"))
    text = pc.if_else(pc.fill_null(wrong, True), pa.scalar(None, pa.string()), text)
    refused = _refusals(wrong, "expected integer")
    try:
        return text.cast(target), refused
    except pa.ArrowInvalid:
        bits = target.bit_width - 1
        numbers = [None if value is None else int(value) for value in text.to_pylist()]
        fits = [number is None or -(1 << bits) <= number < 1 << bits for number in numbers]
        beyond = Refused(np.flatnonzero(np.invert(fits)), "out_of_range", "the number does not fit the type")
        fitting = [number if fit else None for number, fit in zip(numbers, fits, strict=True)]
        return pa.array(fitting, target), [*refused, beyond]


def _fractions(text: pa.Array, target: pa.DataType) -> Parsed:
    wrong = pc.invert(pc.match_substring_regex(text, r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"))
    text = pc.if_else(pc.fill_null(wrong, True), pa.scalar(None, pa.string()), text)
    refused = _refusals(wrong, "expected number")
    if t.is_float32(target):
        numbers, beyond = parse_text(text, target)
        return numbers, [*refused, *beyond]
    numbers = text.cast(target)
    infinite = pc.fill_null(pc.is_inf(numbers), False)
    if infinite.true_count:
        refused.append(Refused(rows_where(infinite), "out_of_range", "the number does not fit the type"))
        numbers = pc.if_else(infinite, pa.scalar(None, target), numbers)
    return numbers, refused


def _refusals(wrong: pa.Array, complaint: str) -> list[Refused]:
    rows = rows_where(wrong)
    return [Refused(rows, "wrong_type", complaint)] if len(rows) else []
