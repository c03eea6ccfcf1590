"""What a step does with Spark: compute at the pinned snapshots, see what was read, write to a branch, judge it."""

from contextlib import nullcontext
from dataclasses import dataclass
from datetime import date

from pyspark.sql import DataFrame, SparkSession

from lakehouse.contracts.rules.stored import ContractReport, judge_snapshot
from lakehouse.engines.spark.catalog import show_table
from lakehouse.engines.spark.naming import rows_at
from lakehouse.proofs.lineage.spark_plan.trace import Trace, trace
from lakehouse.protocol.commit import open_branch
from lakehouse.protocol.commit.frames import stage_frame, staged_rows
from lakehouse.protocol.seals.history import head_of
from lakehouse.quantities import quantity
from lakehouse.steps.derived.columns import fitted_frame
from lakehouse.steps.derived.compute import computed
from lakehouse.steps.derived.error_masking import function_errors_masked
from lakehouse.steps.derived.inputs.inputs import Input
from lakehouse.steps.derived.parts import DerivedPart
from lakehouse.steps.derived.plan import DerivedPlan, DeriveStep
from lakehouse.steps.derived.refusals import ContractBroken, UnknownPartition
from lakehouse.steps.derived.used_parameters import UsedParameters


@dataclass(frozen=True)
class OnBranch:
    """What is on the attempt's branch.

    Args:
        trace: what Spark's plan reads, and which columns come from which.
        rules: what became of the contract rules.
        added: rows that were added.
        total: rows that the branch holds.
        used: names of the parameters that the computation has read.
    """

    trace: Trace
    rules: ContractReport
    added: int
    total: int
    used: frozenset[str] = frozenset()


def compute_on_branch(step: DeriveStep, work: DerivedPlan, spark: SparkSession) -> OnBranch:
    """Compute, write to the attempt's branch, and judge what is there.

    Raises:
        DeriveRefused: the function returned no frame, or rows break a blocking rule or belong to no partition.
        DoesNotFit: what was computed is not what is declared.
        ComputationFailed: the function failed, and its message may show a sensitive value.
    """
    frames = {argument: _frame(spark, work, input_) for argument, input_ in work.inputs.items()}
    parameters = UsedParameters.of(step.derived, step.parameters)
    with function_errors_masked(step):
        frame = computed(
            spark,
            step.derived,
            frames,
            runtime_date=date.fromisoformat(step.attempt.runtime_date),
            parameters=parameters,
        )
    traced = trace(frame)
    part = step.part or DerivedPart(step.derived)
    rows = fitted_frame(step.derived.table, frame, date.fromisoformat(step.attempt.runtime_date))
    if part.keys:
        rows = rows.where(part.computed)
    open_branch(step.catalog, work.base, step.attempt)
    stage_frame(rows, work.base, step.attempt, replacing=None if step.appending else part.replaced)
    table = step.catalog.load_table(work.base.identifier)
    head = head_of(table, step.attempt.branch)
    assert head is not None
    _require_no_stray(step, spark, part, head)
    since = None if step.whole else work.base.snapshot_id
    rules = judge_snapshot(step.derived.table, table, head, lambda: nullcontext(spark), since=since)
    if rules.broken_blocking:
        broken = (
            f"{verdict.name} ({verdict.broken:,} of {quantity(verdict.rows, 'row')})"
            for verdict in rules.broken_blocking
        )
        raise ContractBroken(step.name, broken, step.attempt.branch)
    added, total = staged_rows(table, work.base, step.attempt)
    # Only now: what a function gives to Spark's workers is sent when the rows are computed.
    return OnBranch(traced, rules, added, total, parameters.used)


def _frame(spark: SparkSession, work: DerivedPlan, input_: Input) -> DataFrame:
    if work.increment is not None and work.increment.followed is input_:
        return work.increment.frame(spark)
    show_table(spark, input_.name, input_.table.metadata_location)
    return rows_at(spark, input_.name, input_.snapshot_id)


def _require_no_stray(step: DeriveStep, spark: SparkSession, part: DerivedPart, head: int) -> None:
    if (stray := part.stray) is None:
        return
    count = rows_at(spark, step.name, head).where(stray).count()
    if count:
        assert step.derived.partitions is not None
        raise UnknownPartition(
            f"{step.name}: {quantity(count, 'row')} in no declared partition of column "
            f"{step.derived.partitions.column}.",
            remedy="declare their partitions, or leave them out.",
        )
