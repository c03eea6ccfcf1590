"""Counts what a task receives and what becomes of it, by table and partition."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from lakehouse.engines.kafka.statement import COPIES
from lakehouse.engines.kafka.tally import Tally
from lakehouse.steps.ingest.received import Received
from lakehouse.steps.ingest.workers.task_report import TaskReport, ipc_bytes

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers


@dataclass
class TaskCounts:
    """The counts of one task so far; `report` has no tallies before `finish`."""

    report: TaskReport = field(default_factory=TaskReport)
    tallies: dict[str, dict[int, Tally]] = field(default_factory=dict[str, dict[int, Tally]])
    received: Received = field(default_factory=Received)

    def read(self, records: pa.RecordBatch) -> None:
        """Count what arrives: records, bytes, and minutes of arrival."""
        self.report.read += records.num_rows
        for column in ("key", "value"):
            self.report.bytes += pc.sum(pc.binary_length(records.column(column))).as_py() or 0
        minutes = records.column("timestamp").cast(pa.int64()).to_numpy() // 60_000_000
        for minute, times in zip(*np.unique(minutes, return_counts=True), strict=True):
            self.report.arrivals[int(minute)] = self.report.arrivals.get(int(minute), 0) + int(times)

    def tally(self, table: str, partitions: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64]) -> None:
        """Tally the offsets of rows, or of records that no table gets."""
        tallies = self.tallies.setdefault(table, {})
        for partition in np.unique(partitions):
            own = offsets[partitions == partition]
            tallies[int(partition)] = tallies.get(int(partition), Tally()) + Tally.of(own)

    def refuse(self, table: str, times: int) -> None:
        """Count records that a table would not take."""
        if times:
            self.report.refused[table] = self.report.refused.get(table, 0) + times

    def tally_copies(self, records: pa.RecordBatch, extra: npt.NDArray[np.int64]) -> None:
        """Tally, below zero, each row of a record but one: what is left is each record once."""
        if len(extra):
            numbers, offsets = records.column("partition").to_numpy()[extra], records.column("offset").to_numpy()[extra]
            tallies = self.tallies.setdefault(COPIES, {})
            for partition in np.unique(numbers).tolist():
                tallies[partition] = tallies.get(partition, Tally()) - Tally.of(offsets[numbers == partition])

    def finish(self, files: Mapping[str, pa.RecordBatch]) -> TaskReport:
        """All of it, and the rows that tell of the files of each table."""
        self.report.files = {table: ipc_bytes(rows) for table, rows in files.items()}
        self.report.tallies = {
            table: {
                partition: (str(tally.count), str(tally.total), str(tally.squares))
                for partition, tally in by_partition.items()
            }
            for table, by_partition in self.tallies.items()
        }
        self.report.received = self.received.stretches
        return self.report
