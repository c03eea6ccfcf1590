"""What a MERGE does to a mirror that it changes little of."""

from collections.abc import Generator
from contextlib import contextmanager

import pytest
from pyspark.sql import SparkSession

from lakehouse.engines.spark import set_for
from lakehouse.settings import CatalogSettings
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.steps.cdc.conftest import delete, make_mirror, upsert

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def _merges(spark: SparkSession) -> list[str]:
    """Plans of the MERGEs so far, the oldest first."""
    listed = spark._jsparkSession.sharedState().statusStore().executionsList()  # pyright: ignore
    plans = [listed.apply(number).physicalPlanDescription() for number in range(listed.size())]
    return [plan for plan in plans if "MergeRows" in plan]


def test_few_rows_go_to_the_mirror_and_not_the_mirror_to_them(
    sql_lake: Lake, spark_on: SparkOn, spark: SparkSession
) -> None:
    """Spark drops the hint of a MERGE's source, and shuffled all of the mirror for one row."""

    @contextmanager
    def by_hint_alone(catalog: CatalogSettings) -> Generator[SparkSession]:
        # Tables of a test are so small that Spark would broadcast either side by itself.
        with spark_on(catalog) as session, set_for(session, {"spark.sql.autoBroadcastJoinThreshold": "-1"}):
            yield session

    things = make_mirror(sql_lake, by_hint_alone)
    things.apply([upsert(n, 1, "insert", name=f"n{n}", size=n) for n in range(1_000)])
    before = len(_merges(spark))
    report = things.apply([upsert(7, 2, name="new"), delete(8, 2)])
    assert report.plan
    assert report.plan.strategy == "merge"
    [plan] = _merges(spark)[before:]
    assert "BroadcastHashJoin" in plan
    assert "SortMergeJoin" not in plan
    assert things.agree().rows == 999
