"""What happens to a record inside a Spark task: decoded once, routed, judged, written, counted.

This runs in Spark's Python workers. The task yields one row: what it wrote and counted. Whatever number of tables a
stream has, each record is fetched and decoded once.
"""

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from lakehouse.contracts.rules import BatchRule, Rules
from lakehouse.engines.kafka.several_topics.topic_numbers import STRIDE, TopicNumbers
from lakehouse.engines.kafka.statement import COPIES, FILTERED
from lakehouse.engines.kafka.tally import Tally
from lakehouse.formats.changes import ChangeDecoder
from lakehouse.formats.headers import read_headers
from lakehouse.formats.json import JsonDecoder, Routed, RoutedDecoder
from lakehouse.formats.record_columns import RecordColumns
from lakehouse.formats.routed_records import RoutedRecords
from lakehouse.formats.verdict import RecordError
from lakehouse.steps.ingest.parquet_files import ParquetFiles, WriteTarget
from lakehouse.steps.ingest.received import Received
from lakehouse.steps.ingest.workers.broken_columns import count_column
from lakehouse.steps.ingest.workers.choosing import Part, RecordRouter, copied_rows, whole_or_none
from lakehouse.steps.ingest.workers.decoders import RoutingDecoder, TableDecoder
from lakehouse.steps.ingest.workers.required_fields import solid
from lakehouse.steps.ingest.workers.task_report import TaskReport, ipc_bytes

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers
_HEADERS = pa.list_(pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())]))


@dataclass(frozen=True)
class IngestTask:
    """The work of one task; sent to every worker.

    Args:
        topics: what the numbers of stream partitions mean.
        decoder: for a stream with one table, one that finds the route by a field, the general way, or one for changes.
        tables: route → table; the one route of a single table is the empty string, and changelogs are their own.
        rules: table → its compiled contract rules.
        targets: table → where its files go, quarantine included.
        columns: table → its columns, where some hold parts of the record itself.
        filters: table → what its records are kept by, where it drops some.
        keep: whether what is written is wanted; otherwise it is removed again, and only shows what can be read.
    """

    topics: TopicNumbers
    run_id: str
    prefix: str
    decoder: TableDecoder | RoutingDecoder | RecordRouter
    tables: Mapping[str, str]
    rules: Mapping[str, Rules]
    targets: Mapping[str, WriteTarget]
    quarantine: str
    keep: bool = True
    columns: Mapping[str, RecordColumns] = field(default_factory=dict[str, RecordColumns])
    filters: Mapping[str, tuple[BatchRule, ...]] = field(default_factory=dict[str, tuple[BatchRule, ...]])

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Work through a task's records; yields one row with the encoded `TaskReport`."""
        work = _TaskWork(self, f"{self.prefix}-{uuid.uuid4().hex[:12]}")
        try:
            for batch in batches:
                work.take(batch)
            report = work.finish()
            if not self.keep:
                work.discard()
        except BaseException:
            # The task failed or was stopped: nobody will ever hear of these files.
            work.discard()
            raise
        yield report.to_batch()

    def judge(self, records: pa.RecordBatch) -> dict[int, RecordError]:
        """Which records of a batch would go to quarantine, and why; nothing is written."""
        return self.sort(records)[1]

    def unmade(self, records: pa.RecordBatch) -> dict[str, int]:
        """Tables that records of a batch name, that may be made and are not there yet; nothing is written."""
        work = _TaskWork(self, self.prefix)
        list(work.parts(records, {}))
        return work.report.unmade

    def sort(self, records: pa.RecordBatch) -> tuple[list[tuple[str, pa.RecordBatch]], dict[int, RecordError]]:
        """The rows that records of a batch would become, by table, and which would go to quarantine, and why."""
        work, errors = _TaskWork(self, self.prefix), dict[int, RecordError]()
        parts = work.parts(records, errors)
        return [(table, columns) for table, _, columns in parts], errors


@dataclass
class _TaskWork:
    task: IngestTask
    prefix: str
    report: TaskReport = field(default_factory=TaskReport)
    tallies: dict[str, dict[int, Tally]] = field(default_factory=dict[str, dict[int, Tally]])
    writers: dict[str, ParquetFiles] = field(default_factory=dict[str, ParquetFiles])
    received: Received = field(default_factory=Received)

    def take(self, records: pa.RecordBatch) -> None:
        """Decode, route, judge and write one batch."""
        if records.num_rows == 0:
            return
        self._count(records)
        errors: dict[int, RecordError] = {}
        for table, kept, batch in self.parts(records, errors):
            if batch.num_rows:
                self._write(table, records, kept, batch)
        if errors:
            self._quarantine(records, errors)
        self.received.take(records, {row: error.error_class for row, error in errors.items()})

    def parts(self, records: pa.RecordBatch, errors: dict[int, RecordError]) -> Iterable[Part]:
        """Table, the input rows that it gets (None: all of them), and their columns, as filters and rules let pass.

        A record that is for several tables goes to all of them or to none.
        """
        wanted = (self.kept(records, *part) for part in self.decoded(records, errors))
        parts = ((table, *self.judged(table, rows, columns, errors)) for table, rows, columns in wanted)
        if not isinstance(self.task.decoder, RecordRouter):
            return parts
        whole = whole_or_none(list(parts), errors)
        self._count_copies(records, whole)
        return whole

    def _count_copies(self, records: pa.RecordBatch, parts: Sequence[Part]) -> None:
        """Tally, below zero, each row of a record but one: what is left is each record once."""
        extra = copied_rows(parts, records.num_rows)
        if len(extra):
            numbers, offsets = records.column("partition").to_numpy()[extra], records.column("offset").to_numpy()[extra]
            tallies = self.tallies.setdefault(COPIES, {})
            for partition in np.unique(numbers).tolist():
                tallies[partition] = tallies.get(partition, Tally()) - Tally.of(offsets[numbers == partition])

    def kept(
        self,
        records: pa.RecordBatch,
        table: str,
        rows: npt.NDArray[np.int64] | None,
        columns: pa.RecordBatch,
    ) -> tuple[str, npt.NDArray[np.int64] | None, pa.RecordBatch]:
        """Leave out the records that a table's declared filter drops, and tally them."""
        dropped = [rule.broken(columns) for rule in self.task.filters.get(table, ())]
        broken = np.unique(np.concatenate(dropped)) if dropped else np.array([], np.int64)
        if not len(broken):
            return table, rows, columns
        own = np.arange(columns.num_rows) if rows is None else rows
        places = records.select(["partition", "offset"]).take(pa.array(own[broken]))
        self._tally(FILTERED, places.column("partition").to_numpy(), places.column("offset").to_numpy())
        counted = self.report.dropped.setdefault("filtered", {})
        counted[table] = counted.get(table, 0) + len(broken)
        keep = np.delete(np.arange(columns.num_rows), broken)
        return table, own[keep], columns.take(pa.array(keep))

    def decoded(
        self, records: pa.RecordBatch, errors: dict[int, RecordError]
    ) -> Iterator[tuple[str, npt.NDArray[np.int64] | None, pa.RecordBatch]]:
        """Table, the input rows that it gets (None: all of them), and their columns."""
        for table, rows, columns in self._values(records, errors):
            whole, before = self.task.columns.get(table), len(errors)
            part = (rows, columns) if whole is None else whole.complete(records, rows, columns, errors)
            self._refuse(table, len(errors) - before)
            yield table, *part

    def _values(
        self, records: pa.RecordBatch, errors: dict[int, RecordError]
    ) -> Iterator[tuple[str, npt.NDArray[np.int64] | None, pa.RecordBatch]]:
        decoder, values, headers = self.task.decoder, records.column("value"), records.column("headers")
        if isinstance(decoder, RecordRouter):
            parts, observed = decoder.decode(records, self.task.topics, errors)
            self.report.note(observed)
            yield from parts
            return
        if isinstance(decoder, RoutedDecoder | RoutedRecords | ChangeDecoder):
            routed = self._routed(decoder, records)
            self.report.note(replace(routed.observed, refused=Counter()))
            for route, times in routed.observed.refused.items():
                self._refuse(self.task.tables[route], times)
            errors.update(routed.errors)
            for route, part in routed.parts.items():
                whole = len(part.rows) == records.num_rows
                yield self.task.tables[route], None if whole else part.rows, part.batch
            return
        decoded = decoder.decode(values) if isinstance(decoder, JsonDecoder) else decoder.decode(values, headers)
        self.report.note(decoded.observed)
        errors.update(decoded.errors)
        if not decoded.errors:
            yield self.task.tables[""], None, decoded.batch
            return
        accepted = np.delete(np.arange(records.num_rows), list(decoded.errors))
        if not len(accepted):
            return
        # Of a batch without columns Arrow can take nothing: all that its rows have are parts of the record.
        batch = decoded.batch.take(pa.array(accepted)) if decoded.batch.num_columns else decoded.batch
        yield self.task.tables[""], accepted, batch

    def _refuse(self, table: str, times: int) -> None:
        """Count records that a table would not take."""
        if times:
            self.report.refused[table] = self.report.refused.get(table, 0) + times

    def _routed(self, decoder: RoutedDecoder | RoutedRecords | ChangeDecoder, records: pa.RecordBatch) -> Routed:
        values = records.column("value")
        if isinstance(decoder, RoutedRecords):
            return decoder.decode(values, records.column("headers"))
        if isinstance(decoder, RoutedDecoder):
            return decoder.decode(values)
        routed = decoder.decode(values, *(records.column(name) for name in ("key", "headers", "offset")))
        for table, part in routed.parts.items():
            counted = self.report.operations.setdefault(table, {})
            for entry in part.batch.column("operation").value_counts().to_pylist():
                counted[entry["values"]] = counted.get(entry["values"], 0) + entry["counts"]
        return routed

    def judged(
        self,
        table: str,
        rows: npt.NDArray[np.int64] | None,
        columns: pa.RecordBatch,
        errors: dict[int, RecordError],
    ) -> tuple[npt.NDArray[np.int64] | None, pa.RecordBatch]:
        """Take out rows that break a blocking rule; count those that break another."""
        rules = self.task.rules[table]
        broken = rules.judge(columns)
        if broken:
            keep = np.delete(np.arange(columns.num_rows), list(broken))
            self._refuse(table, len(broken))
            for row, error in broken.items():
                errors[row if rows is None else int(rows[row])] = error
            columns = columns.take(pa.array(keep))
            rows = keep if rows is None else rows[keep]
        for rule, times in rules.warnings(columns).items():
            counted = self.report.warnings.setdefault(table, {})
            counted[rule] = counted.get(rule, 0) + times
        return rows, columns

    def _write(
        self, table: str, records: pa.RecordBatch, rows: npt.NDArray[np.int64] | None, columns: pa.RecordBatch
    ) -> None:
        if rows is not None:
            records = records.select(["partition", "offset", "timestamp"]).take(pa.array(rows))
        partitions, offsets = records.column("partition"), records.column("offset")
        self._tally(table, partitions.to_numpy(), offsets.to_numpy())
        arrays = [
            *(solid(column) for column in columns.columns),
            *self._kafka_partitions(partitions),
            offsets,
            records.column("timestamp"),
        ]
        names = [*columns.schema.names, "_kafka_topic", "_kafka_partition", "_kafka_offset", "_kafka_timestamp"]
        self._writer(table).write(pa.RecordBatch.from_arrays(arrays, names=names))

    def _kafka_partitions(self, partitions: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Topic and Kafka's partition of each row."""
        topics = self.task.topics
        if not topics.many:
            return pa.repeat(pa.scalar(topics.names[0]), len(partitions)), partitions
        numbers, kafka_partitions = np.divmod(partitions.to_numpy(), STRIDE)
        return pa.array(topics.names, pa.string()).take(pa.array(numbers)), pa.array(kafka_partitions, pa.int32())

    def _quarantine(self, records: pa.RecordBatch, errors: Mapping[int, RecordError]) -> None:
        rows = np.array(sorted(errors), np.int64)
        refusals = [errors[int(row)] for row in rows]
        raw = records.select(["key", "value", "headers"]).take(pa.array(rows))
        headers = pa.array([_headers(text) for text in raw.column("headers").to_pylist()], _HEADERS)
        for error in refusals:
            self.report.errors[error.error_class] = self.report.errors.get(error.error_class, 0) + 1
            count_column(self.report.columns, error)
        columns = pa.RecordBatch.from_arrays(
            [
                raw.column("key"),
                raw.column("value"),
                headers,
                pa.array([error.error_class for error in refusals]),
                pa.array([error.message for error in refusals]),
                pa.repeat(pa.scalar(self.task.run_id), len(refusals)),
            ],
            names=["key", "value", "headers", "error_class", "error_message", "run_id"],
        )
        self._write(self.task.quarantine, records, rows, columns)

    def _count(self, records: pa.RecordBatch) -> None:
        self.report.read += records.num_rows
        for column in ("key", "value"):
            self.report.bytes += pc.sum(pc.binary_length(records.column(column))).as_py() or 0
        minutes = records.column("timestamp").cast(pa.int64()).to_numpy() // 60_000_000
        for minute, times in zip(*np.unique(minutes, return_counts=True), strict=True):
            self.report.arrivals[int(minute)] = self.report.arrivals.get(int(minute), 0) + int(times)

    def _tally(self, table: str, partitions: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64]) -> None:
        tallies = self.tallies.setdefault(table, {})
        for partition in np.unique(partitions):
            partition_offsets = (
                offsets if partitions[0] == partitions[-1] == partition else offsets[partitions == partition]
            )
            tallies[int(partition)] = tallies.get(int(partition), Tally()) + Tally.of(partition_offsets)

    def _writer(self, table: str) -> ParquetFiles:
        if table not in self.writers:
            self.writers[table] = ParquetFiles(self.task.targets[table], self.prefix)
        return self.writers[table]

    def finish(self) -> TaskReport:
        """Close all files and tell of them."""
        self.report.files = {table: ipc_bytes(writer.finish()) for table, writer in self.writers.items()}
        self.report.tallies = {
            table: {
                partition: (str(tally.count), str(tally.total), str(tally.squares))
                for partition, tally in by_partition.items()
            }
            for table, by_partition in self.tallies.items()
        }
        self.report.received = self.received.stretches
        return self.report

    def discard(self) -> None:
        """Remove what was written."""
        for writer in self.writers.values():
            writer.discard()


def _headers(text: str | None) -> list[dict[str, object]] | None:
    return None if text is None else [{"key": h.key, "value": h.value} for h in read_headers(text)]
