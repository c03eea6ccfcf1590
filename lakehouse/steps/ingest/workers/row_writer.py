"""Writes the rows of a task to data files, each with its Kafka coordinates, and what was refused to quarantine."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakehouse.engines.kafka.several_topics.topic_numbers import STRIDE, TopicNumbers
from lakehouse.formats.headers import read_headers
from lakehouse.formats.verdict import RecordError
from lakehouse.steps.ingest.parquet_files import ParquetFiles, WriteTarget
from lakehouse.steps.ingest.workers.broken_columns import count_column
from lakehouse.steps.ingest.workers.required_fields import solid
from lakehouse.steps.ingest.workers.task_counts import TaskCounts

_HEADERS = pa.list_(pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())]))


@dataclass
class RowWriter:
    """The files of one task.

    Args:
        topics: what the numbers of stream partitions mean.
        run_id: whose records go to quarantine.
        prefix: what the names of files begin with.
        targets: table → where its files go, quarantine included.
        quarantine: its table.
        counts: where rows are tallied and errors counted.
    """

    topics: TopicNumbers
    run_id: str
    prefix: str
    targets: Mapping[str, WriteTarget]
    quarantine: str
    counts: TaskCounts
    writers: dict[str, ParquetFiles] = field(default_factory=dict[str, ParquetFiles])

    def write(
        self, table: str, records: pa.RecordBatch, rows: npt.NDArray[np.int64] | None, columns: pa.RecordBatch
    ) -> None:
        """Write the rows of a table.

        Args:
            table: its name.
            records: a batch from Kafka.
            rows: which of its records these are (None: all).
            columns: what the table gets of them.
        """
        if rows is not None:
            records = records.select(["partition", "offset", "timestamp"]).take(pa.array(rows))
        partitions, offsets = records.column("partition"), records.column("offset")
        self.counts.tally(table, partitions.to_numpy(), offsets.to_numpy())
        arrays = [
            *(solid(column) for column in columns.columns),
            *self._kafka_partitions(partitions),
            offsets,
            records.column("timestamp"),
        ]
        names = [*columns.schema.names, "_kafka_topic", "_kafka_partition", "_kafka_offset", "_kafka_timestamp"]
        self._writer(table).write(pa.RecordBatch.from_arrays(arrays, names=names))

    def refuse(self, records: pa.RecordBatch, errors: Mapping[int, RecordError]) -> None:
        """Write records to quarantine, as they came, each with its error."""
        rows = np.array(sorted(errors), np.int64)
        refusals = [errors[int(row)] for row in rows]
        raw = records.select(["key", "value", "headers"]).take(pa.array(rows))
        headers = pa.array([_headers(text) for text in raw.column("headers").to_pylist()], _HEADERS)
        for error in refusals:
            self.counts.report.errors[error.error_class] = self.counts.report.errors.get(error.error_class, 0) + 1
            count_column(self.counts.report.columns, error)
        columns = pa.RecordBatch.from_arrays(
            [
                raw.column("key"),
                raw.column("value"),
                headers,
                pa.array([error.error_class for error in refusals]),
                pa.array([error.message for error in refusals]),
                pa.repeat(pa.scalar(self.run_id), len(refusals)),
            ],
            names=["key", "value", "headers", "error_class", "error_message", "run_id"],
        )
        self.write(self.quarantine, records, rows, columns)

    def _kafka_partitions(self, partitions: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Topic and Kafka's partition of each row."""
        topics = self.topics
        if not topics.many:
            return pa.repeat(pa.scalar(topics.names[0]), len(partitions)), partitions
        numbers, kafka_partitions = np.divmod(partitions.to_numpy(), STRIDE)
        return pa.array(topics.names, pa.string()).take(pa.array(numbers)), pa.array(kafka_partitions, pa.int32())

    def finish(self) -> dict[str, pa.RecordBatch]:
        """Close all files: table → the rows that tell of them."""
        return {table: writer.finish() for table, writer in self.writers.items()}

    def discard(self) -> None:
        """Remove what was written."""
        for writer in self.writers.values():
            writer.discard()

    def _writer(self, table: str) -> ParquetFiles:
        if table not in self.writers:
            self.writers[table] = ParquetFiles(self.targets[table], self.prefix)
        return self.writers[table]


def _headers(text: str | None) -> list[dict[str, object]] | None:
    return None if text is None else [{"key": h.key, "value": h.value} for h in read_headers(text)]
