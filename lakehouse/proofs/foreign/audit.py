"""Proves, disproves or leaves open that tables of another writer hold each record of a topic once.

1. A data file that is listed twice is read twice, whatever is in it (apache/iceberg #17340).
2. Where all tables say of which record each row is, coordinates decide.
3. Otherwise the number of rows, and a key if there is one.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import table_name
from lakehouse.proofs.foreign.by_coordinates import Expectations, Judgement, judge_coordinates
from lakehouse.proofs.foreign.by_count import KeyCounts, judge_counts
from lakehouse.proofs.foreign.coordinate_columns import ColumnNames, CoordinateColumns, coordinate_columns
from lakehouse.proofs.foreign.offset_runs import Runs
from lakehouse.proofs.foreign.proof import DecidedBy, ForeignFinding, ForeignProof
from lakehouse.proofs.foreign.record_log import RecordLog
from lakehouse.proofs.foreign.stored_coordinates import (
    ListedFiles,
    count_rows,
    listed_files,
    repeated_keys,
    stored_coordinates,
)
from lakehouse.proofs.foreign.writer import commit_of, transform_for, writer_of
from lakehouse.quantities import quantity


class UnknownKey(LakehouseError):
    """A column of the key is not there."""


@dataclass(frozen=True)
class ForeignQuestion:
    """What a person says of the tables and of who writes them.

    Attributes:
        columns: with the coordinates; those not named are looked for.
        key: columns that are different in every record; default: the table's identifier fields.
        expected: what the writer does on purpose.
    """

    columns: ColumnNames = field(default_factory=ColumnNames)
    key: tuple[str, ...] = ()
    expected: Expectations = field(default_factory=Expectations)


@dataclass(frozen=True)
class _Judged:
    """A table at the snapshot that is judged; None where it has none."""

    table: Table
    snapshot: Snapshot | None
    files: ListedFiles
    columns: CoordinateColumns | None

    @property
    def name(self) -> str:
        return table_name(self.table)

    def commits(self, paths: Sequence[str]) -> list[str]:
        """The commits that brought these files, for a person."""
        ids = dict.fromkeys(snapshot for path in paths for snapshot in self.files.added_by.get(path, ()))
        return [f"{self.name} {commit_of(self.table, snapshot_id)}" for snapshot_id in ids]


def audit_foreign(tables: Sequence[Table], log: RecordLog, question: ForeignQuestion) -> ForeignProof:
    """Judge tables that are filled from one topic, each record into one of them.

    Args:
        tables: loaded before the topic was asked.
        log: the topic.
        question: what a person says of them.

    Raises:
        CannotRead: rows that other engines alone can read.
        NoCoordinates: a named column is not there.
        UnknownKey: a column of the key is not there.
        RecordsLetGo: Kafka let records go meanwhile.
    """
    began = time.monotonic()
    judged = [_judged(table, question, log) for table in tables]
    columns = {part.name: part.columns for part in judged if part.columns is not None}
    twice = [finding for part in judged for finding in _listed_twice(part)]
    rows: int
    decided_by: DecidedBy
    if len(columns) == len(judged):
        decided_by = "coordinates"
        judgement, rows = _by_coordinates(judged, log, question.expected)
    else:
        decided_by = "list of files" if twice else "key and count"
        judgement, rows = _by_count(judged, log, question)
    writers = dict.fromkeys(writer.name for table in tables if (writer := writer_of(table)))
    return ForeignProof(
        log.topic,
        tuple(part.name for part in judged),
        {part.name: part.snapshot.snapshot_id for part in judged if part.snapshot},
        decided_by,
        ", ".join(writers),
        {name: file_columns.names for name, file_columns in columns.items()},
        (*twice, *judgement.findings),
        tuple(judgement.undecided),
        tuple(judgement.ranges),
        rows,
        round(time.monotonic() - began, 3),
    )


def _judged(table: Table, question: ForeignQuestion, log: RecordLog) -> _Judged:
    name, snapshot = table_name(table), table.current_snapshot()
    columns = coordinate_columns(name, table.schema(), question.columns, partitions=len(log.partitions))
    files = listed_files(table, snapshot) if snapshot else ListedFiles({}, 0, has_deletes=False)
    return _Judged(table, snapshot, files, columns)


def _listed_twice(part: _Judged) -> Iterator[ForeignFinding]:
    for path, snapshots in part.files.repeated.items():
        commits = ", ".join(dict.fromkeys(commit_of(part.table, snapshot) for snapshot in snapshots))
        message = (
            f"{part.name} lists {path.rpartition('/')[2]} {len(snapshots)} times, so each of its rows is read as "
            f"often; listed by {commits}. Remedy: while the writer is stopped, remove the second entry (Iceberg's Java "
            "API: a delete of the file, then an append of it), or set the table back to the snapshot before."
        )
        yield ForeignFinding("file_listed_twice", message)


def _by_coordinates(parts: Sequence[_Judged], log: RecordLog, expected: Expectations) -> tuple[Judgement, int]:
    runs: dict[int, list[Runs]] = {}
    files: list[tuple[_Judged, str]] = []
    doubts: list[str] = []
    for part in parts:
        if part.snapshot is None or part.columns is None:
            continue
        stored = stored_coordinates(part.table, part.snapshot, part.columns, log.topic)
        for partition, own in stored.partitions.items():
            runs.setdefault(partition, []).append(own.numbered_from(len(files)))
        files += [(part, path) for path in stored.files]
        if stored.without:
            doubts.append(
                f"{part.name}: {quantity(stored.without, 'row')} without coordinates: written by somebody else, or "
                "before the writer added them. Delete them or move them to another table, then audit again."
            )
    together: Mapping[int, Runs] = {partition: Runs.together(of_tables) for partition, of_tables in runs.items()}

    def described(numbers: frozenset[int]) -> str:
        paths: dict[str, tuple[_Judged, list[str]]] = {}
        for number in sorted(numbers):
            part, path = files[number]
            paths.setdefault(part.name, (part, []))[1].append(path)
        return " and ".join(commit for part, own in paths.values() for commit in part.commits(own))

    judgement = judge_coordinates(together, log, expected, described)
    judgement.undecided[:0] = doubts
    return judgement, sum(own.rows for own in together.values())


def _by_count(parts: Sequence[_Judged], log: RecordLog, question: ForeignQuestion) -> tuple[Judgement, int]:
    rows = sum(count_rows(part.table, part.snapshot, part.files) for part in parts if part.snapshot)
    key = question.key or tuple(sorted(parts[0].table.schema().identifier_field_names()))
    for part in parts:
        if unknown := [name for name in key if name not in part.table.schema().column_names]:
            raise UnknownKey(f"{part.name} has no column {', '.join(unknown)}.", remedy="correct --key")
    single = key if len(parts) == 1 else ()  # of two tables nobody says that a key is in one of them alone
    repeated = repeated_keys(parts[0].table, parts[0].snapshot, single) if single and parts[0].snapshot else 0
    transform = transform_for(next((writer for part in parts if (writer := writer_of(part.table))), None))
    return judge_counts(KeyCounts(rows, single, repeated), log, question.expected, transform), rows
