"""A step under which Spark went away is made again once Spark is back, in the same run."""

from collections.abc import Generator
from contextlib import contextmanager

import dagster as dg

from lakehouse.engines.spark import SparkUnreachable

TRIES, WAIT_SECONDS = 6, 10  # who starts the server again needs some ten seconds, and its first start may fail


@contextmanager
def repeated_when_spark_is_lost() -> Generator[None]:
    """Have Dagster make this step again, as another attempt, where Spark did not answer or went away under it.

    Nothing of such a step is published, or all of it: the next attempt begins where the tables are.

    Raises:
        RetryRequested: Spark is not there; after the last try Dagster fails the step with what Spark's end was.
    """
    try:
        yield
    except SparkUnreachable as lost:
        raise dg.RetryRequested(max_retries=TRIES, seconds_to_wait=WAIT_SECONDS) from lost
