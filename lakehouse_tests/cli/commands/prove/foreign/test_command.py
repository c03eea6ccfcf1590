"""`lakehouse audit --foreign`: the exit code is the verdict, and the line says what would decide what is open."""

import json

import pyarrow as pa
import pytest

from lakehouse_tests.orchestration.assets.house import House
from lakehouse_tests.proofs.foreign.tables import COORDINATES, PLAIN

pytestmark = pytest.mark.kafka


@pytest.fixture
def asked(house: House) -> tuple[str, ...]:
    """A table with coordinates, one without, and ten records."""
    house.birds(10)
    catalog = house.lake().catalog
    catalog.create_namespace_if_not_exists("raw")
    offsets = [*range(5), *range(5)]
    frame = {
        "name": pa.array([f"tit {n}" for n in range(10)], pa.string()),
        "topic": pa.array([house.topic] * 10, pa.string()),
        "partition": pa.array([n // 5 for n in range(10)], pa.int32()),
        "offset": pa.array(offsets, pa.int64()),
    }
    catalog.create_table("raw.whole", COORDINATES).append(pa.table(frame))
    catalog.create_table("raw.plain", PLAIN).append(pa.table({"name": frame["name"]}))
    return ("audit", "--topic", house.topic, "--foreign")


def test_the_verdict_is_the_exit_code(house: House, asked: tuple[str, ...]) -> None:
    proven = house.command(*asked, "raw.whole").stdout
    assert "coordinates of raw.whole: topic, partition, offset" in proven
    assert "[0, 5)" in proven
    assert "PROVEN by coordinates" in proven
    left_open = house.command(*asked, "raw.plain", exit_code=2).stdout
    assert "OPEN: As many rows as records (10), and no key" in left_open
    assert "InsertField" in left_open
    assert "PROVEN by key and count" in house.command(*asked, "raw.plain", "--key", "name").stdout
    house.lake().catalog.load_table(("raw", "whole")).delete("partition = 1 and offset = 3")
    broken = house.command(*asked, "raw.whole", exit_code=1).stdout
    assert f"DISPROVED missing: partition 1: 1 record of {house.topic} has no row: 3." in broken
    assert json.loads(house.command(*asked, "raw.whole", "--json", exit_code=1).stdout)["verdict"] == "disproved"


def test_a_table_that_is_not_there_is_2(house: House) -> None:
    output = house.command("audit", "--foreign", "raw.nest", "--topic", "birds", exit_code=2).output
    assert "There is no table raw.nest in the catalog" in output
    assert "Traceback" not in output


def test_a_topic_or_group_that_is_not_there_is_2(house: House, asked: tuple[str, ...]) -> None:
    missing = ("audit", "--foreign", "raw.whole", "--topic", "no-such-topic")
    assert "Topic no-such-topic does not exist" in house.command(*missing, exit_code=2).output
    group = house.command(*asked, "raw.whole", "--group", "nobody", exit_code=2).output
    assert "Consumer group nobody has no committed offset" in group
