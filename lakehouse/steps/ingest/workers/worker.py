"""What happens to a record inside a Spark task: decoded once, routed, judged, written, counted.

This runs in Spark's Python workers. The task yields one row: what it wrote and counted. Whatever number of tables a
stream has, each record is fetched and decoded once.
"""

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from lakehouse.formats.verdict import RecordError
from lakehouse.steps.ingest.parquet_files import WriteTarget
from lakehouse.steps.ingest.workers.record_sorter import RecordSorter
from lakehouse.steps.ingest.workers.row_writer import RowWriter
from lakehouse.steps.ingest.workers.task_counts import TaskCounts


@dataclass(frozen=True)
class IngestTask:
    """The work of one task; sent to every worker.

    Args:
        run_id: whose records go to quarantine.
        prefix: what the names of files begin with.
        sorter: how records become rows.
        targets: table → where its files go, quarantine included.
        quarantine: its table.
        keep: whether what is written is wanted; otherwise it is removed again, and only shows what can be read.
    """

    run_id: str
    prefix: str
    sorter: RecordSorter
    targets: Mapping[str, WriteTarget]
    quarantine: str
    keep: bool = True

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Work through a task's records; yields one row with the encoded `TaskReport`."""
        counts, prefix = TaskCounts(), f"{self.prefix}-{uuid.uuid4().hex[:12]}"
        writer = RowWriter(self.sorter.topics, self.run_id, prefix, self.targets, self.quarantine, counts)
        try:
            for batch in batches:
                _take(batch, self.sorter, writer, counts)
            report = counts.finish(writer.finish())
            if not self.keep:
                writer.discard()
        except BaseException:
            # The task failed or was stopped: nobody will ever hear of these files.
            writer.discard()
            raise
        yield report.to_batch()


def _take(records: pa.RecordBatch, sorter: RecordSorter, writer: RowWriter, counts: TaskCounts) -> None:
    """Decode, route, judge and write one batch."""
    if records.num_rows == 0:
        return
    counts.read(records)
    errors: dict[int, RecordError] = {}
    for table, kept, batch in sorter.parts(records, errors, counts):
        if batch.num_rows:
            writer.write(table, records, kept, batch)
    if errors:
        writer.refuse(records, errors)
    counts.received.take(records, {row: error.error_class for row, error in errors.items()})
