"""The checks that a table's own declaration asks for: one op, each question answered for itself."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache

import dagster as dg
from pyspark.sql import SparkSession

from lakehouse.declarations import Declarations, Table
from lakehouse.engines.spark import SparkUnreachable
from lakehouse.errors import LakehouseError
from lakehouse.orchestration.checks.derived.judges import trust_judges
from lakehouse.orchestration.checks.judged_state import (
    judged_state,
    judged_tables,
    pinned_tables,
    state_of,
    with_state,
)
from lakehouse.orchestration.checks.profile.judges import distribution_judges
from lakehouse.orchestration.checks.rules.judges import rule_judges
from lakehouse.orchestration.checks.table_question import Judge, TableCheckRun
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.resources import Lake, LakehouseSpark, repeated_when_spark_is_lost


class ChecksUnanswered(LakehouseError):
    """Several checks of a table could not be answered, which is not the same as failed."""


def judges_of(table: Table, declarations: Declarations) -> list[Judge]:
    """Every check of a table, the cheap ones first."""
    return [
        *trust_judges(table, declarations),
        *rule_judges(table, declarations),
        *distribution_judges(table, declarations),
    ]


def table_checks(
    table: Table, declarations: Declarations, names: DagsterNames = DEFAULT_NAMES
) -> dg.AssetChecksDefinition | None:
    """Make the checks of one table; None where its declaration asks for none."""
    judges = judges_of(table, declarations)
    if not judges:
        return None
    key, judged = names.key(table.name), judged_tables(table.name, declarations)

    @dg.multi_asset_check(
        name=f"judge_{'__'.join(table.identifier)}",
        description=f"Judges {table.name} by its declaration.",
        specs=[
            dg.AssetCheckSpec(judge.name, asset=key, description=judge.description, blocking=judge.blocking)
            for judge in judges
        ],
        can_subset=True,
        # After all that can run before: another table that a check compares with may be written by the same run. To
        # declare it as a dependency would skip the checks whenever that table has nothing new.
        op_tags={"dagster/priority": "-1"},
    )
    @names.resources
    def judge_table(
        context: dg.AssetCheckExecutionContext, lake: dg.ResourceParam[Lake], spark: LakehouseSpark
    ) -> Iterator[dg.AssetCheckResult]:
        wanted = {check.name for check in context.selected_asset_check_keys}
        with repeated_when_spark_is_lost(), ExitStack() as open_sessions:

            @cache
            def session() -> SparkSession:
                return open_sessions.enter_context(spark.session(f"judge {table.name}"))

            @contextmanager
            def shared() -> Generator[SparkSession]:
                yield session()

            check_run = TableCheckRun(lake, table, shared, context.instance, context.log.info, context.run.run_id)
            states = {name: state_of(pinned) for name, pinned in pinned_tables(lake.catalog, judged).items()}
            state = judged_state(table.name, declarations, states)
            answers = _answers(check_run, [judge for judge in judges if judge.name in wanted])
            yield from (with_state(answer, state) for answer in answers)

    return judge_table


def _answers(check_run: TableCheckRun, judges: Sequence[Judge]) -> Iterator[dg.AssetCheckResult]:
    """Answer what can be answered; what cannot is said together at the end.

    Raises:
        LakehouseError: the one that kept a check, or all that need Spark, from an answer.
        ChecksUnanswered: there were several.
    """
    errors: dict[str, LakehouseError] = {}
    for judge in judges:
        try:
            result = judge.answer(check_run)
        except LakehouseError as error:
            errors[judge.name] = error
        else:
            yield result
    if len(errors) == 1 or (errors and all(isinstance(error, SparkUnreachable) for error in errors.values())):
        raise next(iter(errors.values()))
    if errors:
        reasons = "\n".join(f"- {name}: {error}" for name, error in errors.items())
        raise ChecksUnanswered(f"{check_run.table.name}: {len(errors)} checks could not be answered.\n{reasons}")
