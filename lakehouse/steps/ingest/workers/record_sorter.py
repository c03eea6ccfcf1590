"""Sorts records: decoded once, routed to their tables, filtered and judged by the rules; nothing is written here."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from lakehouse.contracts.rules import BatchRule, Rules
from lakehouse.engines.kafka.several_topics.topic_numbers import TopicNumbers
from lakehouse.engines.kafka.statement import FILTERED
from lakehouse.formats.changes import ChangeDecoder
from lakehouse.formats.json import JsonDecoder, Routed, RoutedDecoder
from lakehouse.formats.record_columns import RecordColumns
from lakehouse.formats.routed_records import RoutedRecords
from lakehouse.formats.verdict import RecordError
from lakehouse.steps.ingest.workers.decoder_selection.record_router import (
    Part,
    RecordRouter,
    Rows,
    copied_rows,
    whole_or_none,
)
from lakehouse.steps.ingest.workers.decoder_selection.stream_decoder import RoutingDecoder, TableDecoder
from lakehouse.steps.ingest.workers.task_counts import TaskCounts


@dataclass(frozen=True)
class RecordSorter:
    """How the records of a stream become rows.

    Args:
        topics: what the numbers of stream partitions mean.
        decoder: for a stream with one table, one that finds the route by a field, the general way, or one for changes.
        tables: route → table; the one route of a single table is the empty string, and changelogs are their own.
        rules: table → its compiled contract rules.
        columns: table → its columns, where some hold parts of the record itself.
        filters: table → what its records are kept by, where it drops some.
    """

    topics: TopicNumbers
    decoder: TableDecoder | RoutingDecoder | RecordRouter
    tables: Mapping[str, str]
    rules: Mapping[str, Rules]
    columns: Mapping[str, RecordColumns] = field(default_factory=dict[str, RecordColumns])
    filters: Mapping[str, tuple[BatchRule, ...]] = field(default_factory=dict[str, tuple[BatchRule, ...]])

    def judge(self, records: pa.RecordBatch) -> dict[int, RecordError]:
        """Which records of a batch would go to quarantine, and why."""
        return self.sort(records)[1]

    def unmade(self, records: pa.RecordBatch) -> dict[str, int]:
        """Tables that records of a batch name, that may be made and are not there yet."""
        counts = TaskCounts()
        list(self.parts(records, {}, counts))
        return counts.report.unmade

    def sort(self, records: pa.RecordBatch) -> tuple[list[tuple[str, pa.RecordBatch]], dict[int, RecordError]]:
        """The rows that records of a batch would become, by table, and which would go to quarantine, and why."""
        errors: dict[int, RecordError] = {}
        parts = self.parts(records, errors, TaskCounts())
        return [(table, columns) for table, _, columns in parts], errors

    def parts(self, records: pa.RecordBatch, errors: dict[int, RecordError], counts: TaskCounts) -> Iterable[Part]:
        """Table, the input rows that it gets (None: all of them), and their columns, as filters and rules let pass.

        A record that is for several tables goes to all of them or to none.
        """
        wanted = (self._kept(records, *part, counts) for part in self._decoded(records, errors, counts))
        parts = ((table, *self._judged(table, rows, columns, errors, counts)) for table, rows, columns in wanted)
        if not isinstance(self.decoder, RecordRouter):
            return parts
        whole = whole_or_none(list(parts), errors)
        counts.tally_copies(records, copied_rows(whole, records.num_rows))
        return whole

    def _kept(
        self,
        records: pa.RecordBatch,
        table: str,
        rows: Rows | None,
        columns: pa.RecordBatch,
        counts: TaskCounts,
    ) -> Part:
        """Leave out the records that a table's declared filter drops, and tally them."""
        dropped = [rule.broken(columns) for rule in self.filters.get(table, ())]
        broken = np.unique(np.concatenate(dropped)) if dropped else np.array([], np.int64)
        if not len(broken):
            return table, rows, columns
        own = np.arange(columns.num_rows) if rows is None else rows
        places = records.select(["partition", "offset"]).take(pa.array(own[broken]))
        counts.tally(FILTERED, places.column("partition").to_numpy(), places.column("offset").to_numpy())
        counted = counts.report.dropped.setdefault("filtered", {})
        counted[table] = counted.get(table, 0) + len(broken)
        keep = np.delete(np.arange(columns.num_rows), broken)
        return table, own[keep], columns.take(pa.array(keep))

    def _decoded(self, records: pa.RecordBatch, errors: dict[int, RecordError], counts: TaskCounts) -> Iterator[Part]:
        """Table, the input rows that it gets (None: all of them), and their columns."""
        for table, rows, columns in self._values(records, errors, counts):
            whole, before = self.columns.get(table), len(errors)
            part = (rows, columns) if whole is None else whole.complete(records, rows, columns, errors)
            counts.refuse(table, len(errors) - before)
            yield table, *part

    def _values(self, records: pa.RecordBatch, errors: dict[int, RecordError], counts: TaskCounts) -> Iterator[Part]:
        decoder, values, headers = self.decoder, records.column("value"), records.column("headers")
        if isinstance(decoder, RecordRouter):
            parts, observed = decoder.decode(records, self.topics, errors)
            counts.report.note(observed)
            yield from parts
            return
        if isinstance(decoder, RoutedDecoder | RoutedRecords | ChangeDecoder):
            routed = self._routed(decoder, records, counts)
            counts.report.note(replace(routed.observed, refused=Counter()))
            for route, times in routed.observed.refused.items():
                counts.refuse(self.tables[route], times)
            errors.update(routed.errors)
            for route, part in routed.parts.items():
                whole = len(part.rows) == records.num_rows
                yield self.tables[route], None if whole else part.rows, part.batch
            return
        decoded = decoder.decode(values) if isinstance(decoder, JsonDecoder) else decoder.decode(values, headers)
        counts.report.note(decoded.observed)
        errors.update(decoded.errors)
        if not decoded.errors:
            yield self.tables[""], None, decoded.batch
            return
        accepted = np.delete(np.arange(records.num_rows), list(decoded.errors))
        if not len(accepted):
            return
        # Of a batch without columns Arrow can take nothing: all that its rows have are parts of the record.
        batch = decoded.batch.take(pa.array(accepted)) if decoded.batch.num_columns else decoded.batch
        yield self.tables[""], accepted, batch

    def _routed(
        self, decoder: RoutedDecoder | RoutedRecords | ChangeDecoder, records: pa.RecordBatch, counts: TaskCounts
    ) -> Routed:
        values = records.column("value")
        if isinstance(decoder, RoutedRecords):
            return decoder.decode(values, records.column("headers"))
        if isinstance(decoder, RoutedDecoder):
            return decoder.decode(values)
        routed = decoder.decode(values, *(records.column(name) for name in ("key", "headers", "offset")))
        for table, part in routed.parts.items():
            counted = counts.report.operations.setdefault(table, {})
            for entry in part.batch.column("operation").value_counts().to_pylist():
                counted[entry["values"]] = counted.get(entry["values"], 0) + entry["counts"]
        return routed

    def _judged(
        self,
        table: str,
        rows: Rows | None,
        columns: pa.RecordBatch,
        errors: dict[int, RecordError],
        counts: TaskCounts,
    ) -> tuple[Rows | None, pa.RecordBatch]:
        """Take out rows that break a blocking rule; count those that break another."""
        rules = self.rules[table]
        broken = rules.judge(columns)
        if broken:
            keep = np.delete(np.arange(columns.num_rows), list(broken))
            counts.refuse(table, len(broken))
            for row, error in broken.items():
                errors[row if rows is None else int(rows[row])] = error
            columns = columns.take(pa.array(keep))
            rows = keep if rows is None else rows[keep]
        for rule, times in rules.warnings(columns).items():
            counted = counts.report.warnings.setdefault(table, {})
            counted[rule] = counted.get(rule, 0) + times
        return rows, columns
