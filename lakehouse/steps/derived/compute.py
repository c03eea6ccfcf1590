"""Compute: the declared function, or SQL text, on frames of exactly the pinned snapshots."""

from collections.abc import Mapping
from datetime import date

from pyspark.sql import DataFrame, SparkSession

from lakehouse.declarations import Derived
from lakehouse.steps.derived.refusals import NotAFrame
from lakehouse.steps.derived.used_parameters import UsedParameters


def computed(
    spark: SparkSession,
    derived: Derived,
    frames: Mapping[str, DataFrame],
    *,
    runtime_date: date,
    parameters: UsedParameters,
) -> DataFrame:
    """Give the computation its inputs by name, and what it asks for of the run.

    Args:
        spark: the session of this step alone: a SQL text finds its inputs as temporary views.
        derived: the table.
        frames: argument → rows.
        runtime_date: of the run.
        parameters: of the run; they note which of them are read.

    Raises:
        NotAFrame: the function returned something else.
        ParameterNotDeclared: it asks for a parameter that is none.
    """
    if isinstance(derived.compute, str):
        values = {**parameters.named_in(derived.compute), "runtime_date": runtime_date}
        return _queried(spark, derived.compute, frames, values)
    arguments: dict[str, object] = {"runtime_date": runtime_date, "parameters": parameters}
    frame: object = derived.compute(**frames, **{name: arguments[name] for name in derived.asks_for})
    if not isinstance(frame, DataFrame):
        raise NotAFrame(
            f"{derived.name}: the function returned a {type(frame).__name__}.", remedy="return a Spark DataFrame."
        )
    return frame


def _queried(
    spark: SparkSession, text: str, frames: Mapping[str, DataFrame], values: Mapping[str, object]
) -> DataFrame:
    for argument, frame in frames.items():
        frame.createOrReplaceTempView(argument)
    # In brackets only a query has a meaning: a text that creates, inserts or drops is refused before it does anything.
    return spark.sql(f"SELECT * FROM (\n{text.strip().rstrip(';')}\n)", args=dict(values))
