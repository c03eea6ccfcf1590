"""What a user's test of a derived table sees: rows as they would be published, or why they would not be."""

from datetime import date
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.declarations import DeclarationError, Declarations, load_declarations
from lakehouse.declarations.columns.error import DoesNotFit
from lakehouse.testing import derive_rows

pytestmark = pytest.mark.spark
TODAY = date(2026, 1, 2)
TABLES = """
import pandera.pyspark as pa
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, LongType
from lakehouse import Derived, Table, derived


class Sale(pa.DataFrameModel):
    day: DateType = pa.Field(description="Day")
    amount: LongType = pa.Field(nullable=True, description="Cents")


class Total(pa.DataFrameModel):
    day: DateType = pa.Field(description="Day")
    total: LongType = pa.Field(ge=0, description="Cents")
    runtime_date: DateType = pa.Field(description="Runtime date")


def total(name):
    return Table(
        name=name, schema=Total, description="Totals.", owner="team:shop", key=("day",), write_mode="overwrite",
        runtime_date_column="runtime_date",
    )


sales = Table(name="shop.sales", schema=Sale, description="Sales.", owner="team:shop")


@derived(table=total("mart.totals"), inputs={"sales": "shop.sales"})
def totals(sales, parameters):
    return sales.groupBy("day").agg((F.sum("amount") - parameters["discount"]).alias("total"))


by_sql = Derived(
    table=total("mart.sql_totals"),
    inputs={"sales": "shop.sales"},
    compute="SELECT day, sum(amount) - :discount AS total FROM sales WHERE day <= :runtime_date GROUP BY day",
)
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Declarations:
    folder: Path = tmp_path_factory.mktemp("declarations")
    (folder / "shop.py").write_text(TABLES, encoding="utf-8")
    return load_declarations([folder])


@pytest.mark.parametrize("table", ["mart.totals", "mart.sql_totals"])
def test_rows_become_the_table(shop: Declarations, spark: SparkSession, table: str) -> None:
    sales = [{"day": TODAY, "amount": 5}, {"day": TODAY, "amount": 6}]
    derivation = derive_rows(shop, table, {"sales": sales}, spark=spark, runtime_date=TODAY, parameters={"discount": 1})
    assert derivation.rows == [{"day": TODAY, "total": 10, "runtime_date": TODAY}]
    assert not derivation.broken


def test_a_broken_rule_is_named_with_its_row(shop: Declarations, spark: SparkSession) -> None:
    sales = [{"day": TODAY, "amount": 1}]
    derivation = derive_rows(
        shop, "mart.totals", {"sales": sales}, spark=spark, runtime_date=TODAY, parameters={"discount": 2}
    )
    assert "`total`" in derivation.broken[0]


def test_no_rows_are_an_empty_table(shop: Declarations, spark: SparkSession) -> None:
    derivation = derive_rows(
        shop, "mart.totals", {"sales": []}, spark=spark, runtime_date=TODAY, parameters={"discount": 0}
    )
    assert derivation.rows == []


def test_a_null_in_a_required_column_does_not_fit(shop: Declarations, spark: SparkSession) -> None:
    with pytest.raises(DoesNotFit, match="total"):
        derive_rows(
            shop,
            "mart.totals",
            {"sales": [{"day": TODAY}]},
            spark=spark,
            runtime_date=TODAY,
            parameters={"discount": 0},
        )


@pytest.mark.parametrize(
    ("table", "inputs", "named"),
    [
        ("mart.other", {}, "mart.totals"),
        ("mart.totals", {"sale": []}, "sales"),
        ("mart.totals", {"sales": [{"dya": TODAY}]}, "dya"),
    ],
)
def test_a_slip_is_named(
    shop: Declarations, spark: SparkSession, table: str, inputs: dict[str, list[dict[str, object]]], named: str
) -> None:
    with pytest.raises(DeclarationError, match=named):
        derive_rows(shop, table, inputs, spark=spark, runtime_date=TODAY)
