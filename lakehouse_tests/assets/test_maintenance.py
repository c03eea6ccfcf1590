"""The maintenance asset as Dagster runs it, with Spark: small files become one, and what was expected is compared."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse_tests.assets.flock import new_flock, upkeep
from lakehouse_tests.assets.house import checks

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_small_files_become_one_in_each_partition_and_then_there_is_nothing_to_do(
    tmp_path: Path, jars: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    with new_flock(tmp_path, jars, monkeypatch, writes=4) as house:
        before = house.lake().arrow("raw.flock").sort_by("day")
        result, told = upkeep(house)
        assert result.success
        assert "**rewrite** of `day=2013-05-01`" in told["decision"]
        assert "Ann" not in str(told), "the value of a sensitive column"
        assert told["data files"] == 2
        assert "| rewrite | files fewer | 6 | 6 |" in told["predicted and measured"]
        assert house.lake().arrow("raw.flock").sort_by("day") == before
        # A machine with other things to do takes longer than a prediction knows of: that is a warning.
        answered = {name.split()[-1]: one.passed for name, one in checks(result).items()}
        assert {name for name, passed in answered.items() if not passed} <= {"predicted_well"}
        assert len(answered) == 5
        _, again = upkeep(house)
        assert "**Nothing**, because:" in again["decision"]
        assert "data:image/png" in again["health over time"]
        assert house.run("raw.flock").success, "its writer goes on"
        judged = house.run("raw.flock")
        assert judged.success
