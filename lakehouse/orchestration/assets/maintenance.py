"""The asset that looks after a table: a run of it measures, decides, does what is due, and says why."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from lakehouse.declarations import Declarations, Table
from lakehouse.orchestration.assets.metadata.maintenance import maintenance_result
from lakehouse.orchestration.assets.pools import pool_for
from lakehouse.orchestration.assets.progress import step_progress
from lakehouse.orchestration.assets.specs import owner_of
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.maintenance_tags import approvals_of, requested_operations
from lakehouse.orchestration.resources import Lake, LakehouseSpark
from lakehouse.orchestration.resources.maintenance_metadata import GROUP, maintained_with, maintenance_key
from lakehouse.orchestration.resources.run_records import longest_run, under_way
from lakehouse.orchestration.run_context import ALLOW_TAG, MAINTENANCE_TAG, attempt_of
from lakehouse.protocol.failpoints import failpoint
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.maintenance.plan.budget import Budget
from lakehouse.steps.maintenance.report import MaintainReport, MaintenanceFailed
from lakehouse.steps.maintenance.step import MaintainStep, maintain

EXCLUDED = "excluded"


def maintenance_asset(
    table: Table, declarations: Declarations, names: DagsterNames = DEFAULT_NAMES
) -> dg.AssetsDefinition:
    """Make the asset that looks after one table.

    It depends on nothing, so that no run of the table brings it along; the sensor `upkeep` starts it where a plan says
    so. A person may start it at any time: what deletes is only shown, and with it the tag `lakehouse/allow=<digest of
    the plan>` that lets another run do it. A run that finds nothing to do says why, and that is a result too.
    """
    excluded = table.maintenance.excluded

    @dg.multi_asset(
        name=f"maintain_{'__'.join(table.identifier)}",
        specs=[
            dg.AssetSpec(
                key=maintenance_key(table.name, names),
                description=_described(table),
                group_name=GROUP,
                kinds={"iceberg"},
                owners=[owner_of(table)],
                skippable=True,
                tags={MAINTENANCE_TAG: EXCLUDED} if excluded else {},
            )
        ],
        pool=pool_for(table.name, declarations),
        description=f"Looks after {table.name}.",
    )
    @names.resources
    def maintain_table(
        context: dg.AssetExecutionContext, lake: dg.ResourceParam[Lake], spark: LakehouseSpark
    ) -> Iterator[dg.MaterializeResult[Any]]:
        failpoint("dagster.maintain.begin")
        looked_after = _looked_after(context, table, lake)
        attempt = attempt_of(context, lake.settings, step=f"maintain:{looked_after.name}")
        report = _maintain(context, looked_after, lake, spark, attempt)
        if report.surveyed is None:
            context.log.info(f"{looked_after.name} does not exist yet")
            return
        result = maintenance_result(report, report.surveyed, attempt, lake.names)
        key = maintenance_key(table.name, lake.names)
        yield dg.MaterializeResult(asset_key=key, metadata=result.metadata, tags=result.tags)
        try:
            report.require_well()
        except MaintenanceFailed as failed:
            # The sensor tries again, later and later; to do the same at once would end the same way.
            raise dg.Failure(description=str(failed), allow_retries=False) from failed.__cause__

    return maintain_table


def _looked_after(context: dg.AssetExecutionContext, table: Table, lake: Lake) -> Table:
    """The table itself, or the one that a run names which was made like it."""
    declarations, named = lake.declarations, context.run.tags.get(MAINTENANCE_TAG, table.name)
    return declarations.tables[named] if maintained_with(named, declarations) == table.name != named else table


def _maintain(
    context: dg.AssetExecutionContext, table: Table, lake: Lake, spark: LakehouseSpark, attempt: Attempt
) -> MaintainReport:
    settings = lake.settings.maintenance
    with step_progress(context.log.info) as inform:
        return maintain(
            MaintainStep(
                catalog=lake.catalog,
                declarations=lake.declarations,
                table=table,
                session=lambda: spark.session(f"maintain {table.name}"),
                attempt=attempt,
                budget=Budget.of(settings),
                only=requested_operations(context.run),
                approvals=approvals_of(context.run),
                longest_run=longest_run(context.instance, datetime.now(UTC)),
                under_way={record.dagster_run.run_id for record in under_way(context.instance)},
                in_process_proof=int(settings.in_process_proof),
                inform=inform,
            )
        )


def _described(table: Table) -> str:
    if table.maintenance.excluded:
        return f"{table.name} is not maintained: {table.maintenance.excluded}."
    return (
        f"Keeps {table.name} quick to read and to write, without changing a row: file sizes, delete files, manifests, "
        "old snapshots, files that nobody knows. The newest materialization or observation says what was decided, why, "
        "and why not more. To materialize it by hand, alone or with all others, does what is due now and deletes "
        f"nothing: that is shown as dry_run, beside the tag {ALLOW_TAG} with which another run does it."
    )
