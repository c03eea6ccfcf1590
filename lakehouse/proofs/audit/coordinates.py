"""Reads where rows came from: partition and offset of each, and no other column.

Rows of a table that was adopted from another writer may have neither; they are counted.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyiceberg.avro.file import AvroFile
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import FileFormat
from pyiceberg.table import FileScanTask, Table

from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import table_name

PARTITION, OFFSET = "_kafka_partition", "_kafka_offset"
Offsets = npt.NDArray[np.int64]


class NoReader(LakehouseError):
    """A data file is of a kind that the audit has no reader for."""


class StoredPlaces(NamedTuple):
    """Where the rows of some files came from.

    Attributes:
        offsets: partition → offsets of its rows, repetitions included.
        without: rows that have no partition or no offset.
        missing: paths of files that storage lacks.
        damaged: path → why a file cannot be read.
    """

    offsets: dict[int, Offsets]
    without: int = 0
    missing: frozenset[str] = frozenset()
    damaged: Mapping[str, str] = MappingProxyType({})


def coordinates_there(table: Table, tasks: Sequence[FileScanTask]) -> StoredPlaces:
    """Where the rows came from of those files that can be read; and which cannot.

    Raises:
        CannotRead: an Avro file with deletes.
    """
    try:
        return places(table, tasks)
    except (FileNotFoundError, pa.ArrowException) as error:
        missing = {task.file.file_path for task in tasks if not table.io.new_input(task.file.file_path).exists()}
        present = [task for task in tasks if task.file.file_path not in missing]
        damaged = dict(_damaged(table, present)) if not missing or isinstance(error, pa.ArrowException) else {}
        if not missing and not damaged:  # a file of deletes, then: what its rows are, nobody can tell
            raise
        others = coordinates_there(table, [task for task in present if task.file.file_path not in damaged])
        return others._replace(missing=others.missing | missing, damaged={**others.damaged, **damaged})


def _damaged(table: Table, tasks: Sequence[FileScanTask]) -> Iterator[tuple[str, str]]:
    """Files that are empty, or cut, or no files of their kind."""
    for task in tasks:
        try:
            coordinates(table, [FileScanTask(task.file)])
        except pa.ArrowException as error:
            yield task.file.file_path, str(error).partition("\n")[0].rstrip(".")


def coordinates(table: Table, tasks: Sequence[FileScanTask]) -> dict[int, Offsets]:
    """Partition → offsets of the rows in some files, repetitions included, deletes applied.

    Raises:
        NoReader: an Avro file with deletes.
        FileNotFoundError: storage lacks one of the files.
    """
    return places(table, tasks).offsets


def places(table: Table, tasks: Sequence[FileScanTask]) -> StoredPlaces:
    """Where the rows in some files came from, deletes applied.

    Raises:
        NoReader: an Avro file with deletes.
        FileNotFoundError: storage lacks one of the files.
    """
    if not {PARTITION, OFFSET} <= set(table.schema().column_names):
        return StoredPlaces({}, sum(task.file.record_count for task in tasks))
    avro = [task for task in tasks if task.file.file_format == FileFormat.AVRO]
    columnar = [task for task in tasks if task.file.file_format != FileFormat.AVRO]
    parts = [np.empty((0, 2), np.int64)]
    without = 0
    if columnar:
        schema = table.schema().select(PARTITION, OFFSET)
        rows = ArrowScan(table.metadata, table.io, schema, AlwaysTrue()).to_table(columnar)
        known = rows if _required(table) else rows.drop_null()
        parts.append(np.column_stack([_numbers(known, PARTITION), _numbers(known, OFFSET)]))
        without = len(rows) - len(known)
    if avro:
        pairs = [pair for task in avro for pair in _from_avro(table, task)]
        known_pairs = [pair for pair in pairs if None not in pair]
        parts.append(np.array(known_pairs, np.int64).reshape(-1, 2))
        without += len(pairs) - len(known_pairs)
    partitions, offsets = np.concatenate(parts).T
    return StoredPlaces({int(p): offsets[partitions == p] for p in np.unique(partitions)}, without)


def _required(table: Table) -> bool:
    return all(table.schema().find_field(name).required for name in (PARTITION, OFFSET))


def _numbers(rows: pa.Table, column: str) -> Offsets:
    return cast("Offsets", rows[column].to_numpy()).astype(np.int64)


def _from_avro(table: Table, task: FileScanTask) -> Iterator[tuple[int | None, int | None]]:
    """PyIceberg reads Avro for its manifests, and not as data; the same reader does for two columns."""
    if task.delete_files:
        raise NoReader(
            f"{table_name(table)}: {task.file.file_path} is an Avro file with deletes.",
            remedy="compact the table, then audit again",
        )
    schema = table.schema().select(PARTITION, OFFSET)
    with AvroFile[Any](table.io.new_input(task.file.file_path), read_schema=schema) as rows:
        for row in rows:
            yield row[0], row[1]
