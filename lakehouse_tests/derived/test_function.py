"""A declared function is tested with frames and nothing else: no catalog, no Dagster, no tables."""

from datetime import date
from typing import Any

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from lakehouse.tables import derived
from lakehouse_tests.derived.workshop import table_of

pytestmark = pytest.mark.spark


@derived(
    table=table_of("mart.large", {"shop": pandera.Column(T.StringType()), "year": T.IntegerType()}, derived=True),
    inputs={"sales": "raw.sales"},
)
def large(sales: DataFrame, runtime_date: date, parameters: dict[str, Any]) -> DataFrame:
    """The declaration that a user would write."""
    enough = sales.where(f.col("amount") >= parameters["least"])
    return enough.select("shop", f.lit(runtime_date.year).alias("year"))


def test_large_sales_are_kept(spark: SparkSession) -> None:
    sales = spark.createDataFrame([("Kiel", 1), ("Bonn", 5)], "shop string, amount int")
    found = large(sales=sales, runtime_date=date(2013, 5, 14), parameters={"least": 5})
    assert [tuple(row) for row in found.collect()] == [("Bonn", 2013)]
