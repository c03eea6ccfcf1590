"""What rows hold, whatever their order and whatever files they are in: a few numbers that a reader can compare.

Each row is hashed over all columns, twice with other seeds, and the hashes of a partition are added up. So a row that
is lost, doubled or changed, and a value that has moved to another row, shows; the order of rows does not. Files are
read by PyIceberg and hashed by polars: another engine than the one that wrote them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import (
    ArrowScan,
    _read_all_delete_files,  # pyright: ignore[reportPrivateUsage] - once for all files, not once for each
)
from pyiceberg.manifest import DataFile
from pyiceberg.table import FileScanTask, Table

from lakehouse.commit.entries import PartitionKey, partition_of
from lakehouse.maintenance.nested import flat

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
    scan = ArrowScan(table.metadata, table.io, table.schema(), AlwaysTrue())
    found: dict[PartitionKey, Digest] = {}
    deleted = None
    for file in files:
        if deleted is None:
            deleted = _read_all_delete_files(table.io, [FileScanTask(file, delete_files=set(deletes))])
        # Batch by batch: a file of a gigabyte is not in memory as a whole.
        batches = scan._record_batches_from_scan_tasks_and_deletes(  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
            [FileScanTask(file)], deleted
        )
        place = partition_of(file)
        for batch in batches:
            found[place] = found.get(place, Digest()) + digest_of(batch)
    return found


def digest_of(rows: pa.RecordBatch) -> Digest:
    """Add up rows. Zero and minus zero count as equal, and so do all that are no number."""
    if not len(rows):
        return Digest()
    frame = pl.DataFrame([pl.Series(name, flat(column)) for name, column in zip(rows.schema.names, rows, strict=True)])
    first, second = (int(frame.hash_rows(*seeds).to_numpy().sum(dtype=np.uint64)) for seeds in _SEEDS)
    return Digest(len(rows), (first, second))
