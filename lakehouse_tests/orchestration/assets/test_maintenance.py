"""The maintenance asset as Dagster runs it, with Spark: small files become one, and what was expected is compared."""

import json
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from pyspark.sql import SparkSession

from lakehouse_tests.orchestration.assets.flock import UPKEEP, new_flock, upkeep
from lakehouse_tests.orchestration.assets.house import House, checks

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_small_files_become_one_in_each_partition_and_then_there_is_nothing_to_do(
    tmp_path: Path, jars: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    with new_flock(tmp_path, jars, monkeypatch, writes=4) as house:
        before = house.lake().arrow("raw.flock").sort_by("day")
        result, metadata = upkeep(house)
        assert result.success
        assert "**rewrite** of `day=2013-05-01`" in metadata["decision"]
        assert "Ann" not in str(metadata), "the value of a sensitive column"
        assert metadata["data files"] == 2
        assert metadata["in short"] == "rewrite done"
        assert "| rewrite | files | 8 | 2 |" in metadata["before and after"]
        assert house.lake().arrow("raw.flock").sort_by("day") == before
        answered = {name.split()[-1]: check.passed for name, check in checks(result).items()}
        assert {name for name, passed in answered.items() if not passed} == set()
        assert len(answered) == 4
        _, again = upkeep(house)
        assert "**Nothing**, because:" in again["decision"]
        assert house.run("raw.flock").success, "its writer goes on"


def tick(house: House) -> Any:
    """The sensor as the daemon evaluates it, with all that it tells Dagster."""
    defs = house.defs()
    sensor = next(candidate for candidate in defs.sensors or [] if candidate.name == "upkeep")
    context = dg.build_sensor_context(instance=house.instance, definitions=defs, resources={"lake": house.lake()})
    result = sensor.evaluate_tick(context)
    for event in result.asset_events:
        house.instance.report_runless_asset_event(event)
    return result


def test_the_sensor_asks_for_what_a_run_does_and_tells_of_what_needs_nothing(
    tmp_path: Path, jars: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    with new_flock(tmp_path, jars, monkeypatch, writes=3) as house:
        [request] = tick(house).run_requests
        assert request.asset_selection == [dg.AssetKey(UPKEEP.split("."))]
        result, _ = upkeep(house, **request.tags)
        assert result.success
        assert not tick(house).run_requests
        [newest] = house.instance.fetch_observations(dg.AssetKey(UPKEEP.split(".")), limit=1).records
        assert newest.asset_observation is not None
        assert "**Nothing**" in str(newest.asset_observation.metadata["decision"].value)


@pytest.mark.timeout(240)
def test_a_person_lets_it_be_done_by_the_command(
    tmp_path: Path, jars: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    with new_flock(tmp_path, jars, monkeypatch, writes=3) as house:
        before = house.lake().arrow("raw.flock").sort_by("day")
        planned = house.command("maintain", "raw.flock", "--plan").stdout
        assert "  rewrite of day=2013-05-01, day=2013-05-02: " in planned
        assert "3 of 3 files are below 96.0 MiB, 3 of them fragments" in planned
        [report] = json.loads(house.command("maintain", "raw.flock", "--json").stdout)
        assert (report["operation"], report["result"]) == ("rewrite", "done")
        assert report["message"] == "6 data files are now 2"
        assert house.lake().arrow("raw.flock").sort_by("day") == before
