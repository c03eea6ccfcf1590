"""Three catalogs in one step: read from two, with the credentials of each, and written to the third."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pyspark.sql.types as T  # noqa: N812
import pytest
from pydantic import SecretStr
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from lakehouse.declarations import Derived
from lakehouse.engines.spark import spark_session
from lakehouse.engines.spark.catalog import show_table
from lakehouse.engines.spark.naming import quoted_table
from lakehouse.proofs.lineage.audit import audit_derived
from lakehouse.proofs.lineage.newer import NewerRows
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.history import ancestry
from lakehouse.settings import CatalogSettings, Settings
from lakehouse.steps.derived.inputs.agreement import InputsDisagree
from lakehouse.steps.derived.inputs.pins import Pin
from lakehouse.steps.derived.refusals import InputMissing
from lakehouse_tests.fixtures.lakes import Lake, new_lake
from lakehouse_tests.fixtures.postgres import Postgres
from lakehouse_tests.fixtures.rest_catalog import RestCatalog
from lakehouse_tests.steps.derived.workshop import DAY, Workshop, make_workshop, no_spark, table_of

pytestmark = [pytest.mark.spark, pytest.mark.rest, pytest.mark.slow]
LOGIN = "planted-secret-of-aws"
CITIES = {"city": T.StringType(), "total": T.LongType()}


def by_city(sales: DataFrame, shops: DataFrame) -> DataFrame:
    """Join what is in two catalogs."""
    return sales.join(shops, "shop").groupBy("city").agg(f.sum("amount").alias("total"))


@dataclass
class Three:
    """The own lakehouse, and those of two other catalogs, each with a warehouse and credentials of its own."""

    own: Workshop
    aws: Workshop
    azure: Workshop

    @property
    def sales(self) -> str:
        """The table in REST, as the own lakehouse calls it."""
        return f"aws:{self.aws.name('sales')}"

    @property
    def shops(self) -> str:
        """The table in PostgreSQL."""
        return f"azure:{self.azure.name('shops')}"

    def cities(self, **inputs: str) -> Derived:
        """Declare the table that is written to SQLite."""
        derived = Derived(
            table=table_of(self.own.name("cities"), CITIES, derived=True),
            inputs={"sales": self.sales, "shops": self.shops, **inputs},
            compute=by_city,
        )
        self.own.declare(derived.table)
        self.own.declarations.derived[derived.name] = derived
        return derived

    def where(self) -> list[str]:
        """Where the metadata of the other catalogs' tables are: another place after every commit."""
        return [shop.load(table).metadata_location for shop in (self.aws, self.azure) for table in ("sales", "shops")]


def now(run: str = "run") -> Pin:
    """Of a run that begins now."""
    return Pin(run, time.time_ns() // 1_000_000)


def planted(rest: RestCatalog) -> CatalogSettings:
    """The REST catalog, for a client that has to log in."""
    properties = {"credential": SecretStr(f"client:{LOGIN}")}
    return CatalogSettings(
        type="rest",
        uri=rest.uri,
        warehouse=rest.warehouse,
        oauth2_server_uri=f"{rest.uri}/v1/oauth/tokens",
        properties=properties,
    )


@pytest.fixture
def others(
    request: pytest.FixtureRequest, rest_catalog: RestCatalog, postgres: Postgres, tmp_path: Path
) -> Iterator[dict[str, Lake]]:
    with postgres.new_database("azure") as address:
        settings = CatalogSettings(type="sql", uri=address, warehouse=(tmp_path / "azure").as_uri())
        yield {
            "aws": new_lake(request, planted(rest_catalog), rest_catalog),
            "azure": new_lake(request, settings, None),
        }


def three(sql_lake: Lake, others: Mapping[str, Lake], settings: Settings) -> Three:
    """Make all, with sales in both others and shops in the second."""
    chosen = {name: lake.settings for name, lake in others.items()}
    own = Workshop(
        open_catalog(sql_lake.settings, chosen),
        sql_lake.settings,
        sql_lake.namespace,
        lambda catalog: spark_session(
            settings.model_copy(update={"catalog": catalog, "other_catalogs": chosen}), app_name="test"
        ),
    )
    built = Three(own, *(make_workshop(lake, no_spark) for lake in others.values()))
    built.azure.write("shops", [{"shop": "Kiel", "city": "K"}, {"shop": "Bonn", "city": "B"}])
    return built


@pytest.fixture
def houses(sql_lake: Lake, others: dict[str, Lake], spark: SparkSession, spark_settings: Settings) -> Three:
    del spark
    return three(sql_lake, others, spark_settings)


def test_two_are_read_and_the_third_is_written_and_everything_says_from_where(houses: Three) -> None:
    derived, before = houses.cities(), houses.where()
    report = houses.own.run(derived, pin=now())
    assert houses.own.rows("cities") == [("B", 4), ("K", 3)]
    read = {houses.sales: houses.aws.head("sales"), houses.shops: houses.azure.head("shops")}
    seal, statement = houses.own.newest_seal("cities")
    assert seal.inputs == read
    assert statement.scanned == read
    assert statement.declared == {"sales": houses.sales, "shops": houses.shops}
    assert statement.column_lineage["total"] == ((houses.sales, "amount"),)
    assert {input_.name: input_.dated for input_ in report.inputs.values()} == {
        houses.sales: False,
        houses.shops: False,
    }
    proof = audit_derived(lambda name: houses.own.catalog.load_table(tuple(name.split("."))), derived)
    assert (proof.findings, proof.undecided, proof.readings) == ((), (), 3)
    assert houses.where() == before, "nothing is written there, not even a tag"


def test_on_connect_as_well(sql_lake: Lake, others: dict[str, Lake], connect_settings: Settings) -> None:
    houses = three(sql_lake, others, connect_settings)
    houses.own.run(houses.cities(), pin=now())
    assert houses.own.rows("cities") == [("B", 4), ("K", 3)]
    assert houses.own.newest_seal("cities")[1].scanned == houses.own.newest_seal("cities")[0].inputs


def test_a_run_reads_what_was_there_when_it_began_and_an_older_one_replaces_nothing(houses: Three) -> None:
    derived, first = houses.cities(), now("first")
    houses.aws.sell(("Bonn", 40))
    houses.own.run(derived, run="first", pin=first)
    assert houses.own.rows("cities") == [("B", 4), ("K", 3)]
    houses.own.run(derived, run="second", pin=now("second"))
    assert houses.own.rows("cities") == [("B", 44), ("K", 3)]
    with pytest.raises(NewerRows, match=f"were computed from {houses.sales} at snapshot"):
        houses.own.run(derived, run="again", pin=first)
    assert houses.own.rows("cities") == [("B", 44), ("K", 3)]


def test_what_another_lakehouse_has_computed_has_to_be_of_this_runs_date(houses: Three) -> None:
    totals = houses.azure.derived("totals")
    houses.azure.computed(totals, day="2013-05-13")
    derived = replace(houses.cities(), inputs={"sales": houses.sales, "shops": f"azure:{totals.name}"})
    houses.own.declarations.derived[derived.name] = derived
    with pytest.raises(InputsDisagree, match=f"azure:{totals.name}: its runtime date is 2013-05-13"):
        houses.own.run(derived, pin=now())
    houses.azure.computed(totals, day=DAY, run="today")

    def compute(sales: DataFrame, shops: DataFrame) -> DataFrame:
        return shops.join(sales.select("shop").distinct(), "shop").selectExpr("shop AS city", "1L AS total")

    work = replace(derived, compute=compute)
    houses.own.declarations.derived[derived.name] = work
    houses.own.run(work, pin=now())
    assert houses.own.newest_seal("cities")[1].dates == {houses.sales: "", f"azure:{totals.name}": DAY}


def test_a_table_that_is_not_there_is_refused_by_its_name(houses: Three) -> None:
    derived = houses.cities(shops=f"azure:{houses.azure.namespace}.shoops")
    with pytest.raises(InputMissing, match=r"azure:\w+\.shoops does not exist"):
        houses.own.run(derived, pin=now())


def test_no_login_of_another_catalog_is_in_a_plan_in_the_settings_shown_or_in_a_seal(
    houses: Three, others: dict[str, Lake]
) -> None:
    derived = houses.cities()
    houses.own.run(derived, pin=now())
    password = str(others["azure"].settings.address).partition("source:")[2].partition("@")[0]
    assert len(password) > 20

    def shown(spark: SparkSession) -> str:
        shops = houses.azure.load("shops")
        show_table(spark, houses.shops, shops.metadata_location)
        tables = f"{quoted_table(houses.sales)} JOIN {quoted_table(houses.shops)} USING (shop)"
        rows = [*spark.sql(f"EXPLAIN EXTENDED SELECT * FROM {tables}").collect(), *spark.sql("SET").collect()]
        return str(rows)

    printed = houses.own.spark(shown)
    assert "catalog.aws" in printed
    printed += str([snapshot.summary for snapshot in ancestry(houses.own.load("cities"), houses.own.head("cities"))])
    printed += str(houses.own.messages)
    assert LOGIN not in printed
    assert password not in printed
