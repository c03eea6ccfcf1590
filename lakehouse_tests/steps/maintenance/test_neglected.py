"""A neglected table is brought in order in a few runs, and then left alone: the short form of `benchmarks.upkeep`."""

from contextlib import nullcontext

import pytest
from pyspark.sql import SparkSession

from benchmarks.upkeep.neglected import NAME, look_after
from lakehouse.protocol.catalog import open_catalog
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_small_files_and_old_snapshots_go_until_nothing_is_due(sql_lake: Lake, spark_on: SparkOn) -> None:
    catalog = open_catalog(sql_lake.settings)
    with spark_on(sql_lake.settings) as spark:

        def session() -> nullcontext[SparkSession]:
            return nullcontext(spark)

        report = look_after(catalog, session, files=120, commits=40)
    assert (report.before.files, report.after.files) == (120 + 9, 1 + 9)
    assert report.after.snapshots < 50 < report.before.snapshots
    by_operation = {operation.operation: operation for operation in report.operations}
    assert by_operation["rewrite"].removed == 120 + 9 - 1
    assert by_operation["expire"].removed > 0
    assert any(reason.startswith("rewrite: ") for reason in report.nothing_because)
    assert any(reason.startswith("expire: ") for reason in report.nothing_because)
    assert catalog.load_table(tuple(NAME.split("."))).scan().to_arrow().num_rows == 100 * (120 + 9 + 9)
