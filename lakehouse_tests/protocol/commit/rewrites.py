"""Rewrites and deletes without Spark: rows of a day in one file instead of several, and delete files, by PyIceberg."""

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import _dataframe_to_data_files
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table, Transaction
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.table.update.snapshot import ManageSnapshots, _OverwriteFiles, _SnapshotProducer
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from lakehouse.iceberg.entries import REFERENCED_AT, EntryWriter, is_data, live_entries, partition_of, whole
from lakehouse.protocol.commit import Replacement, Staged, publish, seal_branch, stage_files
from lakehouse.protocol.commit.stage import commit_on_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.history import head_of
from lakehouse.protocol.seals.seal import Seal
from lakehouse_tests.fixtures.lakes import Lake

SCHEMA = Schema(
    NestedField(1, "n", LongType(), required=False),
    NestedField(2, "s", StringType(), required=False),
    NestedField(3, "day", IntegerType(), required=False),
)
BY_DAY = PartitionSpec(PartitionField(3, 1000, IdentityTransform(), "day"), spec_id=0)
_PATH, _POS = 2147483546, 2147483545


def create(lake: Lake, table: str = "a", *, spec: PartitionSpec = BY_DAY, **properties: str) -> str:
    """A table in partitions by day; returns its name."""
    lake.catalog.create_table((lake.namespace, table), SCHEMA, partition_spec=spec, properties=properties)
    return f"{lake.namespace}.{table}"


def frame(rows: Mapping[int, int]) -> pa.Table:
    """Rows from number → day."""
    return pa.table(
        {
            "n": pa.array(rows, pa.int64()),
            "s": pa.array([str(n) for n in rows], pa.string()),
            "day": pa.array(rows.values(), pa.int32()),
        }
    )


def append(lake: Lake, name: str, rows: Mapping[int, int], *, step: str = "write", **statement: str) -> Staged:
    """A step that appends rows, and publishes."""
    staged = stage_append(lake, name, rows, step=step, **statement)
    publish(lake.catalog, [staged])
    return staged


def stage_append(lake: Lake, name: str, rows: Mapping[int, int], *, step: str = "write", **statement: str) -> Staged:
    """A step that appends rows, up to its seal."""
    base, attempt = lake.bases(name)[name], Attempt(run_id="run", step=step, runtime_date="2013-01-01")
    if rows:
        files = list(_dataframe_to_data_files(base.table.metadata, frame(rows), base.table.io))
        stage_files(lake.catalog, base, attempt, files)
    return sealed(lake, base, attempt, **statement)


def sealed(lake: Lake, base: Base, attempt: Attempt, **statement: str) -> Staged:
    """The seal of an ordinary step."""
    previous = base.sealed.seal if base.sealed else None
    return seal_branch(lake.catalog, base, attempt, Seal.of(attempt, "write", statement=statement, previous=previous))


def entries(table: Table, snapshot_id: int | None = None) -> dict[str, ManifestEntry]:
    """Path → live entry of a snapshot, of `main` if none is named."""
    snapshot = table.metadata.snapshot_by_id(snapshot_id or head_of(table) or 0)
    assert snapshot
    return {e.data_file.file_path: e for m in snapshot.manifests(table.io) for e in live_entries(table.io, m)}


def rewrite(table: Table, day: int | None, *, lose: int = 0) -> Replacement:
    """The files of a day in one file, with the deletes of positions applied; `lose` leaves out rows."""
    there, source = entries(table), table.metadata.snapshot_by_id(head_of(table) or 0)
    assert source
    out = [e for e in there.values() if day is None or partition_of(e.data_file)[1] == (day,)]
    rows = (table.scan(row_filter=f"day == {day}") if day is not None else table.scan()).to_arrow()
    into = [_come(table, file, source) for file in _dataframe_to_data_files(table.metadata, rows.slice(lose), table.io)]
    deletes = [e.data_file for e in there.values() if not is_data(e.data_file)]
    applied = tuple(file for file in deletes if day is None or partition_of(file)[1] == (day,))
    return Replacement(source=source.snapshot_id, out=tuple(out), into=tuple(into), deletes=applied)


def _come(table: Table, file: DataFile, source: Snapshot) -> ManifestEntry:
    file.spec_id = table.metadata.default_spec_id
    return ManifestEntry.from_args(
        status=ManifestEntryStatus.ADDED, sequence_number=source.sequence_number, data_file=file
    )


def delete_rows(
    lake: Lake, name: str, files: Iterable[DataFile], *, only: bool = False, equality: int | None = None
) -> Staged:
    """A step that deletes the first row of each file by position (or rows by the value of `n`), up to its seal.

    `only`: one delete file that says which data file it is for.
    """
    base, attempt = lake.bases(name)[name], Attempt(run_id="run", step="merge")
    paths = [file.file_path for file in files]
    place = next(iter(files)).partition if paths else Record()
    deletes = _delete_file(base.table, paths, place, equality=equality, only=only)

    def build(transaction: Transaction) -> None:
        ManageSnapshots(transaction).create_branch(base.snapshot_id or 0, attempt.branch).commit()
        _AddDeletes(transaction, base.table, deletes, attempt).commit()

    commit_on_branch(lake.catalog, base, attempt.branch, build)
    return sealed(lake, base, attempt)


def replace_file(lake: Lake, name: str, out: DataFile, rows: Mapping[int, int]) -> Staged:
    """A step that writes rows in the place of a file, up to its seal."""
    base, attempt = lake.bases(name)[name], Attempt(run_id="run", step="merge")

    def build(transaction: Transaction) -> None:
        ManageSnapshots(transaction).create_branch(base.snapshot_id or 0, attempt.branch).commit()
        overwrite = _OverwriteFiles(
            Operation.OVERWRITE,
            transaction,
            base.table.io,
            snapshot_properties=attempt.marks,
            branch=attempt.branch,
        )
        overwrite.delete_data_file(out)
        for file in _dataframe_to_data_files(base.table.metadata, frame(rows), base.table.io) if rows else ():
            overwrite.append_data_file(file)
        overwrite.commit()

    commit_on_branch(lake.catalog, base, attempt.branch, build)
    return sealed(lake, base, attempt)


def _delete_file(table: Table, paths: Sequence[str], place: Record, *, equality: int | None, only: bool) -> DataFile:
    path = f"{table.location()}/data/deletes-{Attempt('run', 'deletes').id}.parquet"
    if equality is None:
        field = [pa.field("file_path", pa.string(), metadata={"PARQUET:field_id": str(_PATH)})]
        field.append(pa.field("pos", pa.int64(), metadata={"PARQUET:field_id": str(_POS)}))
        rows = pa.table([pa.array(paths), pa.array([0] * len(paths), pa.int64())], schema=pa.schema(field))
    else:
        rows = pa.table(
            [pa.array([equality], pa.int64())],
            schema=pa.schema([pa.field("n", pa.int64(), metadata={"PARQUET:field_id": "1"})]),
        )
    with table.io.new_output(path).create() as stream:
        pq.write_table(rows, stream)
        size = stream.tell()
    bare = DataFile.from_args(
        content=DataFileContent.EQUALITY_DELETES if equality is not None else DataFileContent.POSITION_DELETES,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=place,
        record_count=len(rows),
        file_size_in_bytes=size,
        equality_ids=[1] if equality is not None else None,
    )
    bare.spec_id = table.metadata.default_spec_id
    file = whole(bare)
    if only:
        file[REFERENCED_AT] = paths[0]
    return file


class _AddDeletes(_SnapshotProducer["_AddDeletes"]):
    """What Spark's MERGE commits when it merges on read, as far as we need it."""

    def __init__(self, transaction: Transaction, table: Table, deletes: DataFile, attempt: Attempt) -> None:
        super().__init__(
            Operation.OVERWRITE, transaction, table.io, snapshot_properties=attempt.marks, branch=attempt.branch
        )
        self._deletes = deletes
        self.append_data_file(deletes)  # only the summary looks at it

    def _deleted_entries(self) -> list[ManifestEntry]:
        return []

    def _existing_manifests(self) -> list[ManifestFile]:
        parent = self._transaction.table_metadata.snapshot_by_id(self._parent_snapshot_id or 0)
        assert parent
        return parent.manifests(self._io)

    def _manifests(self) -> list[ManifestFile]:
        given = (self.spec(self._deletes.spec_id), self.schema(), self.new_manifest_output(), self._snapshot_id)
        writer = EntryWriter(*given, self._compression)
        writer.holds = ManifestContent.DELETES
        with writer:
            writer.add(ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, data_file=self._deletes))
        return [writer.to_manifest_file(), *self._existing_manifests()]
