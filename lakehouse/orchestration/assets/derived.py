"""The asset of a derived table: computed from its inputs at pinned snapshots, whole or by partition."""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time
from typing import Any

import dagster as dg

from lakehouse.declarations import ByDay, ByMonth, ByValue, Declarations, Derived, Partitions
from lakehouse.orchestration.assets.metadata.derived import derived_result, inputs_shown
from lakehouse.orchestration.assets.progress import step_progress
from lakehouse.orchestration.assets.specs import declaration_digest, table_spec
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.resources import DoesNotFit, Lake, LakehouseSpark, repeated_when_spark_is_lost
from lakehouse.orchestration.resources.materialization import write_tags
from lakehouse.orchestration.resources.pins.ended_pins import pin_of_execution
from lakehouse.orchestration.run_context import (
    asks_for_rebuild,
    attempt_of,
    backfill_reason,
    execution_of,
    run_parameters,
)
from lakehouse.proofs.lineage.newer import NewerRows
from lakehouse.protocol.errors import Superseded
from lakehouse.protocol.failpoints import failpoint
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.derived.inputs.agreement import InputsDisagree
from lakehouse.steps.derived.parts import part_of
from lakehouse.steps.derived.refusals import DeriveRefused
from lakehouse.steps.derived.report import DeriveReport
from lakehouse.steps.derived.step import DeriveStep, derive
from lakehouse.steps.derived.version import derivation_digest

KINDS = ("iceberg", "spark")


def derived_step(declared: Derived) -> str:
    """Name of the step and of its pool: `derive_features__training`."""
    return f"derive_{'__'.join(declared.table.identifier)}"


def derived_version(declared: Derived) -> str:
    """A version of the declared table, and of how it is computed."""
    return f"{declaration_digest(declared.table)[:8]}-{derivation_digest(declared)[:8]}"


def derived_asset(
    declared: Derived,
    declarations: Declarations,
    names: DagsterNames = DEFAULT_NAMES,
    *,
    automation_condition: dg.AutomationCondition[Any] | None = None,
) -> dg.AssetsDefinition:
    """Make the asset of one derived table.

    A step that refuses (inputs that do not agree, rows that break a rule) fails without a retry, and what is computed
    from the table is skipped. One whose twin (the same date and parameters) was quicker materializes nothing.

    Args:
        declared: the derived table.
        declarations: all others.
        names: how Dagster knows them.
        automation_condition: when Dagster asks for it by itself.
    """
    step, version = derived_step(declared), derived_version(declared)

    @dg.multi_asset(
        name=step,
        specs=[_spec(declared, declarations, names, automation_condition)],
        partitions_def=partitions_definition(declared.partitions) if declared.partitions else None,
        # Spark computes a year as well as a day: a backfill is one run, and one commit.
        backfill_policy=dg.BackfillPolicy.single_run() if declared.partitions else None,
        pool=step,
        description=f"Computes {declared.name} from {', '.join(declared.inputs.values())}.",
    )
    @names.resources
    def derive_table(
        context: dg.AssetExecutionContext, lake: dg.ResourceParam[Lake], spark: LakehouseSpark
    ) -> Iterator[dg.MaterializeResult[Any]]:
        failpoint("dagster.derived.begin")
        attempt = attempt_of(context, lake.settings, step=f"derive:{declared.name}", code_version=version)
        for name in lake.ensure([declared.name]):
            context.log.info(f"created table {name}")
        report = _derive(context, declared, lake, spark, attempt)
        if report is None:
            return
        failpoint("dagster.derived.before")
        if declared.partitions is not None and not (report.statement.partition or _partitioned(context)):
            _report_all_partitions(context, lake.names.key(declared.name), declared, report, attempt)
        yield derived_result(report, declared, attempt, lake.names)

    return derive_table


def partitions_definition(by: Partitions) -> dg.PartitionsDefinition[str]:
    """The partitions as Dagster names them: `2013-05-14`, `2013-05-01` for a month, or a value."""
    match by:
        case ByDay(start=start, end=end):
            return dg.DailyPartitionsDefinition(start_date=_midnight(start), end_date=end and _midnight(end))
        case ByMonth(start=start, end=end):
            first = _midnight(start.replace(day=1))
            return dg.MonthlyPartitionsDefinition(start_date=first, end_date=end and _midnight(end))
        case ByValue(values=values):
            return dg.StaticPartitionsDefinition(list(values))


def _report_all_partitions(
    context: dg.AssetExecutionContext, key: dg.AssetKey, declared: Derived, report: DeriveReport, attempt: Attempt
) -> None:
    """After a run of the whole table no partition is missing, which Dagster would not conclude by itself."""
    assert declared.partitions is not None
    for partition in partitions_definition(declared.partitions).get_partition_keys():
        context.log_event(
            dg.AssetMaterialization(
                key,
                partition=partition,
                metadata={"snapshot id": str(report.snapshot_id), "runtime date": attempt.runtime_date},
                tags=write_tags(attempt),
            )
        )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _spec(
    declared: Derived,
    declarations: Declarations,
    names: DagsterNames,
    condition: dg.AutomationCondition[Any] | None,
) -> dg.AssetSpec:
    spec = table_spec(declared.table, group=declared.table.identifier[0], kinds=KINDS, skippable=True, names=names)
    return spec.replace_attributes(
        deps=[_dep(name, declarations, names) for name in declared.inputs.values()],
        code_version=derived_version(declared),
        automation_condition=condition,
    )


def _dep(name: str, declarations: Declarations, names: DagsterNames) -> dg.AssetDep:
    derived = declarations.derived.get(name)
    key = names.key(name)
    # A function sees its inputs whole, whatever part of its own table it is asked for.
    return dg.AssetDep(key, partition_mapping=dg.AllPartitionMapping() if derived and derived.partitions else None)


@repeated_when_spark_is_lost()
def _derive(
    context: dg.AssetExecutionContext, declared: Derived, lake: Lake, spark: LakehouseSpark, attempt: Attempt
) -> DeriveReport | None:
    """Run the step; None if another run has published the same first, which is a good end and no error."""
    execution = execution_of(context)
    keys = _keys(context, declared, datetime.fromtimestamp(execution.begun_ms / 1000, UTC))
    try:
        with step_progress(context.log.info) as inform:
            step = DeriveStep(
                derived=declared,
                declarations=lake.declarations,
                catalog=lake.catalog,
                session=lambda: spark.session(f"derive {declared.name}"),
                attempt=attempt,
                pin=pin_of_execution(execution, context.instance),
                parameters=run_parameters(context.run, lake.settings),
                part=part_of(declared, keys),
                backfill=backfill_reason(context.run),
                rebuild=asks_for_rebuild(context.run),
                inform=inform,
            )
            return derive(step)
    except Superseded as superseded:
        context.log.info(f"superseded, nothing to materialize: {superseded.message}")
        return None
    except (DeriveRefused, DoesNotFit, NewerRows) as refused:
        raise _failure(refused) from None


def _partitioned(context: dg.AssetExecutionContext) -> bool:
    return context.has_partition_key or context.has_partition_key_range


def _keys(context: dg.AssetExecutionContext, declared: Derived, begun: datetime) -> Sequence[str]:
    """The partitions that a run is for; none, which is the whole table, if there were no others when it was asked for.

    Where partitions have no end, rows may lie behind the newest one: a run of the whole table has put them there. If
    they stayed when all partitions are computed, the table would be of two versions of its inputs for ever.
    """
    if declared.partitions is None or not _partitioned(context):
        return ()
    keys = context.partition_keys
    known = partitions_definition(declared.partitions).get_partition_keys(current_time=begun)
    endless = not isinstance(declared.partitions, ByValue) and declared.partitions.end is None
    return () if endless and set(known) <= set(keys) else keys


def _failure(refused: DeriveRefused | DoesNotFit | NewerRows) -> dg.Failure:
    """A refusal as Dagster shows it. To try the same again would end the same way."""
    shown = {"inputs": inputs_shown(refused.inputs)} if isinstance(refused, InputsDisagree) else {}
    return dg.Failure(
        description=f"{refused.message}\nRemedy: {refused.remedy}",
        metadata={"refused": type(refused).__name__, "remedy": dg.MetadataValue.md(refused.remedy), **shown},
        allow_retries=False,
    )
