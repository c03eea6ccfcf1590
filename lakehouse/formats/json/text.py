r"""Types that JSON carries as text: the one definition of how each is written.

===========  ==========================================================================================================
timestamptz  ``2026-01-02T03:04:05.123456Z``; ``T`` or one space; seconds required; fraction optional, digits after the
             sixth are cut off; ``Z``, ``±HH``, ``±HHMM`` or ``±HH:MM`` required, up to 18 hours
timestamp    the same without zone, which is refused
date         ``2026-01-02``
float        a JSON number, rounded once
decimal      a JSON number, or a string ``[±]digits[.digits][e±digits]``; it must fit precision and scale exactly
binary       base64 (RFC 4648, section 4), padded
===========  ==========================================================================================================

Years are 0001 to 9999. Parsing gives an array of the type with nulls where it refused, and the refusals.
"""

import base64
import datetime as dt
import decimal
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute
from pyarrow import types as t

from lakehouse.formats.verdict import ErrorClass

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers

_LEAP_YEAR = r"(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_DAY = (
    r"(?:\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))"
    rf"|{_LEAP_YEAR}-02-29)"
)
_ANY_DAY = r"\d{4}-\d\d-\d\d"
_TIME = r"[T ](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?"
_ANY_TIME = r"[T ]\d\d:\d\d:\d\d(?:\.\d+)?"
_ZONE = r"(?:Z|[+-](?:(?:0\d|1[0-7])(?::?[0-5]\d)?|18(?::?00)?))"
_ANY_ZONE = r"(?:Z|[+-]\d\d(?::?\d\d)?)"
_DECIMAL = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
_BASE64 = r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
FIRST_MICRO = (dt.datetime.min.replace(tzinfo=dt.UTC) - _EPOCH) // dt.timedelta(microseconds=1)
LAST_MICRO = (dt.datetime.max.replace(tzinfo=dt.UTC) - _EPOCH) // dt.timedelta(microseconds=1)
FIRST_DAY = (dt.date.min - _EPOCH.date()).days
LAST_DAY = (dt.date.max - _EPOCH.date()).days

BEYOND_YEARS = "the year is not within 0001 to 9999"
"""The complaint about a date or timestamp that is well written, and that no column has room for."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Elements of an array that are not what they should be."""

    elements: np.ndarray
    error_class: ErrorClass
    complaint: str


Parsed = tuple[pa.Array, list[Refused]]


def parse_text(text: pa.StringArray, target: pa.DataType) -> Parsed:
    """Reads text as a timestamp, date, float, decimal or binary."""
    if t.is_timestamp(target):
        return _timestamps(text, target)
    if t.is_date32(target):
        return _dates(text)
    if t.is_floating(target):
        return _floats(text, target)
    return _decimals(text, target) if t.is_decimal(target) else _binaries(text)


def _timestamps(text: pa.StringArray, target: pa.TimestampType) -> Parsed:
    zoned = target.tz is not None
    parsed = _usual_timestamps(text, target, zoned=zoned)
    if parsed is not None:
        return parsed, []
    zone, any_zone, wanted = (_ZONE, _ANY_ZONE, "with an offset or Z") if zoned else ("", "", "without zone")
    complaint = f"expected an ISO-8601 timestamp {wanted}"
    fits, refused = _calendar(text, _DAY + _TIME + zone, _ANY_DAY + _ANY_TIME + any_zone, complaint)
    parsed = pc.replace_substring_regex(fits, r"(\.\d{6})\d+", r"\1").cast(target)
    parsed, beyond = _between(parsed, pa.int64(), FIRST_MICRO, LAST_MICRO)
    return parsed, [*refused, *beyond]


def _usual_timestamps(text: pa.StringArray, target: pa.TimestampType, *, zoned: bool) -> pa.Array | None:
    """Timestamps in the form that nearly all have, at a quarter of the price of a regular expression.

    Arrow's own cast knows the calendar and insists on the zone or its absence. It also takes shorter forms, so seconds
    are looked for (a colon at 16), and only ``Z`` is taken here for a zone.
    """
    present = text.drop_null()
    if len(present) == 0:
        return pa.nulls(len(text), target)
    offsets = np.frombuffer(present.buffers()[1], np.int32)[present.offset : present.offset + len(present) + 1]
    lengths = np.diff(offsets)
    longest = 27 if zoned else 26
    if lengths.min() < (20 if zoned else 19) or lengths.max() > longest:
        return None
    data = np.frombuffer(present.buffers()[2], np.uint8)
    if not (data[offsets[:-1] + 16] == ord(":")).all() or (zoned and not (data[offsets[1:] - 1] == ord("Z")).all()):
        return None
    try:
        parsed = text.cast(target)
    except pa.ArrowInvalid:
        return None
    return None if _between(parsed, pa.int64(), FIRST_MICRO, LAST_MICRO)[1] else parsed


def _dates(text: pa.StringArray) -> Parsed:
    fits, refused = _calendar(text, _DAY, _ANY_DAY, "expected an ISO-8601 date")
    parsed, beyond = _between(fits.cast(pa.date32()), pa.int32(), FIRST_DAY, LAST_DAY)
    return parsed, [*refused, *beyond]


def _between(parsed: pa.Array, number: pa.DataType, first: int, last: int) -> Parsed:
    """Refuses the year 0000, and what an offset moves beyond the years that there are."""
    numbers = parsed.view(number)
    extent = pc.min_max(numbers).as_py()
    if extent["min"] is None or (extent["min"] >= first and extent["max"] <= last):
        return parsed, []
    beyond = pc.fill_null(pc.or_(pc.less(numbers, first), pc.greater(numbers, last)), False)
    refused = Refused(_where(beyond), "out_of_range", BEYOND_YEARS)
    return pc.if_else(beyond, pa.scalar(None, parsed.type), parsed), [refused]


def _floats(text: pa.StringArray, target: pa.DataType) -> Parsed:
    """Floats from the JSON of numbers. An integer zero has no sign, as in Spark."""
    fits, refused = _grammar(text, r"^-?[0-9]", "expected number")
    numbers = pc.if_else(pc.equal(fits, "-0"), "0", fits).cast(target)
    infinite = pc.fill_null(pc.is_inf(numbers), False)
    if infinite.true_count:
        refused.append(Refused(_where(infinite), "out_of_range", "the number does not fit the type"))
        numbers = pc.if_else(infinite, pa.scalar(None, target), numbers)
    return numbers, refused


def _decimals(text: pa.StringArray, target: pa.Decimal128Type) -> Parsed:
    fits, refused = _grammar(text, _DECIMAL, "expected a decimal number")
    exactly = decimal.Context(prec=target.precision, traps=[decimal.Inexact, decimal.InvalidOperation])
    scale = decimal.Decimal(1).scaleb(-target.scale)
    numbers: list[decimal.Decimal | None] = []
    beyond: list[int] = []
    for element, number in enumerate(fits.to_pylist()):
        try:
            numbers.append(None if number is None else decimal.Decimal(number).quantize(scale, context=exactly))
        except (decimal.Inexact, decimal.InvalidOperation):
            numbers.append(None)
            beyond.append(element)
    if beyond:
        complaint = f"the number does not fit {target.precision} digits with {target.scale} decimals"
        refused.append(Refused(np.array(beyond), "out_of_range", complaint))
    return pa.array(numbers, target), refused


def _binaries(text: pa.StringArray) -> Parsed:
    fits, refused = _grammar(text, _BASE64, "expected base64")
    return pa.array([None if x is None else base64.b64decode(x) for x in fits.to_pylist()], pa.binary()), refused


def _grammar(text: pa.StringArray, pattern: str, complaint: str) -> tuple[pa.StringArray, list[Refused]]:
    fits = pc.match_substring_regex(text, pattern)
    if fits.true_count + fits.null_count == len(fits):
        return text, []
    wrong = pc.fill_null(pc.invert(fits), False)
    return pc.if_else(wrong, pa.scalar(None, pa.string()), text), [Refused(_where(wrong), "wrong_type", complaint)]


def _calendar(text: pa.StringArray, pattern: str, shape: str, complaint: str) -> tuple[pa.StringArray, list[Refused]]:
    """Tells what looks right and is on no calendar or clock (30 February, 25:00) from what looks wrong."""
    fits, refused = _grammar(text, f"^{pattern}$", complaint)
    if not refused:
        return fits, []
    unfit = refused[0].elements
    shaped = pc.match_substring_regex(text.take(pa.array(unfit)), f"^{shape}$").to_numpy(zero_copy_only=False)
    absurd = Refused(unfit[shaped], "out_of_range", "there is no such day, time or offset")
    return fits, [absurd, Refused(unfit[~shaped], "wrong_type", complaint)]


def _where(mask: pa.BooleanArray) -> np.ndarray:
    return np.flatnonzero(cast("np.ndarray", mask.to_numpy(zero_copy_only=False)))
