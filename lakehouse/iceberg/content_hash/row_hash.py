"""What rows hold, whatever their order and whatever files they are in: a few numbers that a reader can compare.

Each row is hashed over all columns, twice with other seeds, and the hashes of a partition are added up. So a row that
is lost, doubled or changed, and a value that has moved to another row, shows; the order of rows does not. Files are
hashed by polars, which reads simple ones by itself and others through PyIceberg: not the engine that wrote them.
"""

import operator
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce

import polars as pl
import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import (
    ArrowScan,
    _read_all_delete_files,  # pyright: ignore[reportPrivateUsage] - once for all files, not once for each
)
from pyiceberg.manifest import DataFile
from pyiceberg.table import FileScanTask, Table

from lakehouse.iceberg.content_hash.nested_values import flat
from lakehouse.iceberg.content_hash.parquet_hash import streamed
from lakehouse.iceberg.entries import PartitionKey, partition_of

_SEEDS = ((1, 2, 3, 4), (5, 6, 7, 8))
_WORD = 1 << 64


@dataclass(frozen=True)
class Digest:
    """Some rows, added up.

    Args:
        rows: how many.
        sums: of their hashes, modulo 2 to the 64th.
    """

    rows: int = 0
    sums: tuple[int, int] = (0, 0)

    def __add__(self, other: "Digest") -> "Digest":
        first, second = ((mine + its) % _WORD for mine, its in zip(self.sums, other.sums, strict=True))
        return Digest(self.rows + other.rows, (first, second))


Contents = Mapping[PartitionKey, Digest]
"""Partition → its rows."""


def content(table: Table, files: Iterable[DataFile], deletes: Iterable[DataFile] = ()) -> Contents:
    """Add up the rows of some data files, as the table's schema shows them.

    Args:
        table: whose files they are.
        files: data files, in Parquet or ORC.
        deletes: position delete files; what they name in those files counts as deleted.
    """
    files, deletes = tuple(files), set(deletes)
    named = _read_all_delete_files(table.io, [FileScanTask(file, delete_files=deletes) for file in files[:1]])
    digests: dict[PartitionKey, Digest] = {}
    for file in files:
        partition = partition_of(file)
        rows = None if file.file_path in named else streamed(table, file)
        parts = _batches(table, file, named) if rows is None else [_added_up(rows)]
        digests[partition] = sum(parts, digests.get(partition, Digest()))
    return digests


def _batches(table: Table, file: DataFile, named: dict[str, list[pa.ChunkedArray]]) -> Iterator[Digest]:
    scan = ArrowScan(table.metadata, table.io, table.schema(), AlwaysTrue())
    # Batch by batch: a file of a gigabyte is not in memory as a whole.
    batches = scan._record_batches_from_scan_tasks_and_deletes(  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        [FileScanTask(file)], named
    )
    return map(digest_of, batches)


def digest_of(rows: pa.RecordBatch) -> Digest:
    """Add up rows. Zero and minus zero count as equal, and so do all that are no number."""
    if not len(rows):
        return Digest()
    frame = pl.DataFrame([pl.Series(name, flat(column)) for name, column in zip(rows.schema.names, rows, strict=True)])
    return _added_up(frame.lazy())


def _added_up(rows: pl.LazyFrame) -> Digest:
    names = rows.collect_schema().names()
    # Each column by a seed of its own, so a value is another one in another column; added up, in wrapping arithmetic.
    row = reduce(operator.add, (pl.col(name).hash(seed) for seed, name in enumerate(names, start=1)))
    sums = (row.hash(*seeds).sum().alias(str(index)) for index, seeds in enumerate(_SEEDS))
    count, first, second = rows.select(pl.len(), *sums).collect(engine="streaming").row(0)
    return Digest(count, (first, second))
