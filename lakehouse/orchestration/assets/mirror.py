"""The assets of a mirror: its rows, the keys it knows to be deleted, and what it could not apply; changed together."""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from lakehouse.declarations import MirrorTables
from lakehouse.orchestration.assets.metadata.mirror import mirror_results
from lakehouse.orchestration.assets.progress import step_progress
from lakehouse.orchestration.assets.specs import mirror_digest, mirror_specs, mirror_step
from lakehouse.orchestration.assets.stream import row_counts
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.resources import Lake, LakehouseSpark, repeated_when_spark_is_lost
from lakehouse.orchestration.run_context import asks_for_rebuild, attempt_of
from lakehouse.protocol.errors import Superseded
from lakehouse.protocol.failpoints import failpoint
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.cdc.report import MirrorReport
from lakehouse.steps.cdc.step import MirrorStep, mirror
from lakehouse.steps.cdc.verify.doubt import find_doubt

KINDS = ("iceberg", "spark")
# Changes that a step looks at to tell which keys are in doubt; where it were more, only the check tells.
MAX_LOOKED_AT = 2_000_000


def mirror_asset(tables: MirrorTables, names: DagsterNames = DEFAULT_NAMES) -> dg.AssetsDefinition:
    """Make the assets of one mirror.

    They are computed from the changelog, so in a run of all assets they come after its ingest. Outputs are skippable:
    a step that found no new change, or that another run was quicker than, materializes nothing. A run with the tag
    `lakehouse/rebuild=true` folds the whole changelog and puts the result in the place of what is there.
    """
    declared, log = tables.mirror, tables.changelog

    @dg.multi_asset(
        name=mirror_step(tables),
        specs=mirror_specs(tables, KINDS, names),
        pool=mirror_step(tables),
        description=f"Folds the next changes of {log.name} into {declared.name}.",
    )
    @names.resources
    def mirror_changes(
        context: dg.AssetExecutionContext, lake: dg.ResourceParam[Lake], spark: LakehouseSpark
    ) -> Iterator[dg.MaterializeResult[Any]]:
        failpoint("dagster.mirror.begin")
        rebuild = asks_for_rebuild(context.run)
        attempt = attempt_of(context, lake.settings, step=f"mirror:{declared.name}", code_version=mirror_digest(tables))
        # The changelog as well: this step may run before the first ingest.
        for name in lake.ensure([log.name, *(table.name for table in tables.tables)]):
            context.log.info(f"created table {name}")
        report = _mirror(context, tables, lake, spark, attempt, rebuild=rebuild)
        if report is None or report.published is None:
            return
        failpoint("dagster.mirror.before")
        rows = {declared.name: report.statement.rows} if report.statement else {}
        totals = row_counts(lake, report.published, rows)
        doubt = find_doubt(lake.catalog, tables, lake.declarations, limit=MAX_LOOKED_AT)
        yield from mirror_results(report, tables, attempt, lake, totals, doubt)

    return mirror_changes


@repeated_when_spark_is_lost()
def _mirror(
    context: dg.AssetExecutionContext,
    tables: MirrorTables,
    lake: Lake,
    spark: LakehouseSpark,
    attempt: Attempt,
    *,
    rebuild: bool,
) -> MirrorReport | None:
    """Run the step; None if another run has applied the same changes first, which is a good end and no error."""
    try:
        with step_progress(context.log.info) as inform:
            step = MirrorStep(
                tables=tables,
                catalog=lake.catalog,
                session=lambda: spark.session(f"mirror {tables.mirror.name}"),
                attempt=attempt,
                max_changes=lake.settings.ingest.max_records_per_run,
                rebuild=rebuild,
                inform=inform,
            )
            return mirror(step)
    except Superseded as superseded:
        context.log.info(f"superseded, nothing to materialize: {superseded.message}")
        return None
