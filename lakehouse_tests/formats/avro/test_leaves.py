"""Which simple types go together, and what of them does not fit."""

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from lakehouse_tests.formats.avro.writing import decode, encoded, reasons, record

UTC = pa.timestamp("us", "UTC")
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC).replace(tzinfo=None)
FIXED_UUID = {"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}
SHORT = {"type": "bytes", "logicalType": "decimal", "precision": 3, "scale": 1}
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 2}


def read_value(kind: Any, column: pa.DataType, raw: Any) -> object:
    """The value or the reason. Records are written without their logical types, so that any number can be."""
    plain = (
        {"type": kind["type"], **{key: kind[key] for key in ("name", "size", "symbols") if key in kind}}
        if isinstance(kind, dict)
        else kind
    )
    decoded = decode(pa.schema([("x", column)]), record(("x", kind)), encoded(record(("x", plain)), {"x": raw}))
    return reasons(decoded).get(0) or decoded.batch.column("x")[0].as_py()


def logical(kind: str, name: str) -> dict[str, str]:
    return {"type": kind, "logicalType": name}


@pytest.mark.parametrize(
    ("kind", "column", "raw", "expected"),
    [
        ("long", pa.float64(), 2**53, 2.0**53),
        ("long", pa.float64(), 2**53 + 1, "out_of_range"),
        ("long", pa.float64(), 2**63 - 1, "out_of_range"),
        ("int", pa.float32(), 2**24 + 1, "out_of_range"),
        ("long", pa.decimal128(3, 1), 99, Decimal("99.0")),
        ("long", pa.decimal128(3, 1), 100, "out_of_range"),
        ("long", pa.int32(), 1, "wrong_type"),
        ("double", pa.float32(), 1.0, "wrong_type"),
        ("string", pa.int32(), "1", "wrong_type"),
        ("boolean", pa.int32(), True, "wrong_type"),
        ("bytes", pa.string(), "ü".encode(), "ü"),
        ("bytes", pa.string(), b"\xff", "wrong_type"),
        ("string", pa.binary(), "ü", "ü".encode()),
        (logical("int", "date"), pa.date32(), -719_162, dt.date(1, 1, 1)),
        (logical("int", "date"), pa.date32(), -719_163, "out_of_range"),
        (logical("int", "date"), pa.int64(), 3, 3),
        ("int", pa.date32(), 3, "wrong_type"),
        ("long", UTC, 3, "wrong_type"),
        (logical("long", "timestamp-nanos"), UTC, -1, dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, dt.UTC)),
        (logical("long", "timestamp-millis"), UTC, 2**62, "out_of_range"),
        (logical("long", "local-timestamp-millis"), pa.timestamp("us"), 1, EPOCH + dt.timedelta(milliseconds=1)),
        (logical("long", "local-timestamp-micros"), UTC, 1, "wrong_type"),
        (logical("long", "timestamp-micros"), pa.timestamp("us"), 1, "wrong_type"),
        (logical("long", "time-micros"), pa.int64(), 5, 5),
        (DECIMAL, pa.decimal128(5, 1), b"\x27\x0a", "out_of_range"),
        (DECIMAL, pa.decimal128(5, 1), b"\xff\x9c", Decimal("-1.0")),
        (DECIMAL, pa.decimal128(38, 2), b"\x7f" * 40, "out_of_range"),
        (DECIMAL, pa.decimal128(38, 2), b"", Decimal("0.00")),
        (SHORT, pa.decimal128(9, 1), b"\x03\xe7", Decimal("99.9")),
        (SHORT, pa.decimal128(9, 1), b"\x03\xe8", "out_of_range"),
        (SHORT, pa.decimal128(9, 1), b"\xfc\x18", "out_of_range"),
        (DECIMAL, pa.binary(), b"\x01", b"\x01"),
        (FIXED_UUID, pa.string(), bytes(16), str(uuid.UUID(int=0))),
        ({"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}, pa.binary(), bytes(12), bytes(12)),
    ],
)  # fmt: skip
def test_a_value_is_exact_or_refused(kind: Any, column: pa.DataType, raw: Any, expected: object) -> None:
    assert read_value(kind, column, raw) == expected


@pytest.mark.parametrize("column", [pa.binary(), pa.string()])
def test_a_fixed_of_any_size_takes_no_memory_that_its_records_do_not_have(column: pa.DataType) -> None:
    kind = {"type": "fixed", "name": "F", "size": 2**40}
    assert reasons(decode(pa.schema([("x", column)]), record(("x", kind)), *[b"short"] * 3)) == dict.fromkeys(
        range(3), "not_avro"
    )


def test_a_string_that_is_no_text_is_refused_in_a_binary_column_as_well() -> None:
    columns = pa.schema([("x", pa.binary())])
    assert reasons(decode(columns, record(("x", "string")), b"\x02\xff", b"\x02a")) == {0: "wrong_type"}


def test_an_int_of_more_than_32_bits_a_boolean_of_2_and_a_symbol_that_is_not_there_are_no_avro() -> None:
    columns = pa.schema([("x", pa.string())])
    symbols = {"type": "enum", "name": "E", "symbols": ["A"]}
    assert reasons(decode(columns, record(("x", symbols)), b"\x02", b"\x01", b"\x00")) == {0: "not_avro", 1: "not_avro"}
    assert reasons(decode(pa.schema([("x", pa.int64())]), record(("x", "int")), b"\x80\x80\x80\x80\x10")) == {
        0: "not_avro"
    }
    assert reasons(decode(pa.schema([("x", pa.bool_())]), record(("x", "boolean")), b"\x02", b"\x01")) == {
        0: "not_avro"
    }


def test_a_float_that_is_a_signalling_nan_is_a_nan_without_a_warning() -> None:
    decoded = decode(pa.schema([("x", pa.float64())]), record(("x", "float")), b"\x01\x00\xa0\x7f", b"\x00\x00\x80\x3f")
    assert (reasons(decoded), str(decoded.batch.column("x").to_pylist())) == ({}, "[nan, 1.0]")
