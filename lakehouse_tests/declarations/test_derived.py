"""A declared function is tested with frames and nothing else: no catalog, no Dagster, no tables."""

import pickle
from datetime import date
from typing import Any, cast

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from lakehouse.declarations import Derived, derived
from lakehouse.settings import Parameters
from lakehouse.steps.derived.compute import computed
from lakehouse.steps.derived.refusals import NotAFrame, ParameterNotDeclared
from lakehouse.steps.derived.used_parameters import UsedParameters
from lakehouse_tests.steps.derived.workshop import table_of


@derived(
    table=table_of("mart.large", {"shop": pandera.Column(T.StringType()), "year": T.IntegerType()}, derived=True),
    inputs={"sales": "raw.sales"},
)
def large(sales: DataFrame, runtime_date: date, parameters: dict[str, Any]) -> DataFrame:
    """The declaration that a user would write."""
    enough = sales.where(f.col("amount") >= parameters["least"])
    return enough.select("shop", f.lit(runtime_date.year).alias("year"))


@pytest.mark.spark
def test_large_sales_are_kept(spark: SparkSession) -> None:
    sales = spark.createDataFrame([("Kiel", 1), ("Bonn", 5)], "shop string, amount int")
    rows = large(sales=sales, runtime_date=date(2013, 5, 14), parameters={"least": 5})
    assert [tuple(row) for row in rows.collect()] == [("Bonn", 2013)]


def given(parameters: Parameters, compute: Any) -> None:
    """Compute without Spark, which the function does not come to ask."""
    derived = Derived(table=large.table, inputs={"sales": "raw.sales"}, compute=compute)
    session = cast("SparkSession", None)
    used = UsedParameters(f"{derived.name}: function {compute.__name__}", parameters)
    computed(session, derived, {"sales": cast("DataFrame", None)}, runtime_date=date(2013, 5, 14), parameters=used)


def test_a_parameter_that_is_not_declared_is_refused_by_name() -> None:
    def misspelt(sales: object, parameters: dict[str, Any]) -> None:
        del sales
        parameters["least"]

    with pytest.raises(ParameterNotDeclared) as refused:
        given({"most": 5, "zone": "east"}, misspelt)
    assert refused.value.message == (
        "mart.large: function misspelt asks for parameter 'least', which is not declared (there is most, zone)."
    )


def test_parameters_are_an_ordinary_mapping_and_reach_sparks_workers_as_one() -> None:
    def look(sales: object, parameters: dict[str, Any]) -> None:
        del sales
        assert parameters == {"most": 5}
        assert parameters.get("least", 7) == 7
        sent = pickle.dumps(parameters)
        assert b"lakehouse" not in sent
        assert pickle.loads(sent) == {"most": 5}

    with pytest.raises(NotAFrame):
        given({"most": 5}, look)
