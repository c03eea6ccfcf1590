"""The same assets on a standalone cluster, whose worker has nothing of ours but what a packed environment brings."""

import json
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest
import yaml

from lakehouse_tests.fixtures.environ import clean_environ
from lakehouse_tests.fixtures.standalone_cluster import RPC_SECRET, standalone_cluster
from lakehouse_tests.orchestration.assets.house import House, checks, command, house, materializations

__all__ = ["house"]
pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]
DERIVED = '''
"""How many birds there are."""

import pandera.pyspark as pa
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, LongType

from lakehouse import Table, derived


class Count(pa.DataFrameModel):
    """A bird."""

    name: str = pa.Field(description="Name of the bird")
    total: LongType = pa.Field(description="How many of them")
    runtime_date: DateType = pa.Field(description="Runtime date of the run")


@derived(
    table=Table(
        name="mart.counts",
        schema=Count,
        description="Birds.",
        owner="ornithology",
        write_mode="overwrite",
        runtime_date_column="runtime_date",
    ),
    inputs={"birds": "raw.birds"},
)
def counts(birds):
    return birds.groupBy("name").agg(F.sum("count").cast("long").alias("total"))
'''


@pytest.mark.soak
def test_a_step_by_spark_submit_on_processes_of_their_own(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_RPC_SECRET", RPC_SECRET)
    house.birds(10)
    with standalone_cluster(tmp_path / "cluster") as cluster:
        (house.conf / "platforms" / "test.yaml").write_text(yaml.safe_dump(cluster.platform("submit")))
        job = house.defs().resolve_implicit_global_asset_job_def()
        keys = dg.AssetKey(["raw", "birds"]), dg.AssetKey(["quarantine", "birds"])
        result = job.get_subset(asset_selection=set(keys)).execute_in_process(
            instance=house.instance, raise_on_error=False
        )
        printed, executors = cluster.printed, cluster.executors
    (driver_log,) = (house.settings.state.root / "submit").glob("*/*/1/driver.log")
    printed += driver_log.read_text(errors="replace")
    assert result.success, printed[-3000:]
    assert set(materializations(result)) == {"raw.birds", "quarantine.birds"}
    assert all(check.passed for check in checks(result).values())
    assert "raw.birds exactly_once" in checks(result)
    assert house.lake().arrow("raw.birds").num_rows == 10
    lines = [entry.user_message for entry in house.instance.all_logs(result.run_id)]
    assert any("10 offsets of" in line for line in lines), "what the step logs is in the run's log"
    assert "Unpacking an archive" in executors, "the executors were sent their Python"
    assert RPC_SECRET not in printed


@pytest.mark.soak
def test_ingest_merge_and_derived_on_processes_of_their_own(working_house: House, tmp_path: Path) -> None:
    house = working_house
    house.follow()
    house.declare("counts", DERIVED)
    house.birds(20)
    for lsn, (operation, nest) in enumerate([("c", 1), ("c", 2), ("u", 1), ("d", 2)], 1):
        house.change(operation, lsn, nest, eggs=lsn)
    with standalone_cluster(tmp_path / "cluster") as cluster:
        (house.conf / "platforms" / "test.yaml").write_text(yaml.safe_dump(cluster.platform("classic")))
        done = subprocess.run(
            [sys.executable, "-m", "lakehouse_tests.orchestration.assets.elsewhere", str(house.conf)],
            env=clean_environ(SPARK_RPC_SECRET=RPC_SECRET),
            capture_output=True,
            text=True,
            check=False,
        )
        executors, printed = cluster.executors, cluster.printed + done.stderr
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["success"], done.stderr[-3000:]
    assert {"raw.birds", "changelog.nests", "mirror.nests", "mart.counts"} <= set(report["materialized"])
    assert report["failed checks"] == []
    assert house.lake().arrow("mirror.nests", columns=["nest", "eggs"]).to_pylist() == [{"nest": 1, "eggs": 3}]
    assert house.lake().arrow("mart.counts").num_rows == 20
    assert "Unpacking an archive" in executors, "the executors were sent their Python"
    assert RPC_SECRET not in printed
    assert command("audit", environ={"LAKEHOUSE_CONF": str(house.conf), "SPARK_RPC_SECRET": RPC_SECRET}).exit_code == 0
