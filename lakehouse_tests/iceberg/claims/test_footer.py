"""What a manifest claims of a file is true by the file's footer, or it is named without a value.

Guarded mechanism: no bound leaves out a value, no count is another one, and a file lies where its values belong.
"""

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.conversions import to_bytes
from pyiceberg.io.pyarrow import _dataframe_to_data_files
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform, TruncateTransform
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    IcebergType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
)

from lakehouse.iceberg.claims.footer import contradiction, false_claim
from lakehouse.iceberg.entries import live_entries
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.iceberg.claims.doctored import set_claim, with_claim

LONG = "a text that is longer than the sixteen characters of a bound"
NESTED = (
    NestedField(20, "inner", LongType(), required=False),
    NestedField(21, "list", ListType(22, LongType(), element_required=False), required=False),
    NestedField(23, "map", MapType(24, StringType(), 25, LongType(), value_required=False), required=False),
)
COLUMNS: dict[str, tuple[IcebergType, Any, Any]] = {
    "truth": (BooleanType(), False, True),
    "number": (LongType(), 3, 900),
    "share": (DoubleType(), -1.5, 2.5),
    "amount": (DecimalType(9, 2), Decimal("-1.50"), Decimal("20.25")),
    "big": (DecimalType(30, 2), Decimal("-1.50"), Decimal("20.25")),
    "day": (DateType(), date(1960, 1, 1), date(2024, 5, 14)),
    "moment": (TimestampType(), datetime.fromisoformat("1960-01-01"), datetime.fromisoformat("2024-05-14T01:00")),
    "text": (StringType(), LONG, "ü" * 40),
    "bytes": (BinaryType(), b"\x00" * 40, b"\xf0" * 40),
}
SCHEMA = Schema(
    *(NestedField(i, name, kind, required=False) for i, (name, (kind, _, _)) in enumerate(COLUMNS.items(), start=1)),
    NestedField(19, "row", StructType(*NESTED), required=False),
)
ROWS = [
    {name: low for name, (_, low, _) in COLUMNS.items()} | {"row": {"inner": 5, "list": [1, None], "map": [("a", 1)]}},
    {name: high for name, (_, _, high) in COLUMNS.items()} | {"row": None},
    {"number": 7, "share": float("nan")},
]


def written(lake: Lake, rows: list[dict[str, Any]] = ROWS) -> tuple[Table, DataFile]:
    """A table with rows in it, and its file as the manifest lists it."""
    table = lake.catalog.create_table((lake.namespace, "a"), SCHEMA)
    frame = pa.Table.from_pylist(rows, schema=table.schema().as_arrow())
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for file in _dataframe_to_data_files(table.metadata, frame, table.io):
            append.append_data_file(file)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    (file,) = [e.data_file for manifest in snapshot.manifests(table.io) for e in live_entries(table.io, manifest)]
    return table, file


def test_what_a_writer_claims_is_true(sql_lake: Lake) -> None:
    table, file = written(sql_lake)
    assert false_claim(table, [file]) == ""


@pytest.mark.parametrize("column", COLUMNS)
def test_a_bound_that_leaves_out_a_value(sql_lake: Lake, column: str) -> None:
    table, file = written(sql_lake)
    field, (kind, low, high) = table.schema().find_field(column), COLUMNS[column]
    assert isinstance(kind, type(field.field_type))
    name = Path(file.file_path).name
    for claim, words, value in (("lower_bounds", "lower bound", high), ("upper_bounds", "upper bound", low)):
        wrong = with_claim(file, claim, field.field_id, to_bytes(field.field_type, value))
        assert false_claim(table, [wrong]) == f"{name} is listed with a wrong {words} of column {column}"
    for claim, value in (("lower_bounds", low), ("upper_bounds", high)):
        assert not false_claim(table, [with_claim(file, claim, field.field_id, to_bytes(field.field_type, value))])


@pytest.mark.parametrize(
    ("claim", "value", "words"),
    [
        ("null_value_counts", 3, "null count"),
        ("null_value_counts", 1, "null count"),
        ("value_counts", 2, "value count"),
        ("nan_value_counts", 3, "NaN count"),
    ],
)
def test_a_count_that_is_another(sql_lake: Lake, claim: str, value: int, words: str) -> None:
    table, file = written(sql_lake)
    field = table.schema().find_field("share").field_id
    assert f"a wrong {words} of column share" in false_claim(table, [with_claim(file, claim, field, value)])


def test_another_number_of_rows(sql_lake: Lake) -> None:
    table, file = written(sql_lake)
    set_claim(file, "record_count", 30)
    assert "holds 3 rows, and 30 are counted in it" in false_claim(table, [file])


PARTITIONS: dict[str, tuple[PartitionField, Any, Any]] = {
    "identity": (PartitionField(2, 1000, IdentityTransform(), "p"), 3, 4),
    "text": (PartitionField(8, 1000, IdentityTransform(), "p"), "short", "other"),
    "day": (PartitionField(7, 1000, DayTransform(), "p"), 19857, 19856),
    "truncate": (PartitionField(8, 1000, TruncateTransform(2), "p"), "sh", "ot"),
    "bucket": (PartitionField(2, 1000, BucketTransform(64), "p"), BucketTransform(64).transform(LongType())(3), 64),
    "null": (PartitionField(3, 1000, IdentityTransform(), "p"), None, 0.5),
}


@pytest.mark.parametrize("transform", PARTITIONS)
def test_a_partition_that_the_values_are_not_of(sql_lake: Lake, transform: str) -> None:
    field, right, wrong = PARTITIONS[transform]
    row = {"number": 3, "text": "short", "moment": datetime.fromisoformat("2024-05-14T01:00")}
    table, file = written(sql_lake, [row, row])
    field = PartitionField(table.schema().fields[field.source_id - 1].field_id, 1000, field.transform, "p")
    parquet = pq.ParquetFile(file.file_path.removeprefix("file://"))
    for value, problem in ((right, False), (wrong, True), (None, right is not None)):
        set_claim(file, "partition", Record(value))
        words = contradiction(file, parquet, table.schema(), PartitionSpec(field))
        assert bool(words) == problem, words


def test_bounds_of_before_a_column_was_widened(sql_lake: Lake) -> None:
    table, file = written(sql_lake)
    field = table.schema().find_field("number").field_id
    narrow = with_claim(file, "lower_bounds", field, (3).to_bytes(4, "little"))
    assert not false_claim(table, [narrow])
    narrow = with_claim(file, "lower_bounds", field, (4).to_bytes(4, "little"))
    assert "a wrong lower bound of column number" in false_claim(table, [narrow])


def test_places_to_split_it_at_that_leave_out_rows(sql_lake: Lake) -> None:
    table, file = written(sql_lake)
    assert file.split_offsets == [4]
    middle = file.file_size_in_bytes // 2
    for wrong in ([middle], [middle, 4], [4, 4]):
        set_claim(file, "split_offsets", wrong)
        assert "is listed with places to split it at that leave out rows" in false_claim(table, [file])
    for sound in ([4], [0, middle], [file.file_size_in_bytes], None):
        set_claim(file, "split_offsets", sound)
        assert false_claim(table, [file]) == ""
