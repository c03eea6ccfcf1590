"""A clock of the source's that is ahead of everybody's.

Guarded mechanisms: a source time is taken to be no later than its message's timestamp, and no later than we know the
message to have arrived, or the low watermark would pass changes that are in time. A clock far ahead is not believed.
"""

from datetime import timedelta

import pyspark.sql.types as T  # noqa: N812
import pytest
from pyspark.sql import SparkSession

from lakehouse.steps.cdc.fold.clocks import Arrival
from lakehouse.steps.cdc.fold.survey import survey
from lakehouse.steps.cdc.position import ChangePosition
from lakehouse_tests.steps.cdc.folding import changelog_rows, declare, frame, time_of
from lakehouse_tests.steps.cdc.plain_fold import Change

pytestmark = pytest.mark.spark
TABLES = declare(("id",), {"id": T.LongType(), "a": T.StringType()})


def test_no_source_time_is_later_than_the_arrival(spark: SparkSession) -> None:
    change = Change("insert", (1,), ChangePosition(0, 10, 0), {"a": "x"}, offset=0, time=100)
    [row] = changelog_rows(TABLES, [change])
    ahead = row | {"source_time": time_of(900)}
    assert survey(frame(spark, TABLES.changelog.table, [ahead]), TABLES.changelog).progress == {0: 100}


def _progress(spark: SparkSession, *times: int) -> object:
    """What the clock of a producer, who gives Kafka the same time, is believed of changes that arrived by 1000."""
    changes = [
        Change("insert", (n,), ChangePosition(0, n, 0), {"a": "x"}, offset=n, time=t) for n, t in enumerate(times, 1)
    ]
    read = frame(spark, TABLES.changelog.table, changelog_rows(TABLES, changes))
    return survey(read, TABLES.changelog, Arrival(1000, timedelta(microseconds=50))).progress


def test_a_clock_far_ahead_says_nothing(spark: SparkSession) -> None:
    assert _progress(spark, 700, 32_000_000) == {0: 700}
    assert _progress(spark, 32_000_000) == {}


def test_a_clock_a_little_ahead_is_put_back(spark: SparkSession) -> None:
    assert _progress(spark, 700, 1040) == {0: 1000}
