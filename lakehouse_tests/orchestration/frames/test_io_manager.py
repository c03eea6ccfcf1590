"""Plain assets store frames by the write protocol and load them as what they ask for, pinned."""

from pathlib import Path
from typing import Any

import dagster as dg
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame

from lakehouse import Lake
from lakehouse.orchestration.frames import frame_io_manager
from lakehouse.protocol.seals.history import head_of, seals
from lakehouse.settings import KafkaSettings, load_settings
from lakehouse_tests.orchestration.assets.house import TABLE, House, write_conf

pytestmark = pytest.mark.slow

IO = "lake_io_manager"


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    conf = write_conf(tmp_path, KafkaSettings(bootstrap_servers="127.0.0.1:1"), tmp_path)
    (conf / "declarations" / "birds.py").write_text(TABLE)
    return Lake(load_settings(conf, {}))


def made(lake: Lake, assets: list[Any], spark: object = None, *, fails: bool = False) -> dg.ExecuteInProcessResult:
    resources = {"lake": lake, "spark": spark, IO: frame_io_manager()}
    result = dg.materialize(assets, resources=resources, raise_on_error=not fails)
    assert result.success is not fails
    return result


def sizes(values: list[int]) -> dg.AssetsDefinition:
    @dg.asset(key=["mart", "sizes"], io_manager_key=IO)
    def sizes_asset() -> pl.DataFrame:
        return pl.DataFrame({"size": values, "name": [str(value) for value in values]})

    return sizes_asset


@pytest.mark.parametrize("kind", [pa.Table, pd.DataFrame, pl.DataFrame, pl.LazyFrame])
def test_what_is_returned_is_stored_and_loaded_as_the_parameter_says(lake: Lake, kind: type) -> None:
    seen: list[object] = []

    def total(sizes: Any) -> pa.Table:
        seen.append(type(sizes))
        frame = sizes.collect() if isinstance(sizes, pl.LazyFrame) else sizes
        return pa.table({"total": [sum(frame["size"].to_pylist() if kind is pa.Table else frame["size"])]})

    total.__annotations__["sizes"] = kind
    first = sizes([1, 2, 3])
    asset = dg.asset(io_manager_key=IO, ins={"sizes": dg.AssetIn(key=["mart", "sizes"])})(total)
    result = made(lake, [first, asset])
    assert seen == [kind]
    assert lake.arrow("assets.total").to_pylist() == [{"total": 6}], "a key of one part has a namespace"
    [event] = result.asset_materializations_for_node("mart__sizes")
    assert event.metadata["dagster/row_count"].value == 3


def test_it_is_sealed_and_says_which_snapshot_it_was_computed_from(lake: Lake) -> None:
    @dg.asset(io_manager_key=IO, ins={"sizes": dg.AssetIn(key=["mart", "sizes"])})
    def largest(sizes: pl.DataFrame) -> pl.DataFrame:
        return sizes.sort("size").tail(1)

    made(lake, [sizes([4, 9]), largest])
    source = lake.catalog.load_table(("mart", "sizes"))
    table = lake.catalog.load_table(("assets", "largest"))
    newest = next(iter(seals(table, head_of(table)))).seal
    assert newest.kind == "write"
    assert dict(newest.inputs) == {"mart.sizes": head_of(source)}
    refs = {name for name in table.metadata.refs if name != "main"}
    assert not refs, "nothing staged is left"


def test_rows_are_replaced_and_columns_may_come_and_go(lake: Lake) -> None:
    made(lake, [sizes([1, 2])])

    @dg.asset(key=["mart", "sizes"], io_manager_key=IO)
    def wider() -> pa.Table:
        return pa.table({"size": [7], "colour": ["red"]})

    made(lake, [wider])
    assert lake.arrow("mart.sizes").to_pylist() == [{"size": 7, "name": None, "colour": "red"}]


def test_a_declared_table_keeps_its_rules(lake: Lake) -> None:
    def birds(count: int) -> dg.AssetsDefinition:
        @dg.asset(key=["raw", "birds"], io_manager_key=IO)
        def birds_asset() -> pa.Table:
            return pa.table({"name": ["tit"], "count": pa.array([count], pa.int32())})

        return birds_asset

    made(lake, [birds(3)])
    made(lake, [birds(0)], fails=True)
    assert lake.arrow("raw.birds")["count"].to_pylist() == [3], "a broken rule publishes nothing"


def test_what_is_no_table_is_refused_with_what_to_do(lake: Lake) -> None:
    @dg.asset(key=["a", "b", "c"], io_manager_key=IO)
    def deep() -> pa.Table:
        return pa.table({"x": [1]})

    @dg.asset(io_manager_key=IO, partitions_def=dg.StaticPartitionsDefinition(["x"]))
    def parts() -> pa.Table:
        return pa.table({"x": [1]})

    @dg.asset(ins={"sizes": dg.AssetIn(key=["mart", "sizes"], input_manager_key=IO)})
    def vague(sizes) -> None:  # pyright: ignore
        return None

    def message(*assets: dg.AssetsDefinition, **given: Any) -> str:
        resources = {"lake": lake, "spark": None, IO: frame_io_manager()}
        failed = dg.materialize(list(assets), resources=resources, raise_on_error=False, **given)
        return "".join(str(event.event_specific_data) for event in failed.get_step_failure_events())

    assert "key of 3 parts" in message(deep)
    assert "in partitions" in message(parts, partition_key="x")
    assert "Parameter sizes of vague does not say" in message(sizes([1]), vague)


@pytest.mark.spark
@pytest.mark.kafka
def test_spark_frames_are_loaded_and_stored(working_house: House) -> None:
    @dg.asset(key=["mart", "numbers"], io_manager_key=IO)
    def numbers() -> pa.Table:
        return pa.table({"id": [0, 1, 2]})

    @dg.asset(io_manager_key=IO, ins={"numbers": dg.AssetIn(key=["mart", "numbers"])})
    def doubled(numbers: DataFrame) -> DataFrame:
        return numbers.selectExpr("id * 2 AS id")

    resources = dict(working_house.defs().resources or {})
    assert dg.materialize([numbers, doubled], resources=resources, instance=working_house.instance).success
    assert sorted(working_house.lake().arrow("assets.doubled")["id"].to_pylist()) == [0, 2, 4]
