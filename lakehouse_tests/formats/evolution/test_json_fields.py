"""Records that have other fields than their table are seen, and their types are said in view of its columns."""

import json
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from lakehouse.formats.evolution.json_fields import JsonWatch, json_type
from lakehouse.formats.evolution.wanted import Wanted
from lakehouse.formats.inference.sample import SampledValues
from lakehouse.formats.json import JsonDecoder

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("in", pa.struct([("a", pa.int32())]))])


def look(*records: Any, adds: bool = True) -> Wanted:
    values = pa.array([r if isinstance(r, bytes) else json.dumps(r).encode() for r in records], pa.binary())
    watch = JsonWatch(SCHEMA, {}, adds=adds, without={"kind"})
    return watch.look(values, JsonDecoder(SCHEMA).decode(values).errors)


def test_a_record_of_just_these_columns_is_not_looked_at() -> None:
    assert look({"id": 1, "in": {"a": 1}, "kind": "x"}, {"in": None, "id": 2}, b"{", b"[]") == Wanted()


def test_new_fields_count_where_the_record_is_a_row() -> None:
    wanted = look({"id": 1}, {"id": 2, "in": {"a": 1, "b": 2}}, {"more": 1}, {"id": "x", "most": 1})
    assert [*wanted.accepted.fields] == ["id", "in"]
    assert [*wanted.accepted.fields["in"].fields] == ["a", "b"]
    assert [*wanted.refused.fields] == ["more", "id", "most"]
    assert look({"id": 1, "more": 1}, adds=False) == Wanted()


@pytest.mark.parametrize(
    ("have", "values", "wanted"),
    [
        (None, [1, 2**40], LongType()),
        (IntegerType(), [1], IntegerType()),
        (IntegerType(), [1, 2**40], LongType()),
        (LongType(), [1, "x"], StringType()),
        (LongType(), [1, 1.5], DoubleType()),
        (DateType(), ["2026-01-02", "soon"], StringType()),
        (StringType(), ["2026-01-02"], StringType()),
        (StringType(), [{"a": 1}], StructType([StructField("a", LongType(), nullable=False)])),
        (
            StructType([StructField("a", IntegerType())]),
            [{"a": 2**40}],
            StructType([StructField("a", LongType(), nullable=False)]),
        ),
        (ArrayType(IntegerType()), [[2**40, None]], ArrayType(LongType())),
        (
            MapType(StringType(), IntegerType()),
            [{"k": 2**40}],
            MapType(StringType(), LongType(), valueContainsNull=False),
        ),
        (LongType(), [None], LongType()),
        (None, [None], None),
    ],
)
def test_the_type_that_values_want(have: DataType | None, values: list[Any], wanted: DataType | None) -> None:
    seen = SampledValues()
    for value in values:
        seen.add(value)
    assert json_type(seen, have) == wanted
