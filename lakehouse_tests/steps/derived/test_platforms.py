"""The same steps on Spark Connect: full and incremental, a function and SQL, a partition, a refusal by column."""

from datetime import date

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest
from pyspark.sql import DataFrame, SparkSession

from lakehouse.declarations import ByMonth, ByValue
from lakehouse.declarations.columns.error import DoesNotFit
from lakehouse.engines.spark import spark_session
from lakehouse.settings import Settings
from lakehouse.steps.derived.refusals import UnknownPartition
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.derived.workshop import TOTALS, Workshop, make_workshop, total

pytestmark = pytest.mark.spark


@pytest.fixture
def remote(sql_lake: Lake, connect_settings: Settings, spark: SparkSession) -> Workshop:
    """The workshop with its sessions on a Connect server; a classic driver in the same process is no obstacle."""
    del spark
    return make_workshop(
        sql_lake, lambda catalog: spark_session(connect_settings.model_copy(update={"catalog": catalog}), app_name="t")
    )


def test_a_function_and_a_sql_text(remote: Workshop) -> None:
    def dated(sales: DataFrame, runtime_date: date, parameters: dict[str, int]) -> DataFrame:
        assert runtime_date == date(2013, 5, 14)
        return total(sales.where(sales["amount"] >= parameters["least"]))

    remote.run(remote.derived("totals", compute=dated), parameters={"least": 2})
    assert remote.rows("totals") == [("Bonn", 4), ("Kiel", 2)]
    statement = remote.newest_seal("totals")[1]
    assert statement.scanned == {remote.name("sales"): remote.head("sales")}
    assert statement.column_lineage["total"] == ((remote.name("sales"), "amount"),)
    text = "SELECT shop, total FROM totals WHERE total >= 2 * :least AND :runtime_date IS NOT NULL"
    remote.run(remote.derived("large", compute=text, inputs={"totals": "totals"}), parameters={"least": 2})
    assert remote.rows("large") == [("Bonn", 4)]


def test_increments(remote: Workshop) -> None:
    columns = {"shop": T.StringType(), "amount": T.LongType()}
    derived = remote.derived("copied", columns, "SELECT shop, amount FROM sales", mode="incremental", follows="sales")
    remote.run(derived, run="one")
    remote.sell(("Rome", 7))
    assert remote.run(derived, run="two").statement.added == 1
    assert remote.run(derived, run="three").statement.added == 0
    assert remote.rows("copied") == [("Bonn", 4), ("Kiel", 1), ("Kiel", 2), ("Rome", 7)]


def test_partitions(remote: Workshop) -> None:
    by = ByValue(column="shop", values=("Kiel", "Bonn"))
    derived = remote.derived("shops_", TOTALS, partitions=by, table={"partitioning": ("shop",)})
    remote.run(derived, keys=["Kiel"])
    remote.run(derived, keys=["Bonn"])
    remote.run(derived, keys=["Kiel"])
    assert remote.rows("shops_") == [("Bonn", 4), ("Kiel", 3)]
    remote.sell(("Rome", 7))
    with pytest.raises(UnknownPartition):
        remote.run(derived, run="next")
    months = ByMonth(column="day", start=date(2013, 1, 1))
    layout = {"partitioning": ("month(day)",)}
    text = "SELECT make_date(2013, 1 + id, 1) AS day FROM sales"
    other = remote.derived("months", {"day": T.DateType()}, text, partitions=months, table=layout)
    remote.run(other, keys=["2013-02-01", "2013-03-01"])
    assert remote.rows("months") == [(date(2013, 2, 1),), (date(2013, 3, 1),)]


def test_a_null_in_a_required_column_is_named(remote: Workshop) -> None:
    required = {"shop": pandera.Column(T.StringType(), nullable=False), "total": T.LongType()}
    text = "SELECT nullif(shop, 'Kiel') AS shop, amount AS total FROM sales"
    with pytest.raises(DoesNotFit, match="column 'shop' holds a null"):
        remote.run(remote.derived("totals", required, text))
