"""A file read by polars holds what it holds when PyIceberg reads it: for all types, and for columns that have evolved.

Guarded mechanism: columns found by field id and cast to what PyIceberg shows; PyIceberg itself where that will not do.
"""

from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import _dataframe_to_data_files  # pyright: ignore[reportPrivateUsage]
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import DecimalType, DoubleType, FloatType, IntegerType, LongType, NestedField, StringType

from lakehouse.iceberg.content_hash import row_hash
from lakehouse.iceberg.content_hash.parquet_hash import streamed
from lakehouse.iceberg.content_hash.row_hash import Digest, content
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.iceberg.content_hash.test_row_hash import VALUES

SIMPLE = {kind: values for kind, values in VALUES.items() if not pa.types.is_nested(kind)}
NAME = ("typed", "rows")


def create(lake: Lake, schema: Any) -> Table:
    lake.catalog.create_namespace_if_not_exists(NAME[:1])
    return lake.catalog.create_table(NAME, schema)


def file_of(table: Table, rows: pa.Table) -> DataFile:
    (file,) = _dataframe_to_data_files(table.metadata, rows, table.io)
    file.spec_id = table.metadata.default_spec_id
    return file


def by_pyiceberg(table: Table, file: DataFile, monkeypatch: pytest.MonkeyPatch) -> Digest:
    with monkeypatch.context() as patched:
        patched.setattr(row_hash, "streamed", lambda *_: None)
        return content(table, [file])[0, ()]


def test_every_type(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with a null, and each value of a column beside others of the other columns."""
    columns = {f"c{number}": [*values, None, *values[:1]] for number, values in enumerate(SIMPLE.values())}
    rows = pa.table(
        {
            name: pa.array([values[row % len(values)] for row in range(20)], kind)
            for (name, values), kind in zip(columns.items(), SIMPLE, strict=True)
        }
    )
    table = create(sql_lake, rows.schema)
    file = file_of(table, rows.cast(table.schema().as_arrow()))
    assert streamed(table, file) is not None
    hashed = content(table, [file])[0, ()]
    assert hashed.rows == 20
    assert hashed == by_pyiceberg(table, file, monkeypatch)


def evolved(lake: Lake) -> tuple[Table, DataFile]:
    """Columns that were renamed, moved and promoted after the file was written."""
    schema = Schema(
        NestedField(1, "n", IntegerType()),
        NestedField(2, "x", FloatType()),
        NestedField(3, "d", DecimalType(9, 2)),
        NestedField(4, "a", StringType()),
        NestedField(5, "b", StringType()),
    )
    table = create(lake, schema)
    rows = {"n": [1, None], "x": [0.1, 2.0], "d": [None, 3], "a": ["a", "b"], "b": ["c", None]}
    file = file_of(table, pa.Table.from_pydict(rows, schema=table.schema().as_arrow()))
    with table.update_schema() as update:
        update.update_column("n", LongType()).update_column("x", DoubleType()).update_column("d", DecimalType(18, 2))
        update.rename_column("a", "was_a").rename_column("b", "a")
        update.move_first("d")
    return lake.load(".".join(NAME)), file


def test_evolved_columns(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table, file = evolved(sql_lake)
    assert streamed(table, file) is not None
    assert content(table, [file])[0, ()] == by_pyiceberg(table, file, monkeypatch)


def test_a_column_that_the_file_has_not(sql_lake: Lake) -> None:
    """PyIceberg knows what it shows there; a rewritten file has it, and holds the same."""
    table, file = evolved(sql_lake)
    with table.update_schema() as update:
        update.add_column("later", StringType())
    table = sql_lake.load(".".join(NAME))
    assert streamed(table, file) is None
    shown = {"d": [None, 3], "n": [1, None], "x": [pa.scalar(0.1, pa.float32()).as_py(), 2.0]}
    texts = {"was_a": ["a", "b"], "a": ["c", None], "later": [None, None]}
    again = file_of(table, pa.Table.from_pydict({**shown, **texts}, schema=table.schema().as_arrow()))
    assert streamed(table, again) is not None
    assert content(table, [file]) == content(table, [again])
