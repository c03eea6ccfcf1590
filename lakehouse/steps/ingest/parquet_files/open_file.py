"""One Parquet file that is being written."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakehouse.steps.ingest.parquet_files.encoding import nan_counts, writer_options

# What a waiting batch costs besides its buffers, so that very many tiny ones count too.
_BATCH_BYTES = 8 * 1024


class OpenFile:
    """Collects rows until they make a row group; storage hears of the file with the first.

    Attributes:
        path: Where the file is, or will be.
        nans: NaN by field id, so far.
        waiting_bytes: How much memory the rows take that are not yet in the file.
    """

    def __init__(self, path: str, create: Callable[[], Any], schema: pa.Schema, properties: Mapping[str, str]) -> None:
        self.path = path
        self.nans: Counter[int] = Counter()
        self.waiting_bytes = 0
        self._create = create
        self._schema = schema
        self._properties = properties
        self._handle: pa.NativeFile | None = None
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[pa.RecordBatch] = []

    @property
    def begun(self) -> bool:
        """Whether there is anything in storage."""
        return self._writer is not None

    def add(self, rows: pa.RecordBatch) -> None:
        """Takes rows."""
        self._waiting.append(rows)
        self.waiting_bytes += rows.nbytes + _BATCH_BYTES
        self.nans.update(nan_counts(rows))

    def flush(self) -> None:
        """Writes the waiting rows as one row group."""
        if self._waiting:
            table = pa.Table.from_batches(self._waiting)
            self._opened().write_table(table, row_group_size=table.num_rows)
            self._waiting.clear()
            self.waiting_bytes = 0

    def size(self) -> int:
        """How many bytes the file has, without the waiting rows."""
        return 0 if self._handle is None else self._handle.tell()

    def close(self) -> tuple[pq.FileMetaData, int]:
        """Writes what waits and the footer; tells the footer and the file's size."""
        self.flush()
        writer = self._opened()
        writer.close()
        size = self.size()
        self._close_handle()
        return writer.writer.metadata, size

    def abandon(self) -> None:
        """Closes without caring for the content."""
        self._waiting.clear()
        if self._writer is not None:
            self._writer.close()
        self._close_handle()

    def _opened(self) -> pq.ParquetWriter:
        if self._writer is None:
            options = writer_options(self._waiting[0], self._properties)
            sink = self._create()
            self._handle = sink if isinstance(sink, pa.NativeFile) else pa.PythonFile(sink, mode="w")
            self._writer = pq.ParquetWriter(self._handle, self._schema, **options)
        return self._writer

    def _close_handle(self) -> None:
        if self._handle is not None:
            self._handle.close()
