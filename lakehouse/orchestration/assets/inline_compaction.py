"""Where a table declares it, the ingest compacts its files itself, every so many commits, after all is told."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime

import dagster as dg

from lakehouse.declarations import Table
from lakehouse.orchestration.assets.progress import step_progress
from lakehouse.orchestration.resources import Lake, LakehouseSpark
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.maintenance.model.action import MaintenanceWork
from lakehouse.steps.maintenance.model.state import MeasuredState
from lakehouse.steps.maintenance.rewrite.inline import compact_after


def compact_tables(
    context: dg.AssetExecutionContext, tables: Iterable[Table], lake: Lake, spark: LakehouseSpark, attempt: Attempt
) -> None:
    """Compact those whose turn it is; what goes wrong is a row and a warning, and never a failed ingest."""
    for table in tables:
        rewrite = table.maintenance.rewrite
        if rewrite is None or rewrite.every_commits is None:
            continue
        with step_progress(context.log.info) as inform:
            done = compact_after(
                table.name,
                lambda table=table, inform=inform: _work(table, lake, spark, attempt, inform),
                rewrite.every_commits,
                warn=context.log.warning,
            )
        if done is not None:
            context.log.info(f"{table.name}: compaction: {done.result}: {done.message}")


def _work(
    table: Table, lake: Lake, spark: LakehouseSpark, attempt: Attempt, inform: Callable[[str], None]
) -> MaintenanceWork:
    base = read_bases(lake.catalog, [table.name])[table.name]
    return MaintenanceWork(
        catalog=lake.catalog,
        declarations=lake.declarations,
        declared=table,
        base=base,
        state=MeasuredState(
            table=table.name, uuid=base.uuid, snapshot_id=base.snapshot_id, measured_at=datetime.now(UTC)
        ),
        policy=table.maintenance,
        attempt=replace(attempt.again(), step=f"maintain:{table.name}"),
        session=lambda: spark.session(f"compact {table.name}"),
        inform=inform,
        in_process_proof=int(lake.settings.maintenance.in_process_proof),
    )
