"""One Parquet file that is being written."""

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakehouse.ingest.parquet_files.encoding import nan_counts


class OpenFile:
    """Collects rows until they make a row group.

    Attributes:
        path: Where the file is.
        nans: NaN by field id, so far.
        waiting_bytes: How much memory the rows take that are not yet in the file.
    """

    def __init__(self, path: str, sink: Any, schema: pa.Schema, options: dict[str, Any]) -> None:
        self.path = path
        self.nans: Counter[int] = Counter()
        self.waiting_bytes = 0
        self._sink = sink
        self._handle = sink if isinstance(sink, pa.NativeFile) else pa.PythonFile(sink, mode="w")
        self._writer = pq.ParquetWriter(self._handle, schema, **options)
        self._waiting: list[pa.RecordBatch] = []

    def add(self, rows: pa.RecordBatch) -> None:
        """Takes rows."""
        self._waiting.append(rows)
        self.waiting_bytes += rows.nbytes
        self.nans.update(nan_counts(rows))

    def flush(self) -> None:
        """Writes the waiting rows as one row group."""
        if self._waiting:
            table = pa.Table.from_batches(self._waiting)
            self._writer.write_table(table, row_group_size=table.num_rows)
            self._waiting.clear()
            self.waiting_bytes = 0

    def size(self) -> int:
        """How many bytes the file has, without the waiting rows."""
        return self._handle.tell()

    def close(self) -> tuple[pq.FileMetaData, int]:
        """Writes what waits and the footer; tells the footer and the file's size."""
        self.flush()
        self._writer.close()
        size = self._handle.tell()
        self._handle.close()
        return self._writer.writer.metadata, size

    def abandon(self) -> None:
        """Closes without caring for the content."""
        self._waiting.clear()
        self._writer.close()
        self._handle.close()
