"""Parquet takes every column that Iceberg allows, also a missing struct with required fields."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakehouse.steps.ingest.workers.required_fields import solid


def required(kind: pa.DataType) -> pa.DataType:
    return pa.struct([pa.field("r", kind, nullable=False), pa.field("o", pa.string())])


SCALARS: list[tuple[pa.DataType, Any]] = [
    (pa.bool_(), True),
    (pa.int32(), 1),
    (pa.int64(), 1),
    (pa.float32(), 1.5),
    (pa.float64(), 1.5),
    (pa.string(), "x"),
    (pa.binary(), b"x"),
    (pa.decimal128(12, 3), Decimal("1.500")),
    (pa.date32(), date(2013, 1, 1)),
    (pa.timestamp("us"), datetime(2013, 1, 1)),  # noqa: DTZ001 - that is what it is
    (pa.timestamp("us", "UTC"), datetime(2013, 1, 1, tzinfo=UTC)),
]


@pytest.mark.parametrize(("kind", "value"), SCALARS, ids=[str(kind) for kind, _ in SCALARS])
@pytest.mark.parametrize("all_missing", [True, False])
def test_a_missing_struct_with_a_required_field(
    kind: pa.DataType, value: Any, all_missing: bool, tmp_path: Path
) -> None:
    rows = [None, None] if all_missing else [{"r": value, "o": None}, None, {"r": value, "o": "x"}]
    stays_the_same(pa.array(rows, required(kind)), tmp_path)


INNER = required(pa.int64())
NESTED: list[tuple[pa.DataType, list[Any]]] = [
    (pa.list_(INNER), [[{"r": 1, "o": None}, None], None, [], [None]]),
    (pa.map_(pa.string(), INNER), [[("a", {"r": 1, "o": None}), ("b", None)], None, []]),
    (required(INNER), [{"r": {"r": 1, "o": None}, "o": "x"}, None]),
    (required(pa.list_(pa.int64())), [{"r": [1, None], "o": None}, None, {"r": [], "o": None}]),
    (required(pa.list_(INNER)), [None, {"r": [None, {"r": 3, "o": None}], "o": None}]),
    (required(pa.map_(pa.string(), pa.int64())), [{"r": [("a", 1)], "o": None}, None]),
    (pa.struct([pa.field("in", INNER)]), [{"in": None}, None, {"in": {"r": 1, "o": "x"}}]),
]


@pytest.mark.parametrize(("kind", "rows"), NESTED, ids=[str(kind) for kind, _ in NESTED])
def test_structs_within_lists_maps_and_structs(kind: pa.DataType, rows: list[Any], tmp_path: Path) -> None:
    array = pa.array(rows, kind)
    stays_the_same(array, tmp_path)
    stays_the_same(array.slice(1), tmp_path)


def test_other_columns_are_not_touched() -> None:
    array = pa.array([{"a": None}, None], pa.struct([pa.field("a", pa.int64())]))
    assert solid(array) is array


def stays_the_same(array: pa.Array, folder: Path) -> None:
    made = solid(array)
    made.validate(full=True)
    assert made.to_pylist() == array.to_pylist()
    pq.write_table(pa.table({"c": made}), folder / "f.parquet")
    assert pq.read_table(folder / "f.parquet")["c"].to_pylist() == array.to_pylist()
