"""A clock of the source's that is ahead of everybody's.

Guarded mechanism: a source time is taken to be no later than its message's arrival, or the low watermark would pass
changes that are in time. The log is the only place that knows when a message arrived.
"""

import pyspark.sql.types as T  # noqa: N812
import pytest
from pyspark.sql import SparkSession

from lakehouse.cdc.position import Position
from lakehouse.cdc.survey import survey
from lakehouse_tests.cdc.fold import Change
from lakehouse_tests.cdc.folding import changelog_rows, declare, frame, time_of

pytestmark = pytest.mark.spark
TABLES = declare(("id",), {"id": T.LongType(), "a": T.StringType()})


def test_no_source_time_is_later_than_the_arrival(spark: SparkSession) -> None:
    change = Change("insert", (1,), Position(0, 10, 0), {"a": "x"}, offset=0, time=100)
    [row] = changelog_rows(TABLES, [change])
    ahead = row | {"source_time": time_of(900)}
    assert survey(frame(spark, TABLES.changelog.table, [ahead]), TABLES.changelog).progress == {0: 100}
