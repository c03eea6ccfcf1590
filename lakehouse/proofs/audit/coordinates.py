"""Reads where rows came from: partition and offset of each, and no other column."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

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


def coordinates_there(
    table: Table, tasks: Sequence[FileScanTask]
) -> tuple[dict[int, Offsets], set[str], dict[str, str]]:
    """Like `coordinates`, of those files that can be read; which storage has not, and which are damaged, with why.

    Raises:
        CannotRead: an Avro file with deletes.
    """
    try:
        return coordinates(table, tasks), set(), {}
    except (FileNotFoundError, pa.ArrowException) as error:
        missing = {task.file.file_path for task in tasks if not table.io.new_input(task.file.file_path).exists()}
        present = [task for task in tasks if task.file.file_path not in missing]
        damaged = dict(_damaged(table, present)) if not missing or isinstance(error, pa.ArrowException) else {}
        if not missing and not damaged:  # a file of deletes, then: what its rows are, nobody can tell
            raise
        offsets, more_missing, more_damaged = coordinates_there(
            table, [task for task in present if task.file.file_path not in damaged]
        )
        return offsets, missing | more_missing, damaged | more_damaged


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
        CannotRead: an Avro file with deletes.
        FileNotFoundError: storage lacks one of the files.
    """
    avro = [task for task in tasks if task.file.file_format == FileFormat.AVRO]
    columnar = [task for task in tasks if task.file.file_format != FileFormat.AVRO]
    partitions, offsets = np.array([], np.int64), np.array([], np.int64)
    if columnar:
        schema = table.schema().select(PARTITION, OFFSET)
        rows = ArrowScan(table.metadata, table.io, schema, AlwaysTrue()).to_table(columnar)
        partitions, offsets = _numbers(rows, PARTITION), _numbers(rows, OFFSET)
    if avro:
        avro_pairs = np.array([pair for task in avro for pair in _from_avro(table, task)], np.int64).reshape(-1, 2)
        partitions, offsets = (
            np.concatenate([partitions, avro_pairs[:, 0]]),
            np.concatenate([offsets, avro_pairs[:, 1]]),
        )
    return {int(p): offsets[partitions == p] for p in np.unique(partitions)}


def _numbers(rows: pa.Table, column: str) -> Offsets:
    return cast("Offsets", rows[column].to_numpy()).astype(np.int64)


def _from_avro(table: Table, task: FileScanTask) -> Iterator[tuple[int, int]]:
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
