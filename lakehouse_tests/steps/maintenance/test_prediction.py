"""What a plan foresees is what happens, within a factor; and a table that was looked after is left alone.

The short form of `benchmarks/upkeep/prediction.py`: times are too small here to be compared, counts are not.
"""

from contextlib import nullcontext

import pytest
from pyspark.sql import SparkSession

from benchmarks.upkeep.prediction import NAME, predict
from lakehouse.protocol.catalog import open_catalog
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_files_and_snapshots_go_as_foreseen(sql_lake: Lake, spark_on: SparkOn) -> None:
    catalog = open_catalog(sql_lake.settings)
    with spark_on(sql_lake.settings) as spark:

        def session() -> nullcontext[SparkSession]:
            return nullcontext(spark)

        found = predict(catalog, session, files=120, commits=40)
    assert (found.before.files, found.after.files) == (120 + 9, 1 + 9)
    assert found.after.snapshots < 50 < found.before.snapshots
    told = {one.operation: one for one in found.operations}
    assert told["rewrite"].files_removed == told["rewrite"].files_removed_predicted
    assert told["expire"].files_removed == told["expire"].files_removed_predicted
    assert found.factors["files removed"] == 1
    assert any(reason.startswith("rewrite: ") for reason in found.nothing_because)
    assert any(reason.startswith("expire: ") for reason in found.nothing_because)
    assert catalog.load_table(tuple(NAME.split("."))).scan().to_arrow().num_rows == 100 * (120 + 9 + 9)
