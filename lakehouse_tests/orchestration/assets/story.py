"""A small lakehouse in which tables are computed from others and released: orders of a few shops, no broker."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest
import yaml
from pyspark.sql import SparkSession

from lakehouse.cli.processes.dagster_home import prepare_home
from lakehouse.declarations import arrow_schema
from lakehouse.settings import KafkaSettings, load_settings
from lakehouse_tests.orchestration.assets.house import House, write_conf

NOWHERE = KafkaSettings(bootstrap_servers="127.0.0.1:1")

RAW = '''
"""Orders, as somebody else's job writes them."""

import pandera.pyspark as pa
from pyspark.sql.types import DateType

from lakehouse import Histogram, References, Table


class Orders(pa.DataFrameModel):
    """An order."""

    number: int = pa.Field(gt=0, description="Number of the order")
    shop: str = pa.Field(description="Where it was made")
    day: DateType = pa.Field(description="When")
    amount: int = pa.Field(nullable=True, ge=0, description="Total in euro")


class Shops(pa.DataFrameModel):
    """A shop."""

    shop: str = pa.Field(description="Its name")


shops = Table(name="raw.shops", schema=Shops, description="Shops.", owner="sales", key=("shop",))
orders = Table(
    name="raw.orders",
    schema=Orders,
    description="Orders of all shops.",
    owner="sales",
    key=("number",),
    expects=(
        Histogram(column="amount", unit="euro"),
        References(columns=("shop",), table="raw.shops", severity="warning"),
    ),
)
'''

DERIVED = '''
"""From orders to the best day of each shop: one ancestor, two ways to it."""

import pandera.pyspark as pa
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, LongType

from lakehouse import Derived, Release, Table, derived


class ShopDays(pa.DataFrameModel):
    """A shop on one day."""

    shop: str = pa.Field(description="Where")
    day: DateType = pa.Field(description="When")
    total: LongType = pa.Field(ge=0, description="Euro of all orders that are large enough to count")
    runtime_date: DateType = pa.Field(description="Runtime date of the run")


class ShopSizes(pa.DataFrameModel):
    """A shop as a whole."""

    shop: str = pa.Field(description="Which")
    orders: LongType = pa.Field(ge=1, description="All orders that are large enough to count")
    runtime_date: DateType = pa.Field(description="Runtime date of the run")


class BestDays(pa.DataFrameModel):
    """A shop's best day."""

    shop: str = pa.Field(description="Which")
    best: LongType = pa.Field(ge=0, description="Euro of its best day")
    orders: LongType = pa.Field(ge=1, description="Its orders on all days")
    runtime_date: DateType = pa.Field(description="Runtime date of the run")


def table(name, schema, *key):
    return Table(
        name=name,
        schema=schema,
        description="Computed for the story.",
        owner="sales",
        key=key,
        write_mode="overwrite",
        runtime_date_column="runtime_date",
    )


@derived(table=table("mart.shop_days", ShopDays, "shop", "day"), inputs={"orders": "raw.orders"})
def shop_days(orders, parameters):
    counted = orders.where(F.col("amount") >= parameters["least_amount"])
    return counted.groupBy("shop", "day").agg(F.sum("amount").alias("total"))


shop_sizes = Derived(
    table=table("mart.shop_sizes", ShopSizes, "shop"),
    inputs={"orders": "raw.orders"},
    compute="SELECT shop, count(*) AS orders FROM orders WHERE amount >= :least_amount GROUP BY shop",
)


@derived(
    table=table("mart.best_days", BestDays, "shop"),
    inputs={"days": "mart.shop_days", "sizes": "mart.shop_sizes"},
)
def best_days(days, sizes):
    return days.groupBy("shop").agg(F.max("total").alias("best")).join(sizes.select("shop", "orders"), "shop")


reports = Release(
    name="reports",
    members=("mart.shop_days", "mart.shop_sizes", "mart.best_days"),
    description="What the managers see.",
    owner="sales",
)
'''

ORDERS = [
    {"number": 1, "shop": "Kiel", "day": date(2026, 1, 1), "amount": 40},
    {"number": 2, "shop": "Kiel", "day": date(2026, 1, 2), "amount": 70},
    {"number": 3, "shop": "Kiel", "day": date(2026, 1, 2), "amount": 5},
    {"number": 4, "shop": "Bonn", "day": date(2026, 1, 2), "amount": 30},
    {"number": 5, "shop": "Rome", "day": date(2026, 1, 3), "amount": 900},
    {"number": 6, "shop": "Rome", "day": date(2026, 1, 3), "amount": None},
]


def fill(house: House, table: str, rows: list[dict[str, object]]) -> None:
    """Append rows to a raw table, as a job of somebody else's."""
    declared = house.lake().declared(table)
    data = pa.Table.from_pylist(rows, schema=arrow_schema(declared))

    @dg.asset(name="from_elsewhere")
    def from_elsewhere(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        return house.lake().write(context, table, data)

    assert dg.materialize([from_elsewhere], instance=house.instance).success


@contextmanager
def new_story(root: Path, jars: Path, environ: pytest.MonkeyPatch) -> Iterator[House]:
    """Build it: two raw tables with rows, three derived tables that nobody has computed yet, and their release."""
    conf = write_conf(root, NOWHERE, jars)
    settings = yaml.safe_load((conf / "lakehouse.yaml").read_text())
    (conf / "lakehouse.yaml").write_text(yaml.safe_dump({**settings, "parameters": {"least_amount": 10}}))
    (conf / "declarations" / "raw.py").write_text(RAW.lstrip())
    (conf / "declarations" / "derived.py").write_text(DERIVED.lstrip())
    for name in ("LAKEHOUSE_CONF", "LAKEHOUSE_DECLARATIONS", "DAGSTER_HOME"):
        environ.setenv(name, "")  # so that what is set below is undone
    prepare_home(load_settings(conf, {}))
    with dg.DagsterInstance.get() as instance:
        house = House(root, "", NOWHERE, instance)
        house.lake().ensure(sorted(house.lake().declarations.tables))
        fill(house, "raw.shops", [{"shop": "Kiel"}, {"shop": "Bonn"}])
        fill(house, "raw.orders", ORDERS)
        yield house


@pytest.fixture
def story(tmp_path: Path, jars: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """The lakehouse of the story, in the test session's driver; commands find it as well."""
    with new_story(tmp_path, jars, monkeypatch) as house:
        yield house
