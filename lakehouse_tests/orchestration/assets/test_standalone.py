"""The same assets on a standalone cluster, whose worker has nothing of ours but what a packed environment brings."""

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

from lakehouse_tests.fixtures.environ import clean_environ
from lakehouse_tests.fixtures.spark import HANDFUL, SHORT_LIVED
from lakehouse_tests.fixtures.standalone_cluster import RPC_SECRET, StandaloneCluster, standalone_cluster
from lakehouse_tests.orchestration.assets.house import House, command

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


def packed_environment(folder: Path) -> Path:
    """An archive as venv-pack makes it, but for its size: its packages are those of this environment."""
    home = folder / "environment"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "python").symlink_to(os.path.realpath(sys.executable))
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    (home / "pyvenv.cfg").write_text(f"home = {Path(os.path.realpath(sys.executable)).parent}\n")
    packages = home / "lib" / version / "site-packages"
    packages.mkdir(parents=True)
    ours = [entry for entry in sys.path if entry.endswith("site-packages")]
    repository = Path(__file__).parents[3]
    (packages / "ours.pth").write_text("\n".join([*ours, str(repository)]) + "\n")
    archive = folder / "environment.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(home, arcname=".")
    return archive


def platform_of(cluster: StandaloneCluster, folder: Path, **conf: str) -> dict[str, object]:
    """A file of `conf/platforms/` for this cluster."""
    return {
        "mode": "classic",
        "master": cluster.master,
        "register_within_seconds": 90,
        "rpc_secret": "${env:SPARK_RPC_SECRET}",
        "workers": {"archive": str(packed_environment(folder))},
        "conf": {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "512m",
            "spark.driver.extraJavaOptions": SHORT_LIVED,
            "spark.executor.extraJavaOptions": SHORT_LIVED,
            "spark.executor.cores": "2",
            "spark.executor.memory": "512m",
            "spark.sql.shuffle.partitions": "2",
            **HANDFUL,
            **conf,
        },
    }


def test_ingest_merge_and_derived_on_processes_of_their_own(working_house: House, tmp_path: Path) -> None:
    house = working_house
    house.follow()
    house.declare("counts", DERIVED)
    house.birds(20)
    for lsn, (operation, nest) in enumerate([("c", 1), ("c", 2), ("u", 1), ("d", 2)], 1):
        house.change(operation, lsn, nest, eggs=lsn)
    with standalone_cluster(tmp_path / "cluster") as cluster:
        (house.conf / "platforms" / "test.yaml").write_text(yaml.safe_dump(platform_of(cluster, tmp_path)))
        done = subprocess.run(
            [sys.executable, "-m", "lakehouse_tests.orchestration.assets.elsewhere", str(house.conf)],
            env=clean_environ(SPARK_RPC_SECRET=RPC_SECRET),
            capture_output=True,
            text=True,
            check=False,
        )
        executors = "".join(
            log.read_text(errors="replace") for log in (tmp_path / "cluster" / "work").glob("*/*/stderr")
        )
        logs = executors + done.stderr + cluster.logs.joinpath("worker.log").read_text()
    assert done.returncode == 0, done.stderr[-3000:]
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["success"], done.stderr[-3000:]
    assert {"raw.birds", "changelog.nests", "mirror.nests", "mart.counts"} <= set(report["materialized"])
    assert report["failed checks"] == []
    assert house.lake().arrow("mirror.nests", columns=["nest", "eggs"]).to_pylist() == [{"nest": 1, "eggs": 3}]
    assert house.lake().arrow("mart.counts").num_rows == 20
    assert "Unpacking an archive" in executors, "the executors were sent their Python"
    assert RPC_SECRET not in logs
    assert command("audit", environ={"LAKEHOUSE_CONF": str(house.conf), "SPARK_RPC_SECRET": RPC_SECRET}).exit_code == 0
