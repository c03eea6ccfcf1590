"""Reads where rows came from: partition and offset of each, of several topics the topic, and no other column.

Rows of a table that was adopted from another writer may have neither; they are counted.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute
from pyiceberg.avro.file import AvroFile
from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression, EqualTo
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import FileFormat
from pyiceberg.table import FileScanTask, Table

from lakehouse.engines.kafka.several_topics.topic_numbers import STRIDE, TopicNumbers
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import table_name
from lakehouse.protocol.seals.history import last_seal

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers
TOPIC, PARTITION, OFFSET = "_kafka_topic", "_kafka_partition", "_kafka_offset"
Offsets = npt.NDArray[np.int64]


class NoReader(LakehouseError):
    """A data file is of a kind that the audit has no reader for."""


def sealed_numbers(table: Table) -> TopicNumbers | None:
    """What the numbers of stream partitions mean, by the table's newest seal; None where it has none.

    Raises:
        SealBroken: the newest seal was changed.
    """
    sealed = last_seal(table)
    statement = KafkaStatement.from_keys(sealed.seal.statement) if sealed else None
    return statement.numbers if statement else None


def in_partition(numbers: TopicNumbers, stream_partition: int) -> BooleanExpression:
    """The rows of a stream partition."""
    topic, partition = numbers.split(stream_partition)
    condition = EqualTo(PARTITION, partition)  # pyright: ignore[reportCallIssue]
    return And(EqualTo(TOPIC, topic), condition) if numbers.many else condition  # pyright: ignore[reportCallIssue]


def stream_partitions(numbers: TopicNumbers | None, rows: pa.Table | pa.RecordBatch) -> Offsets:
    """The stream partition of each row; topics that have no number get those behind the last."""
    partitions = _numbers(rows, PARTITION)
    if numbers is None or not numbers.many:
        return partitions
    topics = rows[TOPIC]
    known = [*numbers.names, *sorted({*pc.unique(topics).to_pylist()}.difference(numbers.names))]
    return partitions + STRIDE * pc.index_in(topics, pa.array(known, topics.type)).to_numpy().astype(np.int64)


class StoredPlaces(NamedTuple):
    """Where the rows of some files came from.

    Attributes:
        offsets: stream partition → offsets of its rows, repetitions included.
        without: rows that have no partition or no offset (or, of several topics, no topic).
        missing: paths of files that storage lacks.
        damaged: path → why a file cannot be read.
    """

    offsets: dict[int, Offsets]
    without: int = 0
    missing: frozenset[str] = frozenset()
    damaged: Mapping[str, str] = MappingProxyType({})


def coordinates_there(table: Table, tasks: Sequence[FileScanTask], numbers: TopicNumbers | None = None) -> StoredPlaces:
    """Where the rows came from of those files that can be read; and which cannot.

    Raises:
        CannotRead: an Avro file with deletes.
    """
    try:
        return places(table, tasks, numbers)
    except (FileNotFoundError, pa.ArrowException) as error:
        missing = {task.file.file_path for task in tasks if not table.io.new_input(task.file.file_path).exists()}
        present = [task for task in tasks if task.file.file_path not in missing]
        damaged = dict(_damaged(table, present)) if not missing or isinstance(error, pa.ArrowException) else {}
        if not missing and not damaged:  # a file of deletes, then: what its rows are, nobody can tell
            raise
        others = coordinates_there(table, [task for task in present if task.file.file_path not in damaged], numbers)
        return others._replace(missing=others.missing | missing, damaged={**others.damaged, **damaged})


def _damaged(table: Table, tasks: Sequence[FileScanTask]) -> Iterator[tuple[str, str]]:
    """Files that are empty, or cut, or no files of their kind."""
    for task in tasks:
        try:
            coordinates(table, [FileScanTask(task.file)])
        except pa.ArrowException as error:
            yield task.file.file_path, str(error).partition("\n")[0].rstrip(".")


def coordinates(table: Table, tasks: Sequence[FileScanTask], numbers: TopicNumbers | None = None) -> dict[int, Offsets]:
    """Stream partition → offsets of the rows in some files, repetitions included, deletes applied.

    Args:
        table: with the coordinate columns.
        tasks: the files.
        numbers: of the stream's topics; None: as the table's newest seal has them.

    Raises:
        NoReader: an Avro file with deletes.
        FileNotFoundError: storage lacks one of the files.
    """
    return places(table, tasks, numbers).offsets


def places(table: Table, tasks: Sequence[FileScanTask], numbers: TopicNumbers | None = None) -> StoredPlaces:
    """Where the rows in some files came from, deletes applied; the arguments of `coordinates`.

    Raises:
        NoReader: an Avro file with deletes.
        FileNotFoundError: storage lacks one of the files.
    """
    numbers = sealed_numbers(table) if numbers is None else numbers
    columns = (TOPIC, PARTITION, OFFSET) if numbers is not None and numbers.many else (PARTITION, OFFSET)
    if not {*columns} <= set(table.schema().column_names):
        return StoredPlaces({}, sum(task.file.record_count for task in tasks))
    avro = [task for task in tasks if task.file.file_format == FileFormat.AVRO]
    columnar = [task for task in tasks if task.file.file_format != FileFormat.AVRO]
    parts = [np.empty((0, 2), np.int64)]
    without = 0
    if columnar:
        schema = table.schema().select(*columns)
        rows = ArrowScan(table.metadata, table.io, schema, AlwaysTrue()).to_table(columnar)
        known = rows if _required(table) else rows.drop_null()
        parts.append(np.column_stack([stream_partitions(numbers, known), _numbers(known, OFFSET)]))
        without = len(rows) - len(known)
    if avro:
        from_avro = [row for task in avro for row in _from_avro(table, task, columns)]
        complete = [row for row in from_avro if None not in row.values()]
        if complete:
            known = pa.Table.from_pylist(complete)
            parts.append(np.column_stack([stream_partitions(numbers, known), _numbers(known, OFFSET)]))
        without += len(from_avro) - len(complete)
    partitions, offsets = np.concatenate(parts).T
    return StoredPlaces({int(p): offsets[partitions == p] for p in np.unique(partitions)}, without)


def _required(table: Table) -> bool:
    return all(
        table.schema().find_field(name).required
        for name in (TOPIC, PARTITION, OFFSET)
        if name in table.schema().column_names
    )


def _numbers(rows: pa.Table | pa.RecordBatch, column: str) -> Offsets:
    return cast("Offsets", rows[column].to_numpy()).astype(np.int64)


def _from_avro(table: Table, task: FileScanTask, columns: Sequence[str]) -> Iterator[dict[str, str | int | None]]:
    """PyIceberg reads Avro for its manifests, and not as data; the same reader does for these columns."""
    if task.delete_files:
        raise NoReader(
            f"{table_name(table)}: {task.file.file_path} is an Avro file with deletes.",
            remedy="compact the table, then audit again",
        )
    schema = table.schema().select(*columns)
    names = [field.name for field in schema.fields]
    with AvroFile[Any](table.io.new_input(task.file.file_path), read_schema=schema) as rows:
        for row in rows:
            yield {name: row[position] for position, name in enumerate(names)}
