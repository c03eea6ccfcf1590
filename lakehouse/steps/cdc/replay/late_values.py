"""The texts of JSON values, as Spark's `from_json` gives them for a map of strings: for the proof, read by Python.

A string is its own text. A number is written as Java writes it: an integer with its digits, any other as the shortest
decimal of a double, in scientific notation from ten million on and below a thousandth; what is none is in quotes.
Java before 19 writes a few doubles, such as 1e23, with more digits: a text that was such a number shows as different.
"""

import json
import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import polars as pl

_LONGEST_NUMBER = 1000  # digits; to Jackson more are an attack
_PLAIN_FROM, _PLAIN_TO = 1e-3, 1e7


class _Number(str):
    """The text of a number, apart from that of a string."""

    __slots__ = ()


def _integer(text: str) -> _Number:
    return _Number("0" if text == "-0" else text)


def _floating(text: str) -> _Number:
    value = float(text)
    return _constant(f"{'-' if value < 0 else ''}Infinity") if math.isinf(value) else _Number(java_double(value))


def _constant(text: str) -> _Number:
    return _Number(f'"{text}"')


_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_floating, parse_constant=_constant, strict=False)


def late_texts(extra: Iterable[str | None], names: Sequence[str]) -> dict[str, pl.Series]:
    """Name → text of the field of this name in each JSON object, or null where it has none.

    Args:
        extra: JSON objects; null and what is none hold no field.
        names: of the fields.
    """
    rows = [_fields(text) for text in extra]
    return {name: pl.Series([_text(row.get(name)) for row in rows], dtype=pl.String()) for name in names}


def _fields(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        fields = _DECODER.decode(text)
    except json.JSONDecodeError:
        return {}
    return fields if isinstance(fields, dict) else {}


def _text(value: Any) -> str | None:
    match value:
        case None:
            return None
        case _Number():
            return str(value) if len(value) <= _LONGEST_NUMBER else None
        case str():
            return value
        case _:
            return _json(value)


def _json(value: Any) -> str:
    """A value within another one, or a boolean: without spaces, strings in quotes."""
    match value:
        case dict():
            return "{" + ",".join(f"{_json(key)}:{_json(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ",".join(map(_json, value)) + "]"
        case _Number():
            return str(value)
        case _:
            return json.dumps(value, ensure_ascii=False)


def java_double(value: float) -> str:
    """A finite double as Java's `Double.toString` specifies it."""
    if value == 0 or _PLAIN_FROM <= abs(value) < _PLAIN_TO:
        return repr(value)
    sign, digits, _ = Decimal(repr(value)).normalize().as_tuple()
    exponent = Decimal(repr(value)).adjusted()
    fraction = "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{digits[0]}.{fraction}E{exponent}"
