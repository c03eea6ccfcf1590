"""Frames become rows in types that Iceberg has, or are refused by column."""

import datetime
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lakehouse.declarations import iceberg_schema
from lakehouse.declarations.columns.error import DeclarationError, DoesNotFit
from lakehouse.orchestration.frames.storable import rows_of, storable, table_of

NOON = datetime.datetime(2026, 5, 14, 12, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (pa.int8(), pa.int32()),
        (pa.uint32(), pa.int64()),
        (pa.large_string(), pa.string()),
        (pa.timestamp("ns", "Europe/Berlin"), pa.timestamp("us", "UTC")),
        (pa.timestamp("ms"), pa.timestamp("us")),
        (pa.dictionary(pa.int8(), pa.large_string()), pa.string()),
        (pa.large_list(pa.struct([("a", pa.int16())])), pa.list_(pa.struct([("a", pa.int32())]))),
        (pa.map_(pa.string(), pa.binary(4)), pa.map_(pa.string(), pa.binary())),
        (pa.decimal128(9, 2), pa.decimal128(9, 2)),
    ],
)
def test_each_type_has_one_that_iceberg_knows(given: pa.DataType, stored: pa.DataType) -> None:
    assert storable(given) == stored


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame, lambda data: pl.DataFrame(data).lazy()])
def test_frames_of_every_kind_are_the_same_rows(make: Any) -> None:
    rows = rows_of("a.b", make({"name": ["tit", "owl"], "seen": [NOON, NOON], "count": [1, 2]}))
    assert rows.to_pylist() == [{"name": name, "seen": NOON, "count": n} for n, name in enumerate(("tit", "owl"), 1)]
    columns = table_of("a.b", rows).columns
    assert [(c.name, c.type.simpleString(), c.required) for c in columns] == [
        ("name", "string", False),
        ("seen", "timestamp", False),
        ("count", "bigint", False),
    ]


def test_what_cannot_be_stored_is_named_by_column_and_without_a_value() -> None:
    large = pa.table({"n": pa.array([2**63], pa.uint64())})
    with pytest.raises(DoesNotFit, match=r"Table a\.b: values of n cannot be stored") as refused:
        rows_of("a.b", large)
    assert str(2**63) not in str(refused.value)
    rows = rows_of("a.b", pa.table({"t": pa.array([1], pa.duration("s"))}))
    with pytest.raises(DeclarationError, match=r"a\.b\.t: interval day to second cannot be stored"):
        table_of("a.b", rows)
    with pytest.raises(DoesNotFit, match="has returned a dict"):
        rows_of("a.b", {})  # pyright: ignore[reportArgumentType]


def test_a_table_keeps_the_columns_and_the_wider_types_that_it_has() -> None:
    before = iceberg_schema(table_of("a.b", pa.table({"n": [1], "gone": ["x"]})))
    after = table_of("a.b", pa.table({"n": pa.array([1], pa.int32()), "new": [1.5]}), before)
    kinds = {column.name: column.type.simpleString() for column in after.columns}
    assert kinds == {"n": "bigint", "gone": "string", "new": "double"}
