"""Records, lists and maps to structs, lists and maps."""

from typing import Any

import pyarrow as pa
import pytest

from lakehouse_tests.formats.avro.writing import decode, encoded, reasons, record, rows

INNER = {
    "type": "record",
    "name": "Inner",
    "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": ["null", "string"]}],
}
STRUCT = pa.struct([pa.field("b", pa.string()), pa.field("a", pa.int32(), nullable=False)])


@pytest.mark.parametrize(
    ("column", "kind", "values", "expected"),
    [
        (STRUCT, INNER, [{"a": 1, "b": "x"}, {"a": 2, "b": None}], [{"b": "x", "a": 1}, {"b": None, "a": 2}]),
        (STRUCT, ["null", INNER], [None, {"a": 2, "b": None}], [None, {"b": None, "a": 2}]),
        (pa.list_(pa.int64()), {"type": "array", "items": "int"}, [[1, 2, 3], [], [4]], [[1, 2, 3], [], [4]]),
        (pa.list_(pa.list_(pa.string())), {"type": "array", "items": {"type": "array", "items": ["null", "string"]}},
         [[["a"], [], [None, "b"]], [["c"]]], [[["a"], [], [None, "b"]], [["c"]]]),
        (pa.map_(pa.string(), STRUCT), {"type": "map", "values": INNER}, [{"k": {"a": 1, "b": None}}, {}],
         [[("k", {"b": None, "a": 1})], []]),
    ],
    ids=["struct", "optional-struct", "list", "list-of-lists", "map"],
)  # fmt: skip
def test_nested_values_arrive_as_they_were_written(
    column: pa.DataType, kind: Any, values: list[Any], expected: list[Any]
) -> None:
    assert rows(column, kind, *values) == (expected, {})


def test_a_required_value_that_is_null_is_named() -> None:
    assert rows(pa.string(), ["null", "string"], "a", None, nullable=False)[1] == {1: "missing_field"}
    items = pa.list_(pa.field("element", pa.int32(), nullable=False))
    schema = record(("x", {"type": "array", "items": ["null", "int"]}))
    decoded = decode(pa.schema([("x", items)]), schema, encoded(schema, {"x": [1, None]}), encoded(schema, {"x": [1]}))
    assert decoded.errors[0].message == "`x[]` is required, but missing or null"
    assert list(decoded.errors) == [0]


def test_a_required_field_that_the_writer_lacks_refuses_its_records_and_an_optional_one_is_null() -> None:
    schema = record(("x", "int"))
    needed = decode(pa.schema([pa.field("y", pa.int32(), nullable=False)]), schema, b"\x02")
    assert needed.errors[0].message == "`y` is required, and the writer's schema lacks it"
    assert decode(pa.schema([("y", pa.int32()), ("x", pa.int32())]), schema, b"\x02").batch.to_pylist() == [
        {"y": None, "x": 1}
    ]


def test_nested_fields_that_the_table_does_not_have_are_named_by_their_path() -> None:
    schema = record(("x", {"type": "array", "items": INNER}), ("z", INNER | {"name": "Other"}))
    decoded = decode(
        pa.schema([("x", pa.list_(pa.struct([("a", pa.int32())])))]),
        schema,
        encoded(schema, {"x": [], "z": {"a": 1, "b": None}}),
    )
    assert dict(decoded.observed.extra) == {"x[].b": 1, "z": 1}


def test_a_schema_that_is_no_record_is_no_row() -> None:
    assert reasons(decode(pa.schema([("x", pa.int32())]), '"int"', b"\x02")) == {0: "not_an_object"}
