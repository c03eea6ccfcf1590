"""A table that the real Iceberg sink of Kafka Connect has filled is adopted, and the stream goes on exactly once.

`docs/how-to/adopt.md` has its commands.
"""

import json
import time
from pathlib import Path

import pytest
import typer
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from lakehouse.cli.commands.repair.adopt import offsets_of
from lakehouse.engines.kafka import create_topic
from lakehouse.engines.kafka.group_positions import group_members
from lakehouse.settings import KafkaSettings
from lakehouse_tests.fixtures.iceberg_sink import SinkWorker
from lakehouse_tests.orchestration.assets.house import House

TABLE, SINK = "raw.by_connect", "taken-sink"
GROUP = f"connect-{SINK}"
COLUMNS = Schema(
    NestedField(1, "name", StringType(), required=False), NestedField(2, "count", LongType(), required=False)
)
DECLARED = """
import pandera.pyspark as pa
from pyspark.sql.types import LongType

from lakehouse import Stream, Table, ToTable


class Birds(pa.DataFrameModel):
    name: str = pa.Field(nullable=True)
    count: LongType = pa.Field(nullable=True)


table = Table(name="raw.by_connect", schema=Birds, description="Birds.", owner="ornithology")
stream = Stream(name="birds", topic="{topic}", route=ToTable("raw.by_connect"))
"""


def test_offsets_as_a_person_writes_them() -> None:
    assert offsets_of("0:1200, 1:1150") == {0: 1200, 1: 1150}
    assert offsets_of("") == {}
    with pytest.raises(typer.BadParameter, match="partition:offset"):
        offsets_of("1200")


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.kafka
@pytest.mark.spark
def test_a_table_of_the_real_sink_goes_on_exactly_once(
    working_house: House, tmp_path: Path, jars: Path, broker: KafkaSettings
) -> None:
    house = working_house
    house.declare("birds", DECLARED.format(topic=house.topic))
    house.declare("sightings", "")
    catalog = house.lake().catalog
    catalog.create_namespace_if_not_exists("raw")
    catalog.create_table(TABLE, COLUMNS)
    create_topic(broker, f"control-{SINK}", 1)
    house.birds(40)
    adopt = ("adopt", "birds", "--from", "group", "--group", GROUP)
    with SinkWorker(tmp_path / "connect", jars, broker, house.settings.catalog, catalog) as worker:
        worker.start(SINK, house.topic, TABLE, {})
        worker.wait_for_rows(SINK, TABLE, 40)
        assert "still runs" in house.command(*adopt, exit_code=2).output
        worker.remove(SINK)
        deadline = time.monotonic() + 60
        while group_members(broker, GROUP) and time.monotonic() < deadline:
            time.sleep(0.1)

    planned = json.loads(house.command(*adopt, "--json").stdout)
    assert (planned["done"], planned["goes_on_at"]) == (False, {"0": 20, "1": 20})
    assert planned["without_coordinates"] == {TABLE: 40}
    assert "add column _kafka_offset long" in planned["changes"][TABLE]
    assert "_kafka_offset" not in catalog.load_table(TABLE).schema().column_names
    shown = house.command(*adopt, "--yes").stdout
    assert "its sink has committed all that it has announced on control-taken-sink" in shown

    house.send(*({"name": f"owl {n}", "count": n} for n in range(10)))
    assert house.run(TABLE, "quarantine.birds").success
    names = catalog.load_table(TABLE).scan().to_arrow()["name"].to_pylist()
    assert sorted(names) == sorted([f"tit {n}" for n in range(40)] + [f"owl {n}" for n in range(10)])
    house.command("audit", "birds")
