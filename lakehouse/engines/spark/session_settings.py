"""Settings of a session that hold for a part of a step: set before it, and put back after it."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

_ADAPTIVE = "spark.sql.adaptive.enabled"
_INTERPRETED = {
    _ADAPTIVE: "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@contextmanager
def set_for(spark: SparkSession, settings: Mapping[str, str]) -> Generator[None]:
    """Let a session have these settings inside the block; what was set before comes back, also after an error."""
    configured = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, value in configured.items():
            if value is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, value)


@contextmanager
def single_job(spark: SparkSession) -> Generator[None]:
    """Let a query be one job. Adaptive execution makes each stage one of its own, to no avail for a single row."""
    with set_for(spark, {_ADAPTIVE: "false"}):
        yield


@contextmanager
def interpreted(spark: SparkSession, *, when: bool = True) -> Generator[None]:
    """Let plans be interpreted as they are, where `when` says so.

    To compile a plan, and to plan it anew between its stages, costs seconds of CPU and pays from about 100,000 rows on.
    The rows that come of it are the same.
    """
    with set_for(spark, _INTERPRETED if when else {}):
        yield
