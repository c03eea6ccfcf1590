"""A user's own table, written through the same protocol as ours: stage, judge, seal, publish."""

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import msgspec
import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from lakehouse import seal_keys
from lakehouse.declarations import Table
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import identifier_of
from lakehouse.orchestration.resources.contract import Verdicts
from lakehouse.orchestration.resources.fit_to_schema import fitted
from lakehouse.orchestration.resources.staging import stage_arrow, staged_batches
from lakehouse.orchestration.resources.used_parameters import ParameterUse
from lakehouse.proofs.lineage.computations import computations_of
from lakehouse.proofs.lineage.newer import NewerRows, TableRead, newer_dates, newer_inputs
from lakehouse.proofs.lineage.origins import origins_of
from lakehouse.proofs.lineage.sealed import made
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit import open_branch, publish, seal_branch
from lakehouse.protocol.commit.frames import stage_frame, staged_rows
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base, read_bases
from lakehouse.protocol.seals.seal import Seal

if TYPE_CHECKING:
    import pandas as pd

WriteMode = Literal["append", "overwrite"]


class WrittenByStream(LakehouseError):
    """A stream, mirror, derivation, release or the lakehouse itself writes this table, and a table has one writer."""


@dataclass(frozen=True)
class TableWrite:
    """What became visible.

    Args:
        mode: whether the rows came to the others or took their place.
        added: rows that the write added.
        total: rows that the table holds now.
        warnings: rule → rows that break it and were let through.
    """

    table: str
    snapshot_id: int
    branch: str
    mode: WriteMode
    added: int
    total: int
    seconds: float
    warnings: dict[str, int] = field(default_factory=dict[str, int])


def write_table(
    catalog: LakeCatalog,
    table: Table,
    attempt: Attempt,
    data: "pa.Table | pd.DataFrame | DataFrame",
    *,
    mode: WriteMode,
    inputs: Mapping[str, int],
    pinned: Collection[str] = (),
    backfill: str = "",
    use: ParameterUse | None = None,
) -> TableWrite:
    """Write an existing table and publish it.

    Args:
        catalog: where it lives.
        table: its declaration.
        attempt: who writes.
        data: an Arrow table, a pandas frame or a Spark frame.
        mode: `append` adds the rows, `overwrite` puts them in the place of all others.
        inputs: table → snapshot that the data were computed from.
        pinned: those of them that were read at `main` of their time, and not at a tag that somebody else moves.
        backfill: why newer rows may be replaced; empty if they may not.
        use: of the run's parameters, of a table that carries its date.

    Raises:
        NewerRows: the table holds rows of a later date, or of later snapshots, which would be replaced.
        DoesNotFit: the data are not what is declared; nothing was published.
        RulesBroken: rows break a blocking rule; nothing was published.
        CommitError: the publish did not go through, for example `Superseded`.
    """
    began = time.monotonic()
    base = read_bases(catalog, [table.name])[table.name]
    newer = _newer_rows(catalog, base, attempt, {name: inputs[name] for name in pinned}) if mode == "overwrite" else []
    if newer and not backfill:
        raise NewerRows(table.name, newer)
    verdicts = Verdicts(table)
    if isinstance(data, DataFrame):
        open_branch(catalog, base, attempt)
        stage_frame(data, base, attempt, replacing=sql.lit(True) if mode == "overwrite" else None)
        verdicts.judge(staged_batches(catalog, base, attempt))
    else:
        fitting = fitted(table.name, data, schema_to_pyarrow(base.table.schema(), include_field_ids=False))
        verdicts.judge(fitting.to_batches())
        stage_arrow(catalog, fitting, base, attempt, replacing=mode == "overwrite")
    added, total = staged_rows(catalog.load_table(base.identifier), base, attempt)
    statement = {
        seal_keys.WRITE_MODE: mode,
        seal_keys.WRITE_ADDED: str(added),
        seal_keys.WRITE_TOTAL: str(total),
        seal_keys.QUALITY_RULES: msgspec.json.encode(verdicts.to_seal()).decode(),
    }
    if use is not None:
        statement |= use.statement(attempt, made(base.table, base.snapshot_id).seal if total > added else None)
    if newer:
        statement[seal_keys.WRITE_REPLACES_NEWER] = backfill
    previous = base.sealed.seal if base.sealed else None
    seal = Seal.of(attempt, "write", statement=statement, previous=previous, inputs=inputs)
    published = publish(catalog, [seal_branch(catalog, base, attempt, seal)])
    return TableWrite(
        table=table.name,
        snapshot_id=published.snapshots[base.name],
        branch=attempt.branch,
        mode=mode,
        added=added,
        total=total,
        seconds=time.monotonic() - began,
        warnings=verdicts.warnings,
    )


def _newer_rows(catalog: LakeCatalog, base: Base, attempt: Attempt, inputs: Mapping[str, int]) -> list[str]:
    if (before := made(base.table, base.snapshot_id).sealed) is None:
        return []
    computations, origins = computations_of(before.seal), origins_of(before.seal)
    other = {
        name: snapshot_id
        for name, snapshot_id in inputs.items()
        if before.seal.inputs.get(name) not in (None, snapshot_id)
    }
    reads = [
        TableRead(name, catalog.load_table(identifier_of(name)), snapshot_id) for name, snapshot_id in other.items()
    ]
    newer = newer_dates(attempt.runtime_date, computations, computations)
    return newer + newer_inputs(before, reads, origins, origins)
