"""What no column wants is passed over, with the same limits."""

from typing import Any

import pyarrow as pa
import pytest

from lakehouse_tests.formats.avro.writing import decode, encoded, reasons, record

COLUMNS = pa.schema([("last", pa.int32())])
INTS = {"type": "array", "items": "int"}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("null", None),
        ("boolean", True),
        ("long", 2**62),
        ("float", 1.0),
        ("double", 1.0),
        ("bytes", b"\x00\x01"),
        ({"type": "fixed", "name": "F", "size": 3}, b"abc"),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B"),
        (["null", "string", INTS], [1, 2]),
        ({"type": "map", "values": INTS}, {"a": [1], "b": []}),
        ({"type": "record", "name": "R", "fields": [{"name": "m", "type": "string"}]}, {"m": "x"}),
    ],
)
def test_what_follows_is_read_all_the_same(kind: Any, value: object) -> None:
    schema = record(("first", kind), ("last", "int"))
    good = encoded(schema, {"first": value, "last": 7})
    decoded = decode(COLUMNS, schema, good, good[:-1], good)
    assert reasons(decoded) == {1: "not_avro"}
    assert [decoded.batch.to_pylist()[row] for row in (0, 2)] == [{"last": 7}] * 2


@pytest.mark.parametrize(
    "value",
    [
        b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01" + b"\x02" * 8,
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" + b"\x02" * 8,
        b"\x80\x80\x01\x02\x00\x0e",
    ],
    ids=["2^63-1-items", "-2^63-items", "8192-items"],
)
@pytest.mark.parametrize("wanted", [True, False], ids=["read", "skipped"])
def test_an_array_of_more_items_than_bytes_is_refused_before_memory_is_taken(value: bytes, *, wanted: bool) -> None:
    columns = pa.schema([("first", pa.list_(pa.int32())), *COLUMNS]) if wanted else COLUMNS
    assert reasons(decode(columns, record(("first", INTS), ("last", "int")), value)) == {0: "not_avro"}


def test_a_block_may_say_how_long_it_is() -> None:
    schema = record(("first", INTS), ("last", "int"))
    sized = b"\x03\x04\x02\x04" + b"\x02\x06" + b"\x00" + b"\x0e"
    columns = pa.schema([("first", pa.list_(pa.int32())), *COLUMNS])
    assert decode(columns, schema, sized).batch.to_pylist() == [{"first": [1, 2, 3], "last": 7}]
    assert decode(COLUMNS, schema, sized).batch.to_pylist() == [{"last": 7}]
