"""A user's own asset and check: the lines of docs/how-to/own-asset.md and rules.md are run as they stand there."""

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame

from lakehouse.declarations import OWN_TABLES, arrow_schema
from lakehouse.orchestration.resources import DoesNotFit, LakehouseSpark, NotDeclared, RulesBroken, WrittenByStream
from lakehouse.orchestration.resources.staging import stage_arrow
from lakehouse.orchestration.run_context import RUNTIME_DATE_TAG
from lakehouse.protocol.commit import publish, seal_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.seal import Seal
from lakehouse_tests.fixtures.broker import REPOSITORY
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.orchestration.assets.house import House, materializations

pytestmark = pytest.mark.kafka


def shown(page: str) -> list[str]:
    """The Python blocks of a how-to page."""
    return re.findall(r"```python\n(.*?)```", (REPOSITORY / "docs" / "how-to" / page).read_text(), re.DOTALL)


CODE = shown("own-asset.md")
SPARK_IMPORTS = "from pyspark.sql import functions as F\n\nfrom lakehouse import LakehouseSpark\n"


def fly(house: House) -> None:
    """Put three flights into raw.flights; how they came there is no matter here."""
    shutil.copy(REPOSITORY / "conf" / "declarations" / "streams" / "flights.py", _target(house, "streams", "flights"))
    for name in ("flights", "planes", "airports", "airlines"):  # which flights refer to
        shutil.copy(REPOSITORY / "conf" / "declarations" / "tables" / f"{name}.py", _target(house, "tables", name))
    lake = house.lake()
    lake.ensure(["raw.flights", "quarantine.flights"])
    table = lake.declared("raw.flights")
    columns: dict[str, list[object]] = {"origin": ["EWR", "EWR", "JFK"], "month": [1, 1, 1], "day": [1, 1, 2]}
    moment = datetime(2013, 1, 1, tzinfo=UTC)
    for column in arrow_schema(table):
        filler = moment if pa.types.is_timestamp(column.type) else 2013 if pa.types.is_integer(column.type) else "XX"
        columns.setdefault(column.name, [filler] * 3)
    base = read_bases(lake.catalog, [table.name])[table.name]
    attempt = Attempt("test", "fly")
    stage_arrow(lake.catalog, pa.table(columns, schema=arrow_schema(table)), base, attempt, replacing=False)
    seal = Seal.of(attempt, "write", statement={}, previous=None)
    publish(lake.catalog, [seal_branch(lake.catalog, base, attempt, seal)])


def _target(house: House, kind: str, name: str) -> Path:
    return house.conf / "declarations" / f"{kind}_{name}.py"


def busy(house: House) -> dict[tuple[str, int, int], int]:
    rows = house.lake().arrow("mart.busy_days").to_pylist()
    return {(row["origin"], row["month"], row["day"]): row["flights"] for row in rows}


@pytest.fixture
def mart(house: House) -> House:
    fly(house)
    house.declare("busy_days", CODE[0])
    return house


def test_the_documented_asset_reads_and_writes_through_the_protocol(mart: House) -> None:
    result = mart.run("mart.busy_days", tags={RUNTIME_DATE_TAG: "2013-05-14"})
    assert result.success
    assert busy(mart) == {("EWR", 1, 1): 2, ("JFK", 1, 2): 1}
    pinned = mart.lake().pin("mart.busy_days", "raw.flights")
    assert pinned["mart.busy_days"].sealed is not None
    seal = pinned["mart.busy_days"].sealed.seal
    assert (seal.kind, seal.run_id, seal.runtime_date) == ("write", result.run_id, "2013-05-14")
    assert seal.inputs == {"raw.flights": pinned["raw.flights"].snapshot_id}
    made = materializations(result)["mart.busy_days"]
    assert made.metadata["dagster/row_count"].value == 2
    assert (made.tags or {})[RUNTIME_DATE_TAG] == "2013-05-14"
    assert not [ref for ref in pinned["mart.busy_days"].table.refs() if ref != "main"], "no branch is left"


def test_overwriting_again_leaves_the_same_rows(mart: House) -> None:
    assert mart.run("mart.busy_days").success
    assert mart.run("mart.busy_days").success
    assert len(busy(mart)) == 2


@pytest.mark.spark
def test_the_documented_spark_asset_does_the_same(mart: House, spark: object) -> None:
    declaration = CODE[0].split("@dg.asset")[0]
    mart.declare("busy_days", SPARK_IMPORTS + declaration + CODE[1])
    assert mart.run("mart.busy_days").success
    assert mart.run("mart.busy_days").success
    assert busy(mart) == {("EWR", 1, 1): 2, ("JFK", 1, 2): 1}


def test_the_documented_check_judges_the_snapshot_that_it_names_and_blocks(mart: House) -> None:
    mart.declare("busy_days", CODE[0] + shown("rules.md")[-1])
    result = mart.run("mart.busy_days")
    [verdict] = [c for c in result.get_asset_check_evaluations() if c.check_name == "every_day_is_there"]
    assert (verdict.passed, verdict.blocking) == (False, True)
    assert verdict.metadata["missing days"].value == str(list(range(3, 32)))
    judged = verdict.metadata["snapshot id"].value
    assert judged == str(mart.lake().pin("mart.busy_days")["mart.busy_days"].snapshot_id)


def attempt(
    house: House, name: str, data: pd.DataFrame | pa.Table | DataFrame, mode: str = "append"
) -> dg.ExecuteInProcessResult:
    """Write from an asset of the test's own."""

    @dg.asset
    def writer(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        return house.lake().write(context, name, data, mode=mode)  # pyright: ignore[reportArgumentType]

    return dg.materialize([writer], instance=house.instance, raise_on_error=True)


GOOD = pd.DataFrame({"origin": ["EWR"], "month": [1], "day": [1], "flights": [2]})


def test_appending_adds_rows_in_arrow_or_pandas(mart: House) -> None:
    attempt(mart, "mart.busy_days", GOOD)
    attempt(mart, "mart.busy_days", pa.table({"flights": [3], "day": [2], "month": [1], "origin": ["EWR"]}))
    assert busy(mart) == {("EWR", 1, 1): 2, ("EWR", 1, 2): 3}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (GOOD.drop(columns="day"), "'day' is missing"),
        (GOOD.assign(extra=1), "'extra' is unknown"),
        (GOOD.assign(day="first"), "'day' is"),
        (GOOD.assign(origin=[None]), "'origin' holds 1 null"),
        (GOOD.assign(day=2**40), "'day' is int64"),
    ],
)
def test_data_that_do_not_fit_are_refused_by_column_without_a_value(
    mart: House, data: pd.DataFrame, message: str
) -> None:
    with pytest.raises(DoesNotFit, match=re.escape(message)) as refused:
        attempt(mart, "mart.busy_days", data)
    assert "first" not in str(refused.value)
    assert mart.lake().arrow("mart.busy_days").num_rows == 0


def test_rows_that_break_a_blocking_rule_are_refused_before_anybody_sees_them(mart: House) -> None:
    with pytest.raises(RulesBroken, match="1 rows break a blocking rule"):
        attempt(mart, "mart.busy_days", GOOD.assign(flights=0))
    assert mart.lake().arrow("mart.busy_days").num_rows == 0


@pytest.mark.spark
def test_rows_of_a_spark_frame_are_judged_as_well(mart: House, spark_on: SparkOn) -> None:
    with spark_on(mart.settings.catalog) as session, pytest.raises(RulesBroken, match="2 rows"):
        attempt(mart, "mart.busy_days", session.createDataFrame(pd.concat([GOOD, GOOD]).assign(flights=0)))
    assert mart.lake().arrow("mart.busy_days").num_rows == 0


def test_a_table_has_one_writer(mart: House) -> None:
    with pytest.raises(WrittenByStream, match="flights"):
        attempt(mart, "raw.flights", GOOD)


@pytest.mark.parametrize("name", sorted(OWN_TABLES))
def test_what_the_lakehouse_keeps_about_tables_is_its_own(mart: House, name: str) -> None:
    with pytest.raises(WrittenByStream, match=f"{name} is written by the lakehouse itself"):
        attempt(mart, name, GOOD)
    assert not mart.lake().catalog.table_exists(name)


def test_what_nobody_declared_is_not_written(mart: House) -> None:
    with pytest.raises(NotDeclared, match=r"mart\.secret"):
        attempt(mart, "mart.secret", GOOD)


def test_a_step_reads_one_moment_and_the_next_step_the_next(mart: House) -> None:
    lake = mart.lake()
    counts: list[int] = []

    def read_twice() -> None:
        counts.append(lake.arrow("mart.busy_days").num_rows)
        attempt(mart, "mart.busy_days", GOOD)
        counts.append(lake.arrow("mart.busy_days").num_rows)

    @dg.asset
    def first() -> None:
        read_twice()

    @dg.asset(deps=[first])
    def second() -> None:
        counts.append(lake.arrow("mart.busy_days").num_rows)

    lake.ensure(["mart.busy_days"])
    dg.materialize([first, second], instance=mart.instance)
    assert counts == [0, 0, 1]


def test_the_spark_resource_has_dagster_pysparks_interface_and_holds_no_settings(mart: House) -> None:
    resource = LakehouseSpark(conf=str(mart.conf))
    assert isinstance(resource, dg.ConfigurableResource)
    assert resource.spark_config == {}
    with pytest.raises(AttributeError, match="session"):
        _ = resource.spark_context
