"""These frames become this table: the declared function or SQL, what its table takes, and its contract."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from lakehouse.contracts.rules import compile_rules
from lakehouse.declarations import DeclarationError, Declarations, spark_schema
from lakehouse.settings import Parameters
from lakehouse.steps.derived.columns import fitted_frame, null_error
from lakehouse.steps.derived.compute import computed
from lakehouse.steps.derived.used_parameters import UsedParameters

Frame = DataFrame | Iterable[Mapping[str, Any]]


@dataclass(frozen=True)
class DerivedRows:
    """What a computation made of its inputs.

    Attributes:
        rows: of the table, in any order, with all of its columns.
        broken: row → the blocking rule that it breaks: such a table is never released.
        warnings: rule → how many rows break it.
    """

    rows: list[dict[str, Any]]
    broken: dict[int, str] = field(default_factory=dict[int, str])
    warnings: dict[str, int] = field(default_factory=dict[str, int])


def derive_rows(
    declarations: Declarations,
    table: str,
    inputs: Mapping[str, Frame],
    *,
    spark: SparkSession,
    runtime_date: date,
    parameters: Parameters | None = None,
) -> DerivedRows:
    """Compute a derived table from these inputs, fit it into its columns and judge it by its rules.

    Args:
        declarations: with the derived table and its inputs.
        table: `namespace.table`.
        inputs: argument → a frame, or rows as mappings; a column that a row leaves out is null.
        spark: any session; a SQL text finds its inputs as temporary views of it.
        runtime_date: what the run's would be.
        parameters: of the run.

    Raises:
        DeclarationError: no derived table has this name, or an input is missing or unknown.
        DoesNotFit: what was computed is not what the table takes.
        ParameterNotDeclared: the computation asks for a parameter that is not given.
    """
    derived = declarations.derived.get(table)
    if derived is None:
        known = ", ".join(sorted(declarations.derived)) or "none"
        raise DeclarationError(f"No derived table is called '{table}'.", remedy=f"there are: {known}")
    if inputs.keys() != derived.inputs.keys():
        raise DeclarationError(
            f"{table} is computed from {', '.join(sorted(derived.inputs))}, not from {', '.join(sorted(inputs))}.",
            remedy="give each of its arguments rows, also if there are none",
        )
    frames = {
        argument: _frame(spark, declarations, derived.inputs[argument], rows) for argument, rows in inputs.items()
    }
    used = UsedParameters.of(derived, parameters or {})
    frame = computed(spark, derived, frames, runtime_date=runtime_date, parameters=used)
    try:
        batch = fitted_frame(derived.table, frame, runtime_date).toArrow().combine_chunks()
    except PySparkException as error:
        if (refusal := null_error(derived.table, error)) is not None:
            raise refusal from error
        raise
    rules = compile_rules(derived.table)
    parts = batch.to_batches()
    if not parts:
        return DerivedRows([])
    (part,) = parts
    broken = {row: error.message for row, error in sorted(rules.judge(part).items())}
    return DerivedRows(part.to_pylist(), broken, rules.warnings(part))


def _frame(spark: SparkSession, declarations: Declarations, name: str, rows: Frame) -> DataFrame:
    if isinstance(rows, DataFrame):
        return rows
    if name not in declarations.tables:
        raise DeclarationError(f"{name} is not declared.", remedy="give a Spark frame for it")
    schema = spark_schema(declarations.tables[name])
    for column in schema.fields:
        column.nullable = True
    data: list[tuple[Any, ...]] = []
    for row in rows:
        if unknown := sorted(row.keys() - {*schema.names}):
            raise DeclarationError(f"{name} has no column {', '.join(unknown)}.", remedy="correct the row")
        data.append(tuple(row.get(column) for column in schema.names))
    return spark.createDataFrame(data, schema)
