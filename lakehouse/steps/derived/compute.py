"""Compute: the declared function, or SQL text, on frames of exactly the pinned snapshots."""

from collections.abc import Mapping
from datetime import date
from typing import NoReturn

from pyspark.sql import DataFrame, SparkSession
from typing_extensions import override

from lakehouse.declarations import Derived
from lakehouse.settings import Parameter, Parameters
from lakehouse.steps.derived.refusals import NotAFrame, ParameterNotDeclared


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
        ParameterNotDeclared: it asks for a parameter that is none.
    """
    if isinstance(one.compute, str):
        return _queried(spark, one.compute, frames, {**parameters, "runtime_date": runtime_date})
    asked: dict[str, object] = {"runtime_date": runtime_date, "parameters": _Parameters(one, parameters)}
    found: object = one.compute(**frames, **{name: asked[name] for name in one.asks_for})
    if not isinstance(found, DataFrame):
        raise NotAFrame(
            f"{one.name}: the function returned a {type(found).__name__}.", remedy="return a Spark DataFrame."
        )
    return found


class _Parameters(dict[str, Parameter]):
    """What a function is given as its parameters: a mapping that tells a slip by name."""

    def __init__(self, one: Derived, parameters: Parameters) -> None:
        super().__init__(parameters)
        self._table = one.name
        self._function = getattr(one.compute, "__name__", "")

    def __missing__(self, name: str) -> NoReturn:
        raise ParameterNotDeclared(self._table, self._function, name, self)

    @override
    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        # Python workers of Spark, which may be elsewhere, need none of this to read a function that holds it.
        return dict, (dict(self),)


def _queried(
    spark: SparkSession, text: str, frames: Mapping[str, DataFrame], values: Mapping[str, object]
) -> DataFrame:
    for argument, frame in frames.items():
        frame.createOrReplaceTempView(argument)
    # In brackets only a query has a meaning: a text that creates, inserts or drops is refused before it does anything.
    return spark.sql(f"SELECT * FROM (\n{text.strip().rstrip(';')}\n)", args=dict(values))
