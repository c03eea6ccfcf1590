"""Which simple types go together, and what of them does not fit."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from lakehouse_tests.formats.protobuf.writing import compiled, decode, encoded, reasons


def value_of(kind: str, column: pa.DataType, raw: Any) -> object:
    """The value or the reason."""
    schema = compiled(f"enum E {{ ZERO = 0; ONE = 1; }} message M {{ optional {kind} x = 1; }}")
    decoded = decode(pa.schema([("x", column)]), schema, encoded(schema, {"x": raw}))
    return reasons(decoded).get(0) or decoded.batch.column("x")[0].as_py()


@pytest.mark.parametrize(
    ("kind", "column", "raw", "expected"),
    [
        ("uint32", pa.int64(), 2**32 - 1, 2**32 - 1),
        ("uint32", pa.int32(), 1, "wrong_type"),
        ("int64", pa.int32(), 1, "wrong_type"),
        ("uint64", pa.int64(), 2**63 - 1, 2**63 - 1),
        ("uint64", pa.int64(), 2**63, "out_of_range"),
        ("fixed64", pa.decimal128(20, 0), 2**64 - 1, Decimal(2**64 - 1)),
        ("uint64", pa.decimal128(19, 0), 2**64 - 1, "out_of_range"),
        ("sint64", pa.decimal128(20, 1), -(2**63), Decimal(-(2**63))),
        ("int64", pa.float64(), 2**53, 2.0**53),
        ("int64", pa.float64(), 2**53 + 1, "out_of_range"),
        ("int32", pa.float32(), 2**24 + 1, "out_of_range"),
        ("uint64", pa.float64(), 2**63, 2.0**63),
        ("double", pa.float64(), "NaN", pytest.approx(float("nan"), nan_ok=True)),
        ("double", pa.float32(), 1.5, "wrong_type"),
        ("float", pa.float64(), 1.5, 1.5),
        ("bool", pa.bool_(), True, True),
        ("bool", pa.int32(), True, "wrong_type"),
        ("string", pa.binary(), "é", "é".encode()),
        ("bytes", pa.string(), "w6k=", "é"),
        ("bytes", pa.string(), "/w==", "wrong_type"),
        ("bytes", pa.binary(), "/w==", b"\xff"),
        ("E", pa.string(), "ONE", "ONE"),
        ("E", pa.string(), 7, "out_of_range"),
        ("E", pa.int32(), 7, 7),
        ("E", pa.int64(), 1, 1),
        ("E", pa.bool_(), 1, "wrong_type"),
        ("string", pa.int64(), "1", "wrong_type"),
    ],
)
def test_a_value_is_exact_or_refused(kind: str, column: pa.DataType, raw: Any, expected: object) -> None:
    assert value_of(kind, column, raw) == expected
