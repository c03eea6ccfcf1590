"""Adds up what the tasks of one reading report."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

import pyarrow as pa
from pyiceberg.manifest import DataFile

from lakehouse.engines.kafka.statement import FILTERED, NO_TABLES, Counts
from lakehouse.engines.kafka.tally import Tally, added
from lakehouse.formats.evolution.wanted import Wanted
from lakehouse.steps.ingest.parquet_files import data_files_from_rows
from lakehouse.steps.ingest.received import TOMBSTONE, Stretch
from lakehouse.steps.ingest.report import WriteResult
from lakehouse.steps.ingest.workers.task_report import TaskReport
from lakehouse.steps.ingest.workers.work import IngestWork

MOST_FIELDS, LONGEST_FIELD = 50, 100
"""So many fields that no table has are named, each with so many characters."""


_Key = TypeVar("_Key", str, int)


def add_up(work: IngestWork, beyond: set[str], reports: Sequence[TaskReport]) -> WriteResult:
    """All tasks' reports as one."""
    files: dict[str, list[DataFile]] = {}
    spooled: dict[str, list[str]] = {}
    tallies: dict[str, dict[int, Tally]] = {}
    errors: dict[str, int] = {}
    columns: dict[str, dict[str, int]] = {}
    warnings: dict[str, dict[str, int]] = {}
    wanted: dict[str, Wanted] = {}
    operations: dict[str, dict[str, int]] = {}
    dropped: dict[str, dict[str, int]] = {}
    arrivals: dict[int, int] = {}
    schemas: dict[str, int] = {}
    extra: dict[str, int] = {}
    refused: dict[str, int] = {}
    unmade: dict[str, int] = {}
    received: dict[int, list[Stretch]] = {}
    read, size = 0, 0
    for report in reports:
        read, size = read + report.read, size + report.bytes
        _count(errors, report.errors)
        for reason, broken in report.columns.items():
            _count(columns.setdefault(reason, {}), broken)
        _count(arrivals, report.arrivals)
        _count(schemas, report.schemas)
        _count(extra, report.extra)
        _count(refused, report.refused)
        _count(unmade, report.unmade)
        for table, of_table in report.wanted.items():
            wanted.setdefault(table, Wanted()).merge(of_table)
        for partition, stretches in report.received.items():
            received.setdefault(partition, []).extend(stretches)
        for table, rules in report.warnings.items():
            _count(warnings.setdefault(table, {}), rules)
        for rule, by_table in report.dropped.items():
            _count(dropped.setdefault(rule, {}), by_table)
        for table, times in report.operations.items():
            _count(operations.setdefault(table, {}), times)
        tallies = added(
            tallies,
            {
                table: {partition: Tally(*map(int, parts)) for partition, parts in by_partition.items()}
                for table, by_partition in report.tallies.items()
            },
        )
        for table, ipc in report.files.items():
            rows = pa.ipc.open_stream(ipc).read_all()
            if table in beyond:
                spooled.setdefault(table, []).extend(rows["path"].to_pylist())
            else:
                files.setdefault(table, []).extend(
                    data_files_from_rows(work.bases[table].table.metadata, rows.to_pylist())
                )
    quarantined = sum(tally.count for tally in tallies.get(work.stream.quarantine_table, {}).values())
    return WriteResult(
        files=files,
        spooled=spooled,
        tallies=tallies,
        counts=Counts(
            read=read,
            written=sum(
                tally.count
                for table, by_partition in tallies.items()
                if table not in NO_TABLES
                for tally in by_partition.values()
            )
            - quarantined,
            filtered=sum(tally.count for tally in tallies.get(FILTERED, {}).values()),
            quarantined=quarantined,
            tombstones=errors.get(TOMBSTONE, 0),
            bytes=size,
        ),
        errors=errors,
        columns=columns,
        warnings=warnings,
        operations=operations,
        dropped=dropped,
        arrivals=arrivals,
        schemas=schemas,
        extra=most_frequent(extra),
        refused=refused,
        unmade=unmade,
        unresolved=frozenset(schema for report in reports for schema in report.unresolved),
        wanted=wanted,
        received=received,
    )


def most_frequent(extra: Mapping[str, int]) -> dict[str, int]:
    """The fields that most records have; a sender may call theirs anything, and as many as it likes."""
    shown: dict[str, int] = {}
    for name, times in sorted(extra.items(), key=lambda item: (-item[1], item[0]))[:MOST_FIELDS]:
        _count(shown, {name if len(name) <= LONGEST_FIELD else f"{name[:LONGEST_FIELD]}…": times})
    return shown


def _count(into: dict[_Key, int], more: Mapping[_Key, int]) -> None:
    for key, times in more.items():
        into[key] = into.get(key, 0) + times
