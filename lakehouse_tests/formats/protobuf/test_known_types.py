"""Messages that mean a single value become that value, exactly, or have their reason."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from lakehouse_tests.formats.protobuf.writing import compiled, decode, message_type, reasons

SCHEMA = compiled(
    """import "google/protobuf/timestamp.proto"; import "google/protobuf/duration.proto";
    import "google/protobuf/wrappers.proto"; import "google/protobuf/struct.proto"; import "google/protobuf/any.proto";
    import "google/protobuf/field_mask.proto"; import "google/type/date.proto"; import "google/type/decimal.proto";
    import "confluent/type/decimal.proto";
    message M {
      google.protobuf.Timestamp timestamp = 1; google.protobuf.Duration duration = 2;
      google.protobuf.UInt64Value wrapped = 3; google.protobuf.Struct struct = 4; google.protobuf.Value value = 5;
      google.protobuf.ListValue list = 6; google.protobuf.FieldMask mask = 7; google.type.Date date = 8;
      google.type.Decimal written = 9; confluent.type.Decimal unscaled = 10; google.protobuf.Any any = 11;
    }"""
)
UTC = pa.timestamp("us", "UTC")
LAST = dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, dt.UTC)


def value_of(name: str, column: pa.DataType, **content: Any) -> object:
    """The value or the reason."""
    message = message_type(SCHEMA)()
    field = getattr(message, name)
    field.SetInParent()
    for key, value in content.items():
        if isinstance(value, dict):
            field.update(value)
        elif isinstance(value, list):
            getattr(field, key).extend(value)
        else:
            setattr(field, key, value)
    decoded = decode(pa.schema([(name, column)]), SCHEMA, message.SerializeToString())
    return reasons(decoded).get(0) or decoded.batch.column(name)[0].as_py()


@pytest.mark.parametrize(
    ("name", "column", "content", "expected"),
    [
        ("timestamp", UTC, {"seconds": -1, "nanos": 999_999_999}, LAST),
        ("timestamp", UTC, {"seconds": -62_135_596_800}, dt.datetime(1, 1, 1, tzinfo=dt.UTC)),
        ("timestamp", UTC, {"seconds": -62_135_596_801}, "out_of_range"),
        ("timestamp", UTC, {"seconds": 2**62}, "out_of_range"),
        ("timestamp", UTC, {"nanos": -1}, "out_of_range"),
        ("timestamp", UTC, {"nanos": 1_000_000_000}, "out_of_range"),
        ("timestamp", pa.timestamp("us"), {"seconds": 1}, "wrong_type"),
        ("timestamp", pa.struct([("nanos", pa.int32())]), {"seconds": 1, "nanos": 5}, {"nanos": 5}),
        ("duration", pa.decimal128(21, 9), {"seconds": -1, "nanos": -5}, Decimal("-1.000000005")),
        ("duration", pa.decimal128(21, 3), {"nanos": 5}, "out_of_range"),
        ("duration", pa.decimal128(21, 9), {"seconds": 1, "nanos": -5}, "out_of_range"),
        ("duration", pa.string(), {"seconds": 1, "nanos": 500_000_000}, "1.500s"),
        ("wrapped", pa.decimal128(20, 0), {"value": 2**64 - 1}, Decimal(2**64 - 1)),
        ("wrapped", pa.int64(), {}, 0),
        ("struct", pa.string(), {"_": {"b": [1, None, "é"], "a": True}}, '{"a": true, "b": [1.0, null, "é"]}'),
        ("struct", pa.struct([("a", pa.bool_())]), {"_": {"a": True}}, {"a": None}),
        ("value", pa.string(), {"string_value": "x"}, '"x"'),
        ("value", pa.string(), {"number_value": float("nan")}, "wrong_type"),
        ("list", pa.string(), {"values": []}, "[]"),
        ("mask", pa.string(), {"paths": ["a_b", "c"]}, "aB,c"),
        ("date", pa.date32(), {"year": 2026, "month": 2, "day": 28}, dt.date(2026, 2, 28)),
        ("date", pa.date32(), {"year": 2026, "month": 2, "day": 30}, "out_of_range"),
        ("date", pa.date32(), {"year": 2026}, "out_of_range"),
        ("written", pa.decimal128(10, 2), {"value": "-1.5e1"}, Decimal("-15.00")),
        ("written", pa.decimal128(10, 2), {"value": "1.005"}, "out_of_range"),
        ("written", pa.decimal128(10, 2), {"value": "1e999999999"}, "out_of_range"),
        ("written", pa.decimal128(10, 2), {"value": "NaN"}, "wrong_type"),
        ("written", pa.decimal128(10, 2), {"value": "x"}, "wrong_type"),
        ("unscaled", pa.decimal128(10, 2), {"value": b"\xff\x85", "scale": 2}, Decimal("-1.23")),
        ("unscaled", pa.decimal128(10, 1), {"value": b"\x7b", "scale": 2}, "out_of_range"),
        ("unscaled", pa.decimal128(10, 2), {"value": b"\x01", "scale": -(2**31)}, "wrong_type"),
        ("any", pa.string(), {"type_url": "x"}, "wrong_type"),
        ("any", pa.struct([("type_url", pa.string())]), {"type_url": "x"}, {"type_url": "x"}),
    ],
)  # fmt: skip
def test_a_value_is_exact_or_refused(name: str, column: pa.DataType, content: dict[str, Any], expected: object) -> None:
    assert value_of(name, column, **content) == expected


def test_what_is_not_there_is_null() -> None:
    columns = pa.schema([("timestamp", UTC), ("wrapped", pa.int64()), ("struct", pa.string()), ("date", pa.date32())])
    assert decode(columns, SCHEMA, b"").batch.to_pylist() == [dict.fromkeys(columns.names)]
