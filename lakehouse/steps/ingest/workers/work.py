"""Sends the plan to the workers and adds up what they report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import pyarrow as pa
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyspark.sql import SparkSession

from lakehouse.contracts.rules import compile_filter, compile_rules
from lakehouse.declarations import Declarations, Stream, Table, iceberg_schema
from lakehouse.engines.kafka.statement import FILTERED, NO_TABLES, Counts
from lakehouse.engines.kafka.tally import Tally, added
from lakehouse.formats.evolution.wanted import Wanted
from lakehouse.formats.frames import RegistrySchemas
from lakehouse.iceberg.locations import place_of
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.settings import KafkaSettings
from lakehouse.steps.ingest.evolve.evolved_tables import as_evolved
from lakehouse.steps.ingest.parquet_files import WriteTarget, data_files_from_rows, unsupported
from lakehouse.steps.ingest.parquet_files.encoding import file_schema
from lakehouse.steps.ingest.plan import IngestPlan
from lakehouse.steps.ingest.received import TOMBSTONE, Stretch
from lakehouse.steps.ingest.refusals import LocationShared
from lakehouse.steps.ingest.report import WriteResult
from lakehouse.steps.ingest.workers.decoders import stream_decoder
from lakehouse.steps.ingest.workers.registered import SchemaLookup
from lakehouse.steps.ingest.workers.scan import kafka_frame
from lakehouse.steps.ingest.workers.task_report import REPORT_SCHEMA, TaskReport, read_report
from lakehouse.steps.ingest.workers.worker import IngestTask

MOST_FIELDS, LONGEST_FIELD = 50, 100
"""So many fields that no table has are named, each with so many characters."""

_Key = TypeVar("_Key", str, int)


@dataclass(frozen=True)
class IngestWork:
    """A plan and what to do with its records; `keep` as in `IngestTask`, `schemas` as far as they are known.

    Tables that are `stopped` take no record, each for its reason: all of theirs go to quarantine. So do records that
    name an `unmakeable` one.
    """

    plan: IngestPlan
    stream: Stream
    declarations: Declarations
    bases: Mapping[str, Base]
    attempt: Attempt
    keep: bool = True
    schemas: RegistrySchemas | None = None
    stopped: Mapping[str, str] = field(default_factory=dict[str, str])
    unmakeable: Mapping[str, str] = field(default_factory=dict[str, str])


def read_and_write(spark: SparkSession, kafka: KafkaSettings, work: IngestWork, *, min_partitions: int) -> WriteResult:
    """Read the planned range once and write it as data files. Nothing is committed here.

    Where records name schemas that were not known, it is read again with them, and what was written is removed.

    Raises:
        NoRegistry: records name their schemas, and the settings name no registry.
        RegistryUnavailable: the registry gives no answer.
    """
    lookup = SchemaLookup.of(work.stream, kafka)
    if lookup is None:
        return _pass(spark, kafka, work, min_partitions=min_partitions)
    work = replace(work, schemas=lookup.first(work.stream, work.bases))
    while (result := _pass(spark, kafka, work, min_partitions=min_partitions)).unresolved:
        remove_written(work, result)
        work = replace(work, schemas=lookup.more(work.schemas or lookup.nothing, result.unresolved))
    texts = work.schemas.texts if work.schemas else {}
    return replace(result, writers={str(schema): text for schema, text in texts.items()})


def remove_written(work: IngestWork, result: WriteResult) -> None:
    """Remove the files of a reading that counts for nothing."""
    for name, base in work.bases.items():
        for path in (*(file.file_path for file in result.files.get(name, [])), *result.spooled.get(name, [])):
            if work.keep:
                base.table.io.delete(path)


def _pass(spark: SparkSession, kafka: KafkaSettings, work: IngestWork, *, min_partitions: int) -> WriteResult:
    beyond = {name for name, base in work.bases.items() if unsupported(base.table.metadata) is not None}
    frame = kafka_frame(spark, kafka, work.plan, min_partitions=min_partitions)
    task = make_task(work, beyond)
    rows = frame.mapInArrow(task.run, REPORT_SCHEMA).collect()  # pyright: ignore[reportArgumentType]
    reports = [read_report(row["report"]) for row in rows]
    return add_up(work, beyond, reports)


def make_task(work: IngestWork, beyond: set[str]) -> IngestTask:
    """What every worker needs to know.

    Args:
        work: the plan and its stream.
        beyond: tables whose layout is beyond the workers' writer; their rows go to a spool for Spark's own.

    Raises:
        LocationShared: two of the tables have one folder for their files.
    """
    _require_apart(work.bases)
    declarations = as_evolved(work.declarations, work.bases)
    stream, tables = work.stream, declarations.tables
    schemas = {
        name: pa.schema([]) if name in work.stopped else record_schema(tables[name], work.bases[name])
        for name in stream.tables
    }
    decoder = stream_decoder(stream, declarations, schemas, work.schemas, work.stopped, work.unmakeable)
    return IngestTask(
        topics=work.plan.topic.numbers,
        run_id=work.attempt.run_id,
        prefix=work.attempt.id,
        decoder=decoder.values,
        tables=decoder.tables,
        columns=decoder.columns,
        rules={name: compile_rules(tables[name].without_coordinates()) for name in stream.tables},
        targets={name: _target(base, work.attempt, spool=name in beyond) for name, base in work.bases.items()},
        quarantine=stream.quarantine_table,
        keep=work.keep,
        filters={
            name: compile_filter(table.without_coordinates(), table.keep)
            for name in stream.tables
            if (table := tables[name]).keep
        },
    )


def _require_apart(bases: Mapping[str, Base]) -> None:
    """The names of files say whose attempt wrote them, and not for which table."""
    seen: dict[str, str] = {}
    for name, base in bases.items():
        location = base.table.location()
        if (other := seen.setdefault(place_of(location), name)) != name:
            raise LocationShared(name, other, location)


def record_schema(table: Table, base: Base) -> pa.Schema:
    """What a record of a table looks like: the declared columns, with the table's own field ids.

    With these ids the decoder's columns are the writer's, so nothing has to be cast, which Arrow could not always do:
    not a missing struct whose fields are required.
    """
    declared = file_schema(iceberg_schema(table.without_coordinates()))
    stored = file_schema(base.table.schema())
    return pa.schema(
        [
            field.with_type(column.type) if (column := stored.field(field.name)).type.equals(field.type) else field
            for field in declared
        ]
    )


def _target(base: Base, attempt: Attempt, *, spool: bool) -> WriteTarget:
    target = WriteTarget.of(base.table.metadata, base.table.io.properties)
    if not spool:
        return target
    return replace(
        target,
        location=f"{target.location}/spool/{attempt.id}",
        spec_json=UNPARTITIONED_PARTITION_SPEC.model_dump_json(),
        properties={},
    )


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
