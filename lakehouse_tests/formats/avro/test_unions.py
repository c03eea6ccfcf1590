"""Unions to the one value that is there, or to a field for each branch."""

from typing import Any

import pyarrow as pa
import pytest

from lakehouse.formats.avro.nodes import AvroType
from lakehouse.formats.avro.unions import counterpart
from lakehouse_tests.formats.avro.writing import rows

INNER = {
    "type": "record",
    "name": "Inner",
    "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": ["null", "string"]}],
}
STRUCT = pa.struct([pa.field("b", pa.string()), pa.field("a", pa.int32(), nullable=False)])


@pytest.mark.parametrize(
    ("column", "kind", "values", "expected"),
    [
        (pa.int64(), ["int", "long", "null"], [1, 2**40, None], [1, 2**40, None]),
        (pa.struct([("string", pa.string()), ("long", pa.int64())]), ["null", "string", "long"], ["x", 5, None],
         [{"string": "x", "long": None}, {"string": None, "long": 5}, None]),
        (pa.struct([("Inner", STRUCT), ("string", pa.string())]), [INNER, "string"], [{"a": 1, "b": None}, "s"],
         [{"Inner": {"b": None, "a": 1}, "string": None}, {"Inner": None, "string": "s"}]),
    ],
    ids=["numbers", "by-branch", "record-by-branch"],
)  # fmt: skip
def test_each_value_is_read_as_its_branch_says(
    column: pa.DataType, kind: Any, values: list[Any], expected: list[Any]
) -> None:
    assert rows(column, kind, *values) == (expected, {})


def test_a_branch_that_the_column_cannot_take_refuses_its_records_alone() -> None:
    assert rows(pa.string(), ["null", "string", "long"], "a", 7, None) == (["a", None, None], {1: "wrong_type"})
    by_branch = pa.struct([("string", pa.string())])
    assert rows(by_branch, ["string", "long"], "a", 7)[1] == {1: "wrong_type"}


def test_a_branch_is_read_by_the_branch_of_its_name_or_kind() -> None:
    first, second = AvroType("record", name="First"), AvroType("record", name="Second")
    union = AvroType("union", parts=(AvroType("null"), first, second))
    assert counterpart(union, AvroType("record", name="Second")) is second
    assert counterpart(union, AvroType("record", name="Other")) is first
    assert counterpart(union, AvroType("long")) is None
    assert counterpart(first, AvroType("long")) is first
