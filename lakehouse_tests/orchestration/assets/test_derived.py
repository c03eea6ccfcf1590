"""Derived tables in Dagster: a chain in one run, a refusal that a person understands, partitions, and a lost event."""

import re
import shlex
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest
import yaml
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import lakehouse.orchestration.assets.derived
from lakehouse.cli import app
from lakehouse.orchestration.run_context import BACKFILL_TAG, PARAMETERS_TAG, RUNTIME_DATE_TAG
from lakehouse.protocol.errors import Superseded
from lakehouse.protocol.seals.history import last_seal
from lakehouse.settings import KafkaSettings
from lakehouse_tests.orchestration.assets.house import House, materializations, write_conf

pytestmark = pytest.mark.spark
NOWHERE = KafkaSettings(bootstrap_servers="127.0.0.1:1")
DAY, OTHER_DAY = "2013-05-14", "2013-05-13"
DERIVED = ("mart.days", "mart.totals", "mart.best")

DECLARED = '''
"""Sales, and what is derived from them."""

from datetime import date

import pandera.pyspark as pa
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, LongType

from lakehouse import ByDay, Derived, Table, derived


class Sales(pa.DataFrameModel):
    """A sale."""

    shop: str = pa.Field(description="Where")
    day: DateType = pa.Field(description="When")
    amount: LongType = pa.Field(description="How much")
    buyer: str = pa.Field(nullable=True, description="Who", metadata={"sensitive": True})


class Days(pa.DataFrameModel):
    """A shop on a day."""

    shop: str = pa.Field(description="Where")
    day: DateType = pa.Field(description="When")
    total: LongType = pa.Field(description="How much")
    runtime_date: DateType = pa.Field(description="Runtime date of the run")


class Totals(pa.DataFrameModel):
    """A shop."""

    shop: str = pa.Field(description="Where")
    total: LongType = pa.Field(ge=0, description="How much")
    runtime_date: DateType = pa.Field(description="Runtime date of the run")


class Best(pa.DataFrameModel):
    """A shop and its best day."""

    shop: str = pa.Field(description="Where")
    total: LongType = pa.Field(description="How much")
    best: LongType = pa.Field(description="How much on its best day")
    runtime_date: DateType = pa.Field(description="Runtime date of the run")


def table(name, schema, **more):
    return Table(
        name=name,
        schema=schema,
        description="Of a test.",
        owner="tests",
        **{"write_mode": "overwrite", "runtime_date_column": "runtime_date", **more},
    )


sales = table("raw.sales", Sales, write_mode="append", runtime_date_column=None)


@derived(
    table=table("mart.days", Days, partitioning=("day(day)",)),
    inputs={"sales": "raw.sales"},
    partitions=ByDay(column="day", start=date(2013, 1, 1), end=date(2013, 1, 4)),
)
def days(sales):
    return sales.groupBy("shop", "day").agg(F.sum("amount").alias("total"))


@derived(table=table("mart.totals", Totals), inputs={"sales": "raw.sales"})
def totals(sales, parameters):
    return sales.where(F.col("amount") >= parameters["least"]).groupBy("shop").agg(F.sum("amount").alias("total"))


best = Derived(
    table=table("mart.best", Best),
    inputs={"days": "mart.days", "totals": "mart.totals"},
    compute="""
        SELECT shop, totals.total, max(days.total) AS best
        FROM totals JOIN days USING (shop) GROUP BY shop, totals.total
    """,
)
'''


@pytest.fixture
def shop(tmp_path: Path, jars: Path, spark: SparkSession) -> Iterator[House]:
    """A lakehouse without a broker: one raw table with three days of sales, three derived tables."""
    conf = write_conf(tmp_path, NOWHERE, jars)
    settings = yaml.safe_load((conf / "lakehouse.yaml").read_text())
    (conf / "lakehouse.yaml").write_text(yaml.safe_dump({**settings, "parameters": {"least": 0}}))
    with dg.DagsterInstance.ephemeral() as instance:
        house = House(tmp_path, "", NOWHERE, instance)
        house.declare("sales", DECLARED)
        sell(house, *((shop, n, n) for n in (1, 2, 3) for shop in ("Bonn", "Kiel")))
        yield house


def sell(house: House, *sales: tuple[str, int, int]) -> None:
    rows = [{"shop": s, "day": date(2013, 1, day), "amount": a, "buyer": "Secret"} for s, day, a in sales]

    @dg.asset
    def till(context: dg.AssetExecutionContext) -> dg.MaterializeResult[Any]:
        return house.lake().write(context, "raw.sales", pa.Table.from_pylist(rows))

    assert dg.materialize([till], instance=house.instance).success


def run(house: House, *keys: str, day: str = DAY, **tags: str) -> dg.ExecuteInProcessResult:
    return house.run(*(keys or DERIVED), tags={RUNTIME_DATE_TAG: day, **tags})


def rows(house: House, name: str) -> list[tuple[Any, ...]]:
    records = house.lake().arrow(name).to_pylist()
    return sorted(tuple(row[c] for c in row if c not in ("runtime_date", "day")) for row in records)


def failure(result: dg.ExecuteInProcessResult) -> dg.DagsterEvent:
    [failed] = result.get_step_failure_events()
    return failed


def test_a_chain_is_computed_in_one_run_and_each_table_tells_from_what(shop: House) -> None:
    result = run(shop, **{PARAMETERS_TAG: '{"least": 2}'})
    assert result.success
    assert rows(shop, "mart.best") == [("Bonn", 5, 3), ("Kiel", 5, 3)]
    made = materializations(result)
    assert set(DERIVED) <= set(made)
    metadata = {key: value.value for key, value in made["mart.best"].metadata.items()}
    lake = shop.lake()
    inputs = {record.data["input"]: record.data for record in metadata["inputs"].records}
    assert {name: (origin["date"], origin["run"]) for name, origin in inputs.items()} == {
        "mart.days": (DAY, result.run_id),
        "mart.totals": (DAY, result.run_id),
    }
    assert inputs["mart.totals"]["snapshot"] == str(lake.pin("mart.totals")["mart.totals"].snapshot_id)
    assert metadata["snapshot id"] == str(lake.pin("mart.best")["mart.best"].snapshot_id)
    assert metadata["runtime date"] == DAY
    assert metadata["parameters"] == {"least": 2}
    assert (metadata["rows written"], metadata["dagster/row_count"]) == (2, 2)
    deps = metadata["dagster/column_lineage"].deps_by_column
    assert {(d.asset_key.to_user_string(), d.column_name) for d in deps["best"]} == {("mart/days", "total")}
    assert metadata["dagster/column_schema"].columns[0].name == "shop"
    assert (made["mart.best"].tags or {})[RUNTIME_DATE_TAG] == DAY
    days = {key: value.value for key, value in made["mart.days"].metadata.items()}
    assert [record.data["date"] for record in days["inputs"].records] == ["dateless"]
    assert "Secret" not in str([materialization.metadata for materialization in made.values()])


def test_the_graph_is_as_declared_and_each_table_has_a_pool_and_a_version(shop: House) -> None:
    defs = shop.defs()
    node = defs.resolve_asset_graph().get(dg.AssetKey(["mart", "best"]))
    assert {key.to_user_string() for key in node.parent_keys} == {"mart/days", "mart/totals"}
    assert node.pools == {"derive_mart__best"}
    assert {"iceberg", "spark"} <= node.kinds
    before = node.code_version
    shop.declare("sales", DECLARED.replace("max(days.total)", "min(days.total)"))
    changed = shop.defs().resolve_asset_graph()
    assert changed.get(dg.AssetKey(["mart", "best"])).code_version != before
    days = dg.AssetKey(["mart", "days"])
    assert changed.get(days).code_version == defs.resolve_asset_graph().get(days).code_version
    assert changed.get(days).partitions_def == dg.DailyPartitionsDefinition("2013-01-01", "2013-01-04")


def test_a_middle_table_of_another_date_stops_the_next_run_and_the_named_command_repairs_it(
    shop: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(shop).success
    assert run(shop, "mart.totals", day=OTHER_DAY, **{BACKFILL_TAG: "Monday again"}).success
    refused = run(shop, "mart.best")
    assert not refused.success
    failed = failure(refused).step_failure_data
    assert failed.user_failure_data is not None
    assert "mart.totals: its runtime date is 2013-05-13" in (failed.user_failure_data.description or "")
    shown: Any = failed.user_failure_data.metadata["inputs"].value
    assert [record.data["date"] for record in shown.records] == [DAY, OTHER_DAY]
    before = shop.lake().pin("mart.best")["mart.best"].snapshot_id
    command = re.search(r"`(lakehouse .*?)`", failed.user_failure_data.description or "")
    assert command
    monkeypatch.setenv("DAGSTER_HOME", "")
    monkeypatch.setenv("LAKEHOUSE_CONF", "")
    monkeypatch.setenv("LAKEHOUSE_DECLARATIONS", "")
    shop.have_own_broker()
    done = CliRunner().invoke(app, ["--conf", str(shop.conf), *shlex.split(command[1])[1:]])
    assert done.exit_code == 0, done.output
    assert not shop.settings.state.kafka.exists(), "no topic is read, so no broker is started"
    seal = last_seal(shop.lake().pin("mart.best")["mart.best"].table)
    assert seal is not None
    assert seal.snapshot_id != before
    assert seal.seal.runtime_date == DAY
    assert rows(shop, "mart.best") == [("Bonn", 6, 3), ("Kiel", 6, 3)]


def test_the_same_date_with_other_parameters_stops_as_well_and_what_comes_after_is_skipped(shop: House) -> None:
    assert run(shop).success
    assert run(shop, "mart.totals", **{PARAMETERS_TAG: '{"least": 2}'}).success
    shop.declare("more", AFTER)
    retried = dg.define_asset_job(
        "retried",
        dg.AssetSelection.assets(["mart", "best"], ["mart", "after"]),
        op_retry_policy=dg.RetryPolicy(max_retries=2),
    )
    defs = dg.Definitions.merge(shop.defs(), dg.Definitions(jobs=[retried]))
    refused = defs.resolve_job_def("retried").execute_in_process(
        instance=shop.instance, raise_on_error=False, tags={RUNTIME_DATE_TAG: DAY}
    )
    assert not refused.success
    assert failure(refused).step_key == "derive_mart__best"
    assert not [event for event in refused.all_events if event.is_step_up_for_retry]
    assert not materializations(refused)
    assert not [event for event in refused.get_step_success_events() if event.step_key == "derive_mart__after"]
    goes_ahead = run(shop, "mart.best", **{BACKFILL_TAG: "to compare"})
    assert goes_ahead.success
    assert materializations(goes_ahead)["mart.best"].metadata["backfill"].value == "to compare"


AFTER = '''
"""What comes after the best."""

import pandera.pyspark as pa
from pyspark.sql.types import DateType

from lakehouse import Derived, Table


class After(pa.DataFrameModel):
    """A shop."""

    shop: str = pa.Field(description="Which")
    runtime_date: DateType = pa.Field(description="Runtime date of the run")


after = Derived(
    table=Table(
        name="mart.after",
        schema=After,
        description="Of a test.",
        owner="tests",
        write_mode="overwrite",
        runtime_date_column="runtime_date",
    ),
    inputs={"best": "mart.best"},
    compute="SELECT shop FROM best",
)
'''


def test_a_backfill_of_partitions_is_one_run_that_leaves_the_others_alone(shop: House) -> None:
    day = {"dagster/partition": "2013-01-02"}
    assert run(shop, "mart.days", **day).success
    assert rows(shop, "mart.days") == [("Bonn", 2), ("Kiel", 2)]
    several = {
        "dagster/asset_partition_range_start": "2013-01-01",
        "dagster/asset_partition_range_end": "2013-01-03",
    }
    sell(shop, ("Rome", 2, 9))
    filled = run(shop, "mart.days", **several)
    assert filled.success
    assert len(rows(shop, "mart.days")) == 7
    materializations = [event.materialization for event in filled.get_asset_materialization_events()]
    assert sorted(materialization.partition or "" for materialization in materializations) == [
        "2013-01-01",
        "2013-01-02",
        "2013-01-03",
    ]
    assert materializations[0].metadata["partitions"].value == "2013-01-01..2013-01-03"


ENDLESS = (
    DECLARED.partition('@derived(table=table("mart.totals"')[0]
    .replace("ByDay", "ByMonth")
    .replace(", end=date(2013, 1, 4)", "")
    .replace("day(day)", "month(day)")
)


def test_a_backfill_of_all_partitions_without_an_end_is_of_one_version(shop: House) -> None:
    shop.declare("sales", ENDLESS)
    assert run(shop, "mart.days").success
    sell(shop, ("Rome", 2, 9))
    last = dg.MonthlyPartitionsDefinition("2013-01-01").get_last_partition_key()
    assert last is not None
    every = {"dagster/asset_partition_range_start": "2013-01-01", "dagster/asset_partition_range_end": last}
    filled = run(shop, "mart.days", **every)
    assert filled.success, "the sensor asks for it so when sales have come; the check of the vintage would stop it"
    assert len(rows(shop, "mart.days")) == 7
    partitions = [event.materialization.partition for event in filled.get_asset_materialization_events()]
    assert len(partitions) == len(set(partitions)) > 100


def test_after_a_run_of_the_whole_table_no_partition_is_missing(shop: House) -> None:
    assert run(shop, "mart.days").success
    materialized = shop.instance.get_materialized_partitions(dg.AssetKey(["mart", "days"]))
    assert materialized == {"2013-01-01", "2013-01-02", "2013-01-03"}


def test_a_lost_event_costs_nothing_but_another_computation(shop: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKEHOUSE_FAILPOINTS", "dagster.derived.before=fail")
    lost = run(shop, "mart.totals")
    assert not lost.success
    assert not materializations(lost)
    assert rows(shop, "mart.totals") == [("Bonn", 6), ("Kiel", 6)], "it was published"
    monkeypatch.delenv("LAKEHOUSE_FAILPOINTS")
    again = run(shop, "mart.totals")
    assert "computed again, as asked" in str(materializations(again)["mart.totals"].metadata["notes"].value)
    assert rows(shop, "mart.totals") == [("Bonn", 6), ("Kiel", 6)]


def test_who_was_superseded_succeeds_and_materializes_nothing(shop: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_late(_: object) -> None:
        raise Superseded("mart.totals: attempt x published snapshot 1 first.")

    monkeypatch.setattr(lakehouse.orchestration.assets.derived, "derive", too_late)
    result = run(shop, "mart.totals")
    assert result.success
    assert not materializations(result)


def test_a_tag_that_sets_no_parameter_stops_the_run(shop: House) -> None:
    refused = run(shop, "mart.totals", **{PARAMETERS_TAG: '{"lest": 2}'})
    error = failure(refused).step_failure_data.error
    assert error is not None
    assert "lest is not declared (there is least)" in error.to_string()
