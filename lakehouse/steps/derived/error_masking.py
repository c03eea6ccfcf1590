"""Keeps values of sensitive columns out of the errors of a computation: what fails may tell the value it failed at.

Dagster prints an exception with those behind it. So what is raised instead has none to show: `from None`. It stays in
`__context__`, by which a signal that PySpark has hidden is known (`engines.spark.interrupts`).
"""

import traceback
from collections.abc import Generator
from contextlib import contextmanager
from types import CodeType
from typing import cast

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from lakehouse.declarations import Derived
from lakehouse.engines.spark import SparkUnreachable
from lakehouse.steps.derived import compute
from lakehouse.steps.derived.columns import null_error
from lakehouse.steps.derived.plan import DeriveStep
from lakehouse.steps.derived.refusals import ComputationFailed, NotAFrame


@contextmanager
def spark_errors_masked(step: DeriveStep) -> Generator[None]:
    """Leave out what Spark says, where the table or an input has a sensitive column. Goes around the session.

    Raises:
        DoesNotFit: a required column held a null.
        ComputationFailed: Spark could not compute it, and its message may show a value.
    """
    try:
        yield
    except SparkUnreachable as error:
        if _sensitive_tables(step):
            raise error from None
        raise
    except (PySparkException, Py4JError) as error:
        if isinstance(error, PySparkException) and (refused := null_error(step.derived.table, error)) is not None:
            raise refused from None
        if not (tables := _sensitive_tables(step)):
            raise
        condition = error.getCondition() if isinstance(error, PySparkException) else None
        raise ComputationFailed(
            f"{step.name}: Spark could not compute it: {condition or type(error).__name__}"
            f"{_place_in_function(step.derived, error)}. Its message may show a sensitive value of "
            f"{', '.join(tables)}, and is left out.",
            remedy="call the function in a session of your own, where the message may be seen.",
        ) from None


@contextmanager
def function_errors_masked(step: DeriveStep) -> Generator[None]:
    """Leave out what the function's own exceptions say, where the table or an input has a sensitive column.

    What Spark raises in it is for `spark_errors_masked`: the session has to see it first, to know that Spark is gone.

    Raises:
        ComputationFailed: the function failed, and its message may show a value.
    """
    try:
        yield
    except (NotAFrame, PySparkException, Py4JError):
        raise
    except Exception as error:
        if not (tables := _sensitive_tables(step)):
            raise
        raise ComputationFailed(
            f"{step.name}: its function failed with {type(error).__name__}{_place_in_function(step.derived, error)}. "
            f"The message is withheld, because {', '.join(tables)} has sensitive columns, and it may show a value.",
            remedy="look at that line, or call the function in a session of your own, where the message may be seen.",
        ) from None


def _sensitive_tables(step: DeriveStep) -> list[str]:
    """The table itself, and those of its inputs, that have a sensitive column."""
    tables = [step.derived.table, *(step.declarations.tables[name] for name in step.derived.inputs.values())]
    return [table.name for table in tables if any(column.sensitive for column in table.columns)]


def _place_in_function(derived: Derived, error: BaseException) -> str:
    """The last line of the function's own file that was reached, as ` at <file>:<line> in <name>`; empty for SQL."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [index for index, frame in enumerate(frames) if frame.filename == compute.__file__]
    called = frames[ours[-1] + 1 :] if ours else []
    if isinstance(derived.compute, str) or not called:
        return ""
    code = cast("CodeType | None", getattr(derived.compute, "__code__", None))
    in_its_file = [frame for frame in called if code is not None and frame.filename == code.co_filename]
    place = in_its_file[-1] if in_its_file else called[0]
    return f" at {place.filename}:{place.lineno} in {place.name}"
