"""A plan and what is to be done with its records, and what every worker needs to know of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC

from lakehouse.contracts.rules import compile_filter, compile_rules
from lakehouse.declarations import Declarations, Stream, Table, iceberg_schema
from lakehouse.formats.frames import RegistrySchemas
from lakehouse.iceberg.locations import place_of
from lakehouse.protocol.catalog.rest_catalog.lent_storage import current_properties
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.steps.ingest.evolve.evolved_tables import as_evolved
from lakehouse.steps.ingest.parquet_files import WriteTarget
from lakehouse.steps.ingest.parquet_files.encoding import file_schema
from lakehouse.steps.ingest.plan import IngestPlan
from lakehouse.steps.ingest.refusals import LocationShared
from lakehouse.steps.ingest.workers.decoder_selection.stream_decoder import stream_decoder
from lakehouse.steps.ingest.workers.record_sorter import RecordSorter
from lakehouse.steps.ingest.workers.worker import IngestTask


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
    sorter = RecordSorter(
        topics=work.plan.topic.numbers,
        decoder=decoder.values,
        tables=decoder.tables,
        columns=decoder.columns,
        rules={name: compile_rules(tables[name].without_coordinates()) for name in stream.tables},
        filters={
            name: compile_filter(table.without_coordinates(), table.keep)
            for name in stream.tables
            if (table := tables[name]).keep
        },
    )
    return IngestTask(
        run_id=work.attempt.run_id,
        prefix=work.attempt.id,
        sorter=sorter,
        targets={name: _target(base, work.attempt, spool=name in beyond) for name, base in work.bases.items()},
        quarantine=stream.quarantine_table,
        keep=work.keep,
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
    target = WriteTarget.of(base.table.metadata, current_properties(base.table.io))
    if not spool:
        return target
    return replace(
        target,
        location=f"{target.location}/spool/{attempt.id}",
        spec_json=UNPARTITIONED_PARTITION_SPEC.model_dump_json(),
        properties={},
    )
