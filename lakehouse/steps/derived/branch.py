"""What a step does with Spark: compute at the pinned snapshots, see what was read, write to a branch, judge it."""

from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import date

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from lakehouse.contracts.rules.stored import ContractReport, judge_snapshot
from lakehouse.declarations import Table
from lakehouse.engines.spark.naming import rows_at
from lakehouse.proofs.lineage.spark_plan.trace import Trace, trace
from lakehouse.protocol.commit import open_branch
from lakehouse.protocol.commit.frames import stage_frame, staged_rows
from lakehouse.protocol.seals.history import head_of
from lakehouse.steps.derived.columns import fitted_frame, null_found
from lakehouse.steps.derived.compute import computed
from lakehouse.steps.derived.inputs.inputs import Input
from lakehouse.steps.derived.parts import DerivedPart
from lakehouse.steps.derived.plan import DerivedPlan, DeriveStep
from lakehouse.steps.derived.refusals import ComputationFailed, ContractBroken, UnknownPartition


@dataclass(frozen=True)
class OnBranch:
    """What is on the attempt's branch.

    Args:
        trace: what Spark's plan reads, and which columns come from which.
        rules: what became of the contract rules.
        added: rows that were added.
        total: rows that the branch holds.
    """

    trace: Trace
    rules: ContractReport
    added: int
    total: int


def compute_on_branch(step: DeriveStep, work: DerivedPlan, spark: SparkSession) -> OnBranch:
    """Compute, write to the attempt's branch, and judge what is there.

    Raises:
        DeriveRefused: the function returned no frame, or rows break a blocking rule or belong to no partition.
        DoesNotFit: what was computed is not what is declared.
        ComputationFailed: Spark could not compute it.
    """
    with _without_values(step):
        return _compute_on_branch(step, work, spark)


def _compute_on_branch(step: DeriveStep, work: DerivedPlan, spark: SparkSession) -> OnBranch:
    frame = computed(
        spark,
        step.derived,
        {argument: _frame(spark, work, input_) for argument, input_ in work.inputs.items()},
        runtime_date=date.fromisoformat(step.attempt.runtime_date),
        parameters=step.parameters,
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
        broken = (f"{verdict.name} ({verdict.broken:,} of {verdict.rows:,} rows)" for verdict in rules.broken_blocking)
        raise ContractBroken(step.name, broken, step.attempt.branch)
    added, total = staged_rows(table, work.base, step.attempt)
    return OnBranch(traced, rules, added, total)


def _frame(spark: SparkSession, work: DerivedPlan, input_: Input) -> DataFrame:
    if work.increment is not None and work.increment.followed is input_:
        return work.increment.frame(spark)
    return rows_at(spark, input_.name, input_.snapshot_id)


@contextmanager
def _without_values(step: DeriveStep) -> Generator[None]:
    """Spark's own message tells the value that could not be cast or divided by, which may be a sensitive one."""
    try:
        yield
    except PySparkException as error:
        if (refused := null_found(step.derived.table, error)) is not None:
            raise refused from None
        tables = [step.derived.table, *(step.declarations.tables[name] for name in step.derived.inputs.values())]
        secret = [table.name for table in tables if _holds_secrets(table)]
        if not secret:
            raise
        raise ComputationFailed(
            f"{step.name}: Spark could not compute it: {error.getCondition() or type(error).__name__}. Its message may "
            f"show a sensitive value of {', '.join(secret)}, and is left out.",
            remedy="call the function in a session of your own, where the message may be seen.",
        ) from None


def _holds_secrets(table: Table) -> bool:
    return any(column.sensitive for column in table.columns)


def _require_no_stray(step: DeriveStep, spark: SparkSession, part: DerivedPart, head: int) -> None:
    if (stray := part.stray) is None:
        return
    count = rows_at(spark, step.name, head).where(stray).count()
    if count:
        assert step.derived.partitions is not None
        raise UnknownPartition(
            f"{step.name}: {count:,} rows belong to no declared partition of column {step.derived.partitions.column}.",
            remedy="declare their partitions, or leave them out.",
        )
