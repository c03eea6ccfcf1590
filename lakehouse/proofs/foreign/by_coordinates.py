"""The proof by coordinates: each committed record of the topic has one row, by partition and offset."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from lakehouse.engines.kafka.second_look import OffsetGap
from lakehouse.proofs.foreign.offset_runs import Runs, Span, some
from lakehouse.proofs.foreign.proof import ForeignFinding, ForeignRange
from lakehouse.proofs.foreign.record_log import RecordLog
from lakehouse.quantities import quantity

_REPEATED = (
    "Remedy: while the writer is stopped, keep one row for each partition and offset; or set the table back to the "
    "snapshot before the later of these commits and let the writer go on from there."
)
_MISSING = (
    "Remedy: read these offsets into the table again before the topic's retention takes them; where the writer leaves "
    "records out on purpose, say so with --filters."
)


@dataclass(frozen=True)
class Expectations:
    """What a person says of the writer.

    Attributes:
        filters: it leaves records out on purpose, so that a record without a row proves nothing.
        started_late: it began at the first offsets that the table has, and not where the topic begins.
    """

    filters: bool = False
    started_late: bool = False


@dataclass
class Judgement:
    """What comparing the coordinates with the topic shows."""

    findings: list[ForeignFinding] = field(default_factory=list[ForeignFinding])
    undecided: list[str] = field(default_factory=list[str])
    ranges: list[ForeignRange] = field(default_factory=list[ForeignRange])


@dataclass(frozen=True)
class _Partition:
    """A partition of the topic, its rows, and the offsets in question.

    Attributes:
        within: no row has them, and they lie between offsets that rows have.
        before: the topic has them, and they lie before the first row.
        behind: the writer has read them, and they lie behind the last row.
    """

    number: int
    runs: Runs
    within: list[Span]
    before: list[Span]
    behind: list[Span]


class _Records:
    """Which offsets in question have a record, with or without a value."""

    def __init__(self, log: RecordLog, partitions: list[_Partition]) -> None:
        self._values = defaultdict[int, list[np.ndarray]](list)
        self._tombstones = defaultdict[int, list[np.ndarray]](list)
        gaps = [
            OffsetGap(partition.number, *span)
            for partition in partitions
            for span in (*partition.before, *partition.within, *partition.behind)
        ]
        for batch in log.read(gaps):
            self._values[batch.partition].append(batch.offsets[batch.has_value])
            self._tombstones[batch.partition].append(batch.offsets[~batch.has_value])

    def values(self, partition: int, spans: list[Span]) -> Runs:
        """The records with a value."""
        return _within(self._values[partition], spans)

    def tombstones(self, partition: int, spans: list[Span]) -> Runs:
        """The records without."""
        return _within(self._tombstones[partition], spans)


def judge_coordinates(
    rows: Mapping[int, Runs],
    log: RecordLog,
    expected: Expectations,
    described: Callable[[frozenset[int]], str],
) -> Judgement:
    """Compare the coordinates of rows with the records of a topic.

    Args:
        rows: partition → offsets of the rows of all tables.
        log: the topic, as it was after the tables were loaded.
        expected: what the writer does on purpose.
        described: which commits brought the files of these numbers, for a person.
    """
    judgement = Judgement()
    for number, runs in rows.items():
        judgement.findings += _repetitions(number, runs, described)
    judgement.undecided += _of_another_topic(rows, log)
    partitions = [_partition(number, rows.get(number, Runs.together([])), log) for number in sorted(log.partitions)]
    records = _Records(log, partitions)
    for partition in partitions:
        _judge(partition, records, log, expected, judgement)
    return judgement


def _partition(number: int, runs: Runs, log: RecordLog) -> _Partition:
    earliest, last_stable = log.partitions[number]
    end = log.end(number)
    if (bounds := runs.bounds()) is None:
        spans = [Span(earliest, end)] if earliest < end else []
        return _Partition(number, runs, [], [], spans)
    within = [Span(max(start, earliest), min(stop, last_stable)) for start, stop in runs.missing(bounds)]
    return _Partition(
        number,
        runs,
        [span for span in within if span.start < span.end],
        [Span(earliest, min(bounds.start, last_stable))] if earliest < min(bounds.start, last_stable) else [],
        [Span(max(bounds.end, earliest), end)] if max(bounds.end, earliest) < end else [],
    )


def _judge(
    partition: _Partition, records: _Records, log: RecordLog, expected: Expectations, judgement: Judgement
) -> None:
    number, bounds = partition.number, partition.runs.bounds()
    due = [*partition.within, *(partition.behind if log.positions else [])]
    without_row = records.values(number, due)
    tombstones = records.tombstones(number, partition.within)
    without_record = sum(span.end - span.start for span in partition.within)
    without_record -= records.values(number, partition.within).rows + tombstones.rows
    if without_row.rows and not expected.filters:
        spans = _spans(without_row)
        message = (
            f"partition {number}: {quantity(without_row.rows, 'record')} of {log.topic} {_has(without_row.rows)} no "
            f"row: {some(spans)}. {_MISSING}"
        )
        judgement.findings.append(ForeignFinding("missing", message, number, some(spans)))
    elif without_row.rows:
        judgement.undecided.append(
            f"partition {number}: {quantity(without_row.rows, 'record')} {_has(without_row.rows)} no row, and the "
            "writer leaves some out on purpose: which of them, no coordinate tells."
        )
    judgement.undecided += _doubts(partition, records, log, expected, without_record)
    ahead = 0 if log.positions or bounds is None else records.values(number, partition.behind).rows
    judgement.ranges.append(
        ForeignRange(
            number,
            bounds.start if bounds else None,
            bounds.end if bounds else log.partitions[number].earliest,
            partition.runs.rows,
            tombstones.rows,
            without_record,
            ahead,
        )
    )


def _doubts(
    partition: _Partition, records: _Records, log: RecordLog, expected: Expectations, without_record: int
) -> Iterator[str]:
    number, bounds, earliest = partition.number, partition.runs.bounds(), log.partitions[partition.number].earliest
    if bounds is None:
        unread = records.values(number, partition.behind).rows
        if unread and not log.positions and not expected.filters:
            yield (
                f"partition {number}: none of its {quantity(unread, 'record')} has a row: lost, or not read yet. "
                "--group with the writer's consumer group tells."
            )
        return
    let_go = [Span(start, min(end, earliest)) for start, end in partition.runs.missing(bounds) if start < earliest]
    if let_go:
        yield (
            f"partition {number}: no row has the offsets {some(let_go)}, and Kafka has let them go: whether they were "
            "records, nobody can say any more. Audit more often than the topic's retention takes."
        )
    if without_record and log.compacted:
        yield (
            f"partition {number}: {quantity(without_record, 'offset')} without a row {_has(without_record)} no record "
            "now; the topic is compacted, so nobody can say whether there was one when the writer read."
        )
    before = records.values(number, partition.before)
    if before.rows and not expected.started_late:
        yield (
            f"partition {number}: {quantity(before.rows, 'record')} before the first row {_has(before.rows)} none "
            f"({some(_spans(before))}): lost, or the writer began there. Say --started-late if it did."
        )


def _of_another_topic(rows: Mapping[int, Runs], log: RecordLog) -> Iterator[str]:
    for number, runs in rows.items():
        bounds = runs.bounds()
        end = log.partitions[number].last_stable if number in log.partitions else 0
        if bounds is not None and bounds.end > end:
            lies = f"ends at offset {end}" if number in log.partitions else "does not exist"
            yield (
                f"partition {number}: rows have offsets up to {bounds.end - 1}, and this partition of {log.topic} "
                f"{lies}: they are of another topic, of one of this name that was made anew, or were read uncommitted."
            )


def _repetitions(number: int, runs: Runs, described: Callable[[frozenset[int]], str]) -> Iterator[ForeignFinding]:
    """One finding for all offsets that the same files repeat."""
    by_files = defaultdict[frozenset[int], list[tuple[Span, int]]](list)
    for span, times, files in runs.repeated():
        by_files[files].append((span, times))
    for files, repeated in by_files.items():
        spans = [span for span, _ in repeated]
        records = sum(span.end - span.start for span in spans)
        surplus = sum((span.end - span.start) * (times - 1) for span, times in repeated)
        message = (
            f"partition {number}: {quantity(records, 'record')} {_has(records)} more than one row, "
            f"{surplus:,} too many: {some(spans)}; brought by {described(files)}. {_REPEATED}"
        )
        yield ForeignFinding("repeated", message, number, some(spans))


def _within(batches: list[np.ndarray], spans: list[Span]) -> Runs:
    offsets = np.concatenate([np.array([], np.int64), *batches])
    edges = np.array([edge for span in spans for edge in span], np.int64)
    return Runs.of(offsets[np.searchsorted(edges, offsets, side="right") % 2 == 1], 0)


def _spans(runs: Runs) -> list[Span]:
    return [Span(int(start), int(end)) for start, end in zip(runs.starts, runs.ends, strict=True)]


def _has(count: int) -> str:
    return "has" if count == 1 else "have"
