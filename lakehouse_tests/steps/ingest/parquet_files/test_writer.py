"""What a worker's writer does to memory, to storage and to rows that do not fit; Spark is not needed for that."""

import datetime as dt
import pickle
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.transforms import (
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    VoidTransform,
    YearTransform,
)
from pyiceberg.types import (
    LongType,
    NestedField,
    StringType,
    TimestamptzType,
)

from lakehouse.steps.ingest.parquet_files import (
    FILE_ROWS,
    ParquetFiles,
    WriteTarget,
    data_files_from_rows,
)
from lakehouse.steps.ingest.parquet_files import writer as writer_module

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "at", TimestamptzType()),
    NestedField(3, "name", StringType()),
)
WIDE = Schema(*[NestedField(i, f"c{i}", LongType()) for i in range(1, 102)])
BY_NAME = PartitionSpec(PartitionField(3, 1000, IdentityTransform(), "name"))


def metadata(
    root: Path | str, spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC, schema: Schema = SCHEMA, **properties: str
) -> TableMetadata:
    location = f"{Path(root).as_uri()}/t" if isinstance(root, Path) else root
    named = {key.replace("__", "-").replace("_", "."): value for key, value in properties.items()}
    return new_table_metadata(schema, spec, UNSORTED_SORT_ORDER, location, named)


def writer(table: TableMetadata, prefix: str = "a") -> ParquetFiles:
    return ParquetFiles(pickle.loads(pickle.dumps(WriteTarget.of(table, {}))), prefix)


def rows(ids: range, names: list[str | None] | None = None) -> pa.RecordBatch:
    moments = [dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + dt.timedelta(hours=i) for i in ids]
    columns = {"id": pa.array(ids, pa.int64()), "at": pa.array(moments, pa.timestamp("us", "UTC"))}
    return pa.record_batch(columns | {"name": pa.array(names or ["x"] * len(ids), pa.string())})


def files_below(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]


def test_files_have_field_ids_and_no_types_that_iceberg_lacks(tmp_path: Path) -> None:
    files = writer(metadata(tmp_path))
    files.write(rows(range(3)))
    [row] = files.finish().to_pylist()
    schema = pq.read_schema(row["path"].removeprefix("file:"))
    assert [schema.field(i).metadata[b"PARQUET:field_id"] for i in range(3)] == [b"1", b"2", b"3"]
    assert schema.field("at").type == pa.timestamp("us", "UTC")
    assert (row["record_count"], row["file_size"]) == (3, Path(row["path"].removeprefix("file://")).stat().st_size)


def test_what_is_told_of_files_is_plain_rows(tmp_path: Path) -> None:
    assert writer(metadata(tmp_path)).finish().equals(pa.RecordBatch.from_pylist([], schema=FILE_ROWS))
    assert files_below(tmp_path) == []


def test_a_moment_that_python_has_no_word_for_costs_its_bounds_and_nothing_else(tmp_path: Path) -> None:
    """A producer may write any number as a record's timestamp."""
    table = metadata(tmp_path)
    files = writer(table)
    moments = pa.array([0, 10**18], pa.int64()).cast(pa.timestamp("us", "UTC"))
    files.write(pa.record_batch({"id": pa.array([1, 2], pa.int64()), "at": moments, "name": pa.array(["x", "y"])}))
    (file,) = data_files_from_rows(table, files.finish().to_pylist())
    assert (file.record_count, set(file.lower_bounds), file.value_counts[2]) == (2, {1, 3}, 2)


def test_columns_are_found_by_name_widened_and_null_where_the_batch_has_none(tmp_path: Path) -> None:
    files = writer(metadata(tmp_path))
    files.write(pa.record_batch({"ignored": ["y"], "id": pa.array([7], pa.int32())}))
    [row] = files.finish().to_pylist()
    assert pq.read_table(row["path"].removeprefix("file://")).to_pylist() == [{"id": 7, "at": None, "name": None}]


def test_a_null_where_a_value_is_required_fails_the_task(tmp_path: Path) -> None:
    files = writer(metadata(tmp_path))
    files.write(pa.record_batch({"id": pa.array([None], pa.int64())}))
    with pytest.raises(pa.ArrowInvalid, match="non-nullable"):
        files.finish()
    files.discard()
    assert files_below(tmp_path) == []


def test_each_partition_has_its_own_folder_and_values_survive_the_journey(tmp_path: Path) -> None:
    spec = PartitionSpec(
        PartitionField(3, 1000, IdentityTransform(), "name"),
        PartitionField(2, 1001, DayTransform(), "day"),
        PartitionField(1, 1002, VoidTransform(), "gone"),
    )
    table = metadata(tmp_path, spec)
    files = writer(table)
    files.write(rows(range(30), ["a/b", None] * 15))
    files.write(rows(range(30, 40), [""] * 10))
    data_files = data_files_from_rows(table, files.finish().to_pylist())
    by_partition = {tuple(file.partition): file.record_count for file in data_files}
    first = 20_454
    assert by_partition == {
        ("a/b", first, None): 12,
        (None, first, None): 12,
        ("a/b", first + 1, None): 3,
        (None, first + 1, None): 3,
        ("", first + 1, None): 10,
    }
    assert any("/day=2026-01-01/gone=null/" in file.file_path for file in data_files)
    assert not any("a%2Fb" in file.file_path for file in data_files), "no text of a record is in a path"


@pytest.mark.parametrize(
    "text",
    ["ü" * 60, "x" * 260, "x" * 100_000, "..", "a/../b", "\0", ""],
    ids=["umlauts", "long", "very long", "dots", "slashes", "zero", "empty"],
)
def test_a_text_of_any_length_and_any_letters_is_a_partition(tmp_path: Path, text: str) -> None:
    """A folder's name has an end, at 255 bytes on a disk; a record's text has none."""
    table = metadata(tmp_path, BY_NAME)
    files = writer(table)
    files.write(rows(range(3), [text, "other", text]))
    data_files = data_files_from_rows(table, files.finish().to_pylist())
    assert sorted((file.partition[0], file.record_count) for file in data_files) == sorted([(text, 2), ("other", 1)])
    for file in data_files:
        (folder,) = Path(file.file_path.partition("/t/data/")[2]).parent.parts
        assert re.fullmatch("name=[0-9a-f]{16}", folder)


@pytest.mark.parametrize("transform", [DayTransform(), HourTransform(), MonthTransform(), YearTransform()])
def test_a_moment_that_python_has_no_word_for_is_a_partition(tmp_path: Path, transform: Any) -> None:
    """A producer may write any number as a record's timestamp."""
    table = metadata(tmp_path, PartitionSpec(PartitionField(2, 1000, transform, "part")))
    files = writer(table)
    moments = pa.array([10**18, -(10**18)], pa.int64()).cast(pa.timestamp("us", "UTC"))
    files.write(pa.record_batch({"id": pa.array([1, 2], pa.int64()), "at": moments}))
    assert [file.record_count for file in data_files_from_rows(table, files.finish().to_pylist())] == [1, 1]


def test_the_folder_of_a_partition_with_a_long_name_is_short(tmp_path: Path) -> None:
    schema = Schema(NestedField(1, "c" * 300, LongType()))
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "c" * 300))
    files = writer(metadata(tmp_path, spec, schema))
    files.write(pa.record_batch({"c" * 300: pa.array([7], pa.int64())}))
    [row] = files.finish().to_pylist()
    assert re.fullmatch("[0-9a-f]{16}=7", Path(row["path"]).parent.name)


def test_a_file_of_the_target_size_is_finished_and_another_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "_ROW_GROUP_BYTES", 1000)
    files = writer(metadata(tmp_path, write_target__file__size__bytes="2000"))
    for start in range(0, 1000, 100):
        files.write(rows(range(start, start + 100)))
    written = files.finish().to_pylist()
    assert len(written) > 2
    assert sum(file["record_count"] for file in written) == 1000
    assert sorted(Path(file["path"]).name for file in written) == [f"a-{i:05d}.parquet" for i in range(len(written))]


def test_rows_that_wait_never_take_more_memory_than_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "_MEMORY_BYTES", 100_000)
    files = writer(metadata(tmp_path, BY_NAME))
    for start in range(0, 4000, 200):
        files.write(rows(range(start, start + 200), ["a", "b", "c", "c"] * 50))
        assert files.waiting_bytes <= 100_000
    written = files.finish().to_pylist()
    assert sorted(file["record_count"] for file in written) == [1000, 1000, 2000]


def test_many_partitions_make_more_files_instead_of_more_open_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "_OPEN_FILES", 3)
    monkeypatch.setattr(writer_module, "_MEMORY_BYTES", 0)
    files = writer(metadata(tmp_path, BY_NAME))
    for _ in range(2):
        files.write(rows(range(10), [f"n{i}" for i in range(10)]))
        assert files.open_files <= 3
    written = files.finish().to_pylist()
    assert sum(file["record_count"] for file in written) == 20
    assert len({file["path"] for file in written}) == len(written) > 10


def test_while_memory_lasts_a_partition_has_one_file_however_many_there_are(tmp_path: Path) -> None:
    files = writer(metadata(tmp_path, BY_NAME))
    for _ in range(2):
        files.write(rows(range(200), [f"n{i}" for i in range(200)]))
    assert len(files.finish()) == 200


def test_what_is_discarded_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "_OPEN_FILES", 1)
    monkeypatch.setattr(writer_module, "_MEMORY_BYTES", 0)
    files = writer(metadata(tmp_path, BY_NAME))
    files.write(rows(range(4), ["a", "b", "c", "d"]))
    assert len(files_below(tmp_path)) == 4
    files.discard()
    assert files_below(tmp_path) == []


def test_two_attempts_never_write_the_same_file(tmp_path: Path) -> None:
    first, second = writer(metadata(tmp_path)), writer(metadata(tmp_path))
    for files in (first, second):
        files.write(rows(range(1)))
    first.finish()
    with pytest.raises(FileExistsError):
        second.finish()
    second.discard()
    assert len(files_below(tmp_path)) == 1


def test_locations_follow_the_tables_properties(tmp_path: Path) -> None:
    elsewhere = (tmp_path / "elsewhere").as_uri()
    for properties, beginning in [
        ({"write_data_path": elsewhere}, f"{elsewhere}/a-"),
        ({"write_object__storage_enabled": "true"}, f"{tmp_path.as_uri()}/t/data/"),
    ]:
        files = writer(metadata(tmp_path, **properties))
        files.write(rows(range(1)))
        [row] = files.finish().to_pylist()
        assert row["path"].startswith(beginning)
    assert len(Path(row["path"]).relative_to(f"{tmp_path.as_uri()}/t/data").parts) == 5


@pytest.mark.parametrize("spec", [UNPARTITIONED_PARTITION_SPEC, BY_NAME])
def test_a_file_in_a_folder_of_hashes_keeps_its_name(tmp_path: Path, spec: PartitionSpec) -> None:
    """Its name begins with its attempt's id, by which a proof knows whose it is."""
    hashed = {"write_object__storage_enabled": "true", "write_object__storage_partitioned__paths": "false"}
    files = writer(metadata(tmp_path, spec, **hashed), prefix="attempt")
    files.write(rows(range(1), ["x" * 260]))
    [row] = files.finish().to_pylist()
    folder, _, name = row["path"].removeprefix(f"{tmp_path.as_uri()}/t/data/").rpartition("/")
    assert name == "attempt-00000.parquet"
    assert re.fullmatch("[01]{4}/[01]{4}/[01]{4}/[01]{8}", folder)


@pytest.mark.parametrize("codec", ["zstd", "snappy", "gzip", "uncompressed"])
def test_every_codec_takes_a_level_or_ignores_it_as_spark_does(tmp_path: Path, codec: str) -> None:
    properties = {"write_parquet_compression__codec": codec, "write_parquet_compression__level": "5"}
    files = writer(metadata(tmp_path, **properties))
    files.write(rows(range(3)))
    [row] = files.finish().to_pylist()
    assert pq.read_metadata(row["path"].removeprefix("file://")).row_group(0).column(0).compression == codec.upper()


def test_credentials_of_the_storage_are_never_shown() -> None:
    target = WriteTarget.of(metadata("file:/t"), {"s3.secret-access-key": "hush"})
    assert "hush" not in repr(target)
    assert "hush" not in str(target)
