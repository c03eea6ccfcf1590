"""What a table holds at one snapshot: files that are listed twice, how many rows, and the coordinates of each."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import DataFileContent, FileFormat, ManifestContent
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse.errors import LakehouseError
from lakehouse.iceberg.entries import live_entries
from lakehouse.iceberg.manifests.entry_reader import SnapshotManifests
from lakehouse.iceberg.names import table_name
from lakehouse.proofs.foreign.coordinate_columns import CoordinateColumns
from lakehouse.proofs.foreign.offset_runs import Runs


class CannotRead(LakehouseError):
    """Rows of the table can be read by other engines alone."""


@dataclass(frozen=True)
class ListedFiles:
    """The data files of a snapshot.

    Attributes:
        added_by: path → the snapshot of each entry that lists it, as far as it says; more than one for a file that
            readers read more than once.
        rows: by the metadata, without regard to deletes.
        has_deletes: whether some of these rows may be deleted.
    """

    added_by: dict[str, tuple[int | None, ...]]
    rows: int
    has_deletes: bool

    @property
    def repeated(self) -> dict[str, tuple[int | None, ...]]:
        """Those that are listed more than once."""
        return {path: snapshots for path, snapshots in self.added_by.items() if len(snapshots) > 1}


@dataclass
class StoredCoordinates:
    """The coordinates of a table's rows.

    Attributes:
        partitions: partition → offsets of the rows of the topic.
        files: paths, by the number that runs call them.
        without: rows that have no partition or offset.
        of_others: rows of other topics.
    """

    partitions: dict[int, Runs] = field(default_factory=dict[int, Runs])
    files: list[str] = field(default_factory=list[str])
    without: int = 0
    of_others: int = 0


def listed_files(table: Table, snapshot: Snapshot) -> ListedFiles:
    """Read the manifests of a snapshot.

    Raises:
        CannotRead: deletes are by value, which other engines alone apply.
    """
    manifests = SnapshotManifests.of(table, snapshot)
    _refuse_deletes_by_value(table, manifests)
    added_by, rows = defaultdict[str, list[int | None]](list), 0
    for snapshot_id, file in manifests.live_files():
        added_by[file.file_path].append(snapshot_id)
        rows += file.record_count
    return ListedFiles({path: tuple(ids) for path, ids in added_by.items()}, rows, manifests.with_deletes)


def count_rows(table: Table, snapshot: Snapshot, files: ListedFiles) -> int:
    """How many rows a reader sees."""
    return table.scan(snapshot_id=snapshot.snapshot_id).count() if files.has_deletes else files.rows


def stored_coordinates(table: Table, snapshot: Snapshot, columns: CoordinateColumns, topic: str) -> StoredCoordinates:
    """Read the coordinates of all rows, file by file, deletes applied.

    Raises:
        CannotRead: a data file is Avro.
    """
    stored, runs = StoredCoordinates(), defaultdict[int, list[Runs]](list)
    for path, batch in _batches(table, snapshot, columns.names):
        if not stored.files or stored.files[-1] != path:
            stored.files.append(path)
        partitions, offsets = _coordinates(batch, columns, topic, stored)
        for partition in cast("list[int]", np.unique(partitions).tolist()):
            runs[partition].append(Runs.of(offsets[partitions == partition], len(stored.files) - 1))
    stored.partitions = {partition: Runs.together(parts) for partition, parts in sorted(runs.items())}
    return stored


def repeated_keys(table: Table, snapshot: Snapshot, key: tuple[str, ...]) -> int:
    """How many keys more than one row has."""
    times = Counter[tuple[object, ...]]()
    for _, batch in _batches(table, snapshot, key):
        times.update(pl.DataFrame(batch).select(_column(name) for name in key).iter_rows())
    return sum(count > 1 for count in times.values())


def _batches(table: Table, snapshot: Snapshot, columns: tuple[str, ...]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Rows of each file, of some columns."""
    for task in table.scan(snapshot_id=snapshot.snapshot_id).plan_files():
        path = task.file.file_path
        if task.file.file_format == FileFormat.AVRO:
            raise CannotRead(
                f"{table_name(table)}: {path} is an Avro file, of which no column is read here.",
                remedy="rewrite the table's files as Parquet, then audit again",
            )
        scan = ArrowScan(table.metadata, table.io, table.schema().select(*columns), AlwaysTrue())
        for batch in scan.to_record_batches([task]):
            yield path, batch


def _coordinates(
    batch: pa.RecordBatch, columns: CoordinateColumns, topic: str, stored: StoredCoordinates
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Partition and offset of the rows of a topic; the others are counted."""
    partition = pl.lit(0) if columns.partition is None else _column(columns.partition)
    rows = pl.DataFrame(batch).select(
        (pl.lit(topic) if columns.topic is None else _column(columns.topic)).alias("topic"),
        partition.cast(pl.Int64).alias("partition"),
        _column(columns.offset).cast(pl.Int64).alias("offset"),
    )
    is_other = pl.col("topic").ne(topic).fill_null(value=False)
    mine = rows.filter(~is_other)
    known = mine.drop_nulls()
    stored.of_others += len(rows) - len(mine)
    stored.without += len(mine) - len(known)
    return known["partition"].to_numpy(), known["offset"].to_numpy()


def _column(name: str) -> pl.Expr:
    """A column, or a field of a struct: null where the struct is."""
    first, *fields = name.split(".")
    column = pl.col(first)
    for part in fields:
        column = column.struct.field(part)
    return column


def _refuse_deletes_by_value(table: Table, manifests: SnapshotManifests) -> None:
    for manifest in manifests.files:
        if manifest.content == ManifestContent.DELETES:
            for entry in live_entries(table.io, manifest):
                if entry.data_file.content == DataFileContent.EQUALITY_DELETES:
                    raise CannotRead(
                        f"{table_name(table)} has deletes by value: an upserting writer replaces rows, and its table "
                        "cannot hold every record.",
                        remedy="audit the table that keeps every record, or compact this one",
                    )
