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
    derived: Derived,
    frames: Mapping[str, DataFrame],
    *,
    runtime_date: date,
    parameters: Parameters,
) -> DataFrame:
    """Give the computation its inputs by name, and what it asks for of the run.

    Args:
        spark: the session of this step alone: a SQL text finds its inputs as temporary views.
        derived: the table.
        frames: argument → rows.
        runtime_date: of the run.
        parameters: of the run.

    Raises:
        NotAFrame: the function returned something else.
        ParameterNotDeclared: it asks for a parameter that is none.
    """
    if isinstance(derived.compute, str):
        return _queried(spark, derived.compute, frames, {**parameters, "runtime_date": runtime_date})
    arguments: dict[str, object] = {"runtime_date": runtime_date, "parameters": _Parameters(derived, parameters)}
    frame: object = derived.compute(**frames, **{name: arguments[name] for name in derived.asks_for})
    if not isinstance(frame, DataFrame):
        raise NotAFrame(
            f"{derived.name}: the function returned a {type(frame).__name__}.", remedy="return a Spark DataFrame."
        )
    return frame


class _Parameters(dict[str, Parameter]):
    """What a function is given as its parameters: a mapping that tells a slip by name."""

    def __init__(self, derived: Derived, parameters: Parameters) -> None:
        super().__init__(parameters)
        self._table = derived.name
        self._function = getattr(derived.compute, "__name__", "")

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
