"""Timestamps, dates, decimals and base64 are read by one strict definition, whichever way is taken."""

import base64
import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakehouse.formats.json.text import parse_text

TZ = pa.timestamp("us", "UTC")


def read(kind: pa.DataType, *texts: str | None) -> list[object]:
    """Parsed values; for those refused, the class of the refusal."""
    parsed, refused = parse_text(pa.array(texts, pa.string()), kind)
    values = parsed.to_pylist()
    for some in refused:
        for element in some.elements.tolist():
            assert values[element] is None
            values[element] = some.error_class
    return values


@settings(deadline=None)
@given(
    st.lists(st.datetimes(min_value=dt.datetime(1, 1, 2), max_value=dt.datetime(9999, 12, 30)), max_size=5),  # noqa: DTZ001
    st.sampled_from(["Z", "+00:00", "-00:00", "+01:30", "-1800", "+07"]),
    st.sampled_from("T "),
    st.booleans(),
)
def test_what_python_writes_as_iso_is_read_as_python_reads_it(
    moments: list[dt.datetime], zone: str, separator: str, odd: bool
) -> None:
    texts = [moment.isoformat(separator) + zone for moment in moments]
    expected: list[object] = [dt.datetime.fromisoformat(text).astimezone(dt.UTC) for text in texts]
    # One odd text sends all of them the slow way.
    assert read(TZ, *texts, *["odd"] * odd) == expected + ["wrong_type"] * odd
    assert read(pa.timestamp("us"), *[moment.isoformat(separator) for moment in moments]) == list(moments)
    assert read(pa.date32(), *[moment.date().isoformat() for moment in moments]) == [m.date() for m in moments]


@settings(deadline=None)
@given(st.dates(min_value=dt.date(1, 1, 1)) | st.sampled_from([dt.date(1900, 2, 28), dt.date(2000, 2, 29)]))
def test_the_calendar_has_the_days_that_python_has(day: dt.date) -> None:
    for number in range(28, 33):
        text = f"{day.year:04}-{day.month:02}-{number:02}"
        try:
            expected: object = dt.date.fromisoformat(text)
        except ValueError:
            expected = "wrong_type" if number > 99 else "out_of_range"
        assert read(pa.date32(), text) == [expected]


def test_digits_after_the_sixth_are_cut_off_as_spark_does() -> None:
    late = dt.datetime(1969, 12, 31, 23, 59, 59, 123456, tzinfo=dt.UTC)
    assert read(TZ, "1969-12-31T23:59:59.1234569999Z", "1969-12-31T23:59:59.123456Z", None) == [late, late, None]


@pytest.mark.parametrize(
    ("text", "error_class"),
    [
        ("2026-01-02T03:04:05", "wrong_type"),
        ("2026-01-02T03:04Z", "wrong_type"),
        ("2026-01-02", "wrong_type"),
        ("2026-01-02T03:04:05.Z", "wrong_type"),
        ("2026-01-02T03:04:05 Z", "wrong_type"),
        ("2026-01-02T03:04:05z", "wrong_type"),
        (" 2026-01-02T03:04:05Z", "wrong_type"),
        ("2026-01-02T03:04:05Z\n", "wrong_type"),
        ("10000-01-01T00:00:00Z", "wrong_type"),
        ("2026-01-02T03:04:05+18:01", "out_of_range"),
        ("2026-01-02T24:00:00Z", "out_of_range"),
        ("2026-01-02T23:59:60Z", "out_of_range"),
        ("2026-13-02T00:00:00Z", "out_of_range"),
        ("0000-01-01T00:00:00Z", "out_of_range"),
        ("0001-01-01T00:00:00+00:01", "out_of_range"),
        ("9999-12-31T23:59:59-00:01", "out_of_range"),
    ],
)
def test_other_timestamps_are_refused_alone_and_in_company(text: str, error_class: str) -> None:
    good = "2026-01-02T03:04:05Z"
    assert read(TZ, text) == [error_class]
    assert read(TZ, good, text, None, good)[1:3] == [error_class, None]


def test_a_zone_where_none_belongs_is_refused() -> None:
    assert read(pa.timestamp("us"), "2026-01-02T03:04:05Z", "2026-01-02T03:04:05+01:00") == ["wrong_type"] * 2


def test_a_float_is_rounded_once_and_must_fit() -> None:
    """Through a double the first would become 1.0000002; Spark reads both as here."""
    texts = ["1.00000017881393432617187499", "7.0064923216240854e-46", "-0", "-0.0", "3.4028235677973366e38"]
    values = ["1.0000001192092896", "1.401298464324817e-45", "0.0", "-0.0", "3.4028234663852886e+38"]
    assert [str(value) for value in read(pa.float32(), *texts)] == values
    assert read(pa.float32(), "1e400", '"1"', "true", "[1]", None) == ["out_of_range", *["wrong_type"] * 3, None]


@settings(deadline=None)
@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9))
def test_a_decimal_is_exact_or_refused(number: Decimal) -> None:
    fits = abs(number) < 10**5 and number == round(number, 2)
    assert read(pa.decimal128(7, 2), str(number)) == [number if fits else "out_of_range"]


def test_decimals_are_numbers_and_nothing_else() -> None:
    texts = ["NaN", "Infinity", " 1", "1_0", "0x1", "", ".", "1e", "1,000", "١"]
    assert read(pa.decimal128(38, 0), *texts) == ["wrong_type"] * len(texts)
    assert read(pa.decimal128(38, 0), "1e999999999", "1e-999999999", "9" * 39) == ["out_of_range"] * 3
    assert read(pa.decimal128(38, 0), "+1", "5.", "0e9", "9" * 38) == [1, 5, 0, int("9" * 38)]


@given(st.binary(max_size=20))
def test_base64_is_read_back(content: bytes) -> None:
    assert read(pa.binary(), base64.b64encode(content).decode()) == [content]


def test_base64_must_be_padded_and_plain() -> None:
    texts = ["AA", "AAA", "A", "AA=", "AAAA====", "-_8=", "AAAA\nAAAA", "A A="]
    assert read(pa.binary(), *texts) == ["wrong_type"] * len(texts)
