"""Compute: the declared function, or SQL text, on frames of exactly the pinned snapshots."""

from collections.abc import Mapping
from datetime import date

from pyspark.sql import DataFrame, SparkSession

from lakehouse.derived.refusals import NotAFrame
from lakehouse.settings import Parameters
from lakehouse.tables import Derived


def computed(
    spark: SparkSession,
    one: Derived,
    frames: Mapping[str, DataFrame],
    *,
    runtime_date: date,
    parameters: Parameters,
) -> DataFrame:
    """Give the computation its inputs by name, and what it asks for of the run.

    Args:
        spark: the session of this step alone: a SQL text finds its inputs as temporary views.
        one: the derived table.
        frames: argument → rows.
        runtime_date: of the run.
        parameters: of the run.

    Raises:
        NotAFrame: the function returned something else.
    """
    if isinstance(one.compute, str):
        return _queried(spark, one.compute, frames, {**parameters, "runtime_date": runtime_date})
    asked: dict[str, object] = {"runtime_date": runtime_date, "parameters": dict(parameters)}
    found: object = one.compute(**frames, **{name: asked[name] for name in one.asks_for})
    if not isinstance(found, DataFrame):
        raise NotAFrame(
            f"{one.name}: the function returned a {type(found).__name__}.", remedy="return a Spark DataFrame."
        )
    return found


def _queried(
    spark: SparkSession, text: str, frames: Mapping[str, DataFrame], values: Mapping[str, object]
) -> DataFrame:
    for argument, frame in frames.items():
        frame.createOrReplaceTempView(argument)
    # In brackets only a query has a meaning: a text that creates, inserts or drops is refused before it does anything.
    return spark.sql(f"SELECT * FROM (\n{text.strip().rstrip(';')}\n)", args=dict(values))
