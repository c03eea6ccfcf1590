"""What sources write for infinity and for days out of the calendar, and what only looks like it."""

import math
from typing import Any

import pyarrow as pa
import pytest

from lakehouse.formats.changes.special_values.forms import special_count, special_number, special_time

HIGH, LOW = math.inf, -math.inf


@pytest.mark.parametrize(
    ("text", "side"),
    [
        *(("infinity", HIGH), ("-Infinity", LOW), ("+inf", HIGH)),
        *(("-5877611-06-21", HIGH), ("-5877611-06-22Z", LOW), ("+5881580-07-11", HIGH)),
        *(("0000-00-00", LOW), ("0000-12-31", LOW), ("0044-03-15 BC", LOW), ("-0043-03-15T12:00:00Z", LOW)),
        *(("10000-01-01 00:00:00.5+02", HIGH), ("+294247-01-10T04:00:25.2Z", HIGH)),
        *(("2026-01-01", None), ("nan", None), ("10000-1-1", None), ("10000-02-32", None), ("12000", None), ("", None)),
    ],
)
def test_times(text: str, side: float | None) -> None:
    assert special_time(text, beyond=False) == side


def test_a_zone_that_leads_out_of_the_years() -> None:
    assert special_time("9999-12-31T23:59:59-01:00", beyond=True) == HIGH
    assert special_time("0001-01-01T00:00:00+01:00", beyond=True) == LOW


@pytest.mark.parametrize(
    ("count", "kind", "side"),
    [
        *((-2147472692, pa.date32(), HIGH), (-2147472691, pa.date32(), LOW), (-2147472692, pa.timestamp("us"), LOW)),
        *((2932897, pa.date32(), HIGH), (-719163, pa.date32(), LOW)),
    ],
)
def test_counts(count: int, kind: Any, side: float) -> None:
    assert special_count(count, kind) == side


def test_numbers() -> None:
    assert math.isnan(special_number("NaN") or 0)
    assert (special_number("Infinity"), special_number("-inf")) == (HIGH, LOW)
    assert [special_number(text) for text in ("1", "", "infinite", "x")] == [None] * 4
