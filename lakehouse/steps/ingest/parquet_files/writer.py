"""Writes Parquet data files inside a Spark worker, one set of files per partition, with bounded memory."""

import json
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.conversions import to_bytes
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.partitioning import PartitionKey
from pyiceberg.table.locations import load_location_provider
from pyiceberg.types import PrimitiveType

from lakehouse.steps.ingest.parquet_files.encoding import file_schema
from lakehouse.steps.ingest.parquet_files.folders import Folders
from lakehouse.steps.ingest.parquet_files.open_file import OpenFile
from lakehouse.steps.ingest.parquet_files.partitions import Partitioner, PartitionTuple
from lakehouse.steps.ingest.parquet_files.target import WriteTarget

FILE_ROWS = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("record_count", pa.int64(), nullable=False),
        pa.field("file_size", pa.int64(), nullable=False),
        pa.field("partition", pa.list_(pa.binary()), nullable=False),
        pa.field("nan_counts", pa.string(), nullable=False),
        pa.field("footer", pa.binary(), nullable=False),
    ]
)
"""What a worker tells of a file it wrote. `partition` holds Iceberg's single-value serialization of each field."""

_TARGET_FILE_BYTES = 512 * 1024 * 1024
_ROW_GROUP_BYTES = 64 * 1024 * 1024
_MEMORY_BYTES = 192 * 1024 * 1024
_OPEN_FILES = 64


class ParquetFiles:
    """The files that one task writes.

    Rows are kept as Arrow until they make a row group. Two bounds hold for all files of a task together: of the rows
    that wait (then the largest lot is written as a row group), and of the files that are open in storage (then the one
    that has waited longest is finished, and a later row of its partition begins another). So a task that meets very
    many partitions writes more and smaller files, but never runs out of memory.

    After `finish` the files belong to whoever commits them. Before it, or on an error, `discard` removes them.
    """

    def __init__(self, target: WriteTarget, prefix: str) -> None:
        """Opens nothing yet.

        Args:
            target: The table.
            prefix: Begins every file's name, and must be new for every attempt of every task.
        """
        self._target = target
        self._prefix = prefix
        schema = target.schema()
        self._schema = file_schema(schema)
        self._partitioner = Partitioner(target.spec(), schema)
        self._folders = Folders(target.spec(), schema)
        self._partition_types = [field.field_type for field in target.spec().partition_type(schema).fields]
        self._locations = load_location_provider(target.location, dict(target.properties))
        self._io: FileIO = load_file_io(dict(target.io_properties), target.location)
        self._limit = int(target.properties.get("write.target-file-size-bytes", _TARGET_FILE_BYTES))
        self._open: dict[PartitionTuple, OpenFile] = {}
        self._named = 0
        self._paths: list[str] = []
        self._done: list[dict[str, Any]] = []

    def write(self, batch: pa.RecordBatch) -> None:
        """Takes rows, found by column name; columns that the table has and the batch has not are null."""
        for partition, rows in self._partitioner.split(self._fitted(batch)):
            file = self._open.pop(partition, None) or self._new_file(partition)
            self._open[partition] = file  # behind all others: the order tells who has waited longest
            file.add(rows)
            if file.waiting_bytes >= _ROW_GROUP_BYTES:
                self._flush(file)
            if file.size() >= self._limit:
                self._close(partition)
        while self.waiting_bytes > _MEMORY_BYTES:
            self._flush(max(self._open.values(), key=lambda file: file.waiting_bytes))

    @property
    def waiting_bytes(self) -> int:
        """How much memory the rows take that are in no file yet."""
        return sum(file.waiting_bytes for file in self._open.values())

    @property
    def open_files(self) -> int:
        """How many files are open in storage."""
        return sum(file.begun for file in self._open.values())

    def finish(self) -> pa.RecordBatch:
        """Finishes all files and tells of them in rows of `FILE_ROWS`."""
        for partition in list(self._open):
            self._close(partition)
        return pa.RecordBatch.from_pylist(self._done, schema=FILE_ROWS)

    def discard(self) -> None:
        """Removes every file that was begun. Nobody knows of them yet."""
        for file in self._open.values():
            file.abandon()
        self._open.clear()
        self._done.clear()
        while self._paths:
            self._io.delete(self._paths.pop())

    def _fitted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns: list[pa.Array] = []
        for field in self._schema:
            index = batch.schema.get_field_index(field.name)
            column = batch.column(index) if index >= 0 else pa.nulls(batch.num_rows, field.type)
            columns.append(column if column.type.equals(field.type, check_metadata=True) else column.cast(field.type))
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _new_file(self, partition: PartitionTuple) -> OpenFile:
        name = f"{self._prefix}-{self._named:05d}.parquet"
        self._named += 1
        key = cast("PartitionKey", _Folder(self._folders.path(partition))) if partition else None
        path = self._locations.new_data_location(name, key)
        if not path.endswith(f"/{name}"):  # a hash and a hyphen came before it: by its name it is known whose it is
            path = f"{path.removesuffix(f'-{name}')}/{name}"

        def create() -> Any:
            sink = self._io.new_output(path).create()
            self._paths.append(path)
            return sink

        return OpenFile(path, create, self._schema, self._target.properties)

    def _flush(self, file: OpenFile) -> None:
        if not file.begun and self.open_files >= _OPEN_FILES:
            self._close(next(partition for partition, other in self._open.items() if other.begun))
        file.flush()

    def _close(self, partition: PartitionTuple) -> None:
        file = self._open.pop(partition)
        footer, size = file.close()
        self._done.append(
            {
                "path": file.path,
                "record_count": footer.num_rows,
                "file_size": size,
                "partition": self._serialized(partition),
                "nan_counts": json.dumps(file.nans),
                "footer": _bytes(footer),
            }
        )

    def _serialized(self, partition: PartitionTuple) -> list[bytes | None]:
        return [
            None if value is None else to_bytes(cast("PrimitiveType", kind), value)
            for kind, value in zip(self._partition_types, partition, strict=True)
        ]


@dataclass(frozen=True)
class _Folder:
    """What a location provider asks of a partition key."""

    path: str

    def to_path(self) -> str:
        return self.path


def _bytes(footer: pq.FileMetaData) -> bytes:
    sink = pa.BufferOutputStream()
    footer.write_metadata_file(sink)
    return sink.getvalue().to_pybytes()
