"""Where a table declares it, the ingest compacts its files itself, every so many commits, after all is told."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

import dagster as dg

from lakehouse.commit import Attempt, read_bases
from lakehouse.maintenance.action import Work
from lakehouse.maintenance.inline import compact_after
from lakehouse.maintenance.state import State
from lakehouse.resources import Lake, LakehouseSpark
from lakehouse.tables import Table


def compact_tables(
    context: dg.AssetExecutionContext, tables: Iterable[Table], lake: Lake, spark: LakehouseSpark, attempt: Attempt
) -> None:
    """Compact those whose turn it is; what goes wrong is a row and a warning, and never a failed ingest."""
    for table in tables:
        rewrite = table.maintenance.rewrite
        if rewrite is None or rewrite.every_commits is None:
            continue
        done = compact_after(
            table.name,
            lambda table=table: _work(context, table, lake, spark, attempt),
            rewrite.every_commits,
            warn=context.log.warning,
        )
        if done is not None:
            context.log.info(f"{table.name}: compaction: {done.result}: {done.message}")


def _work(context: dg.AssetExecutionContext, table: Table, lake: Lake, spark: LakehouseSpark, attempt: Attempt) -> Work:
    base = read_bases(lake.catalog, [table.name])[table.name]
    return Work(
        catalog=lake.catalog,
        declarations=lake.declarations,
        declared=table,
        base=base,
        state=State(table=table.name, uuid=base.uuid, snapshot_id=base.snapshot_id, measured_at=datetime.now(UTC)),
        policy=table.maintenance,
        attempt=replace(attempt.again(), step=f"maintain:{table.name}"),
        session=lambda: spark.session(f"compact {table.name}"),
        inform=context.log.info,
        in_process_proof=int(lake.settings.maintenance.in_process_proof),
    )
