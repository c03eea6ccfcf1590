"""A lakehouse of one table that an asset of the user's own writes: without broker and Spark, runs take a moment."""

import signal
import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from lakehouse.cli.processes.dagster_home import prepare_home
from lakehouse.declarations.own_tables.audit_row import AuditRow
from lakehouse.protocol.journal import logged
from lakehouse.settings import KafkaSettings
from lakehouse_tests.fixtures.environ import clean_environ
from lakehouse_tests.orchestration.assets.house import House, write_conf
from lakehouse_tests.orchestration.assets.test_ending import LAKEHOUSE

MART = '''
"""Nests, counted."""

import dagster as dg
import pandera.pyspark as pap
import pyarrow as pa

from lakehouse.protocol.failpoints import failpoint
from lakehouse import Lake
from lakehouse import Table


class Nests(pap.DataFrameModel):
    """Nests of a bird."""

    bird: str = pap.Field(description="Name of the bird")
    nests: int = pap.Field(ge=0, description="How many")


nests = Table(name="mart.nests", schema=Nests, description="Nests.", owner="ornithology", write_mode="overwrite")


class Config(dg.Config):
    """What a run may ask for."""

    nests: int = 3
    trouble: str = ""


@dg.asset(key=["mart", "nests"])
def count(context: dg.AssetExecutionContext, lake: dg.ResourceParam[Lake], config: Config) -> dg.MaterializeResult:
    if config.trouble == "ours":
        lake.declared("mart.secret")
    if config.trouble == "shown":
        raise dg.Failure("The inputs do not agree.", metadata={"refused": "NotDeclared"})
    if config.trouble:
        raise ValueError(config.trouble)
    told = lake.write(context, "mart.nests", pa.table({"bird": ["tit"], "nests": [config.nests]}), mode="overwrite")
    failpoint("dagster.before")
    return told


@dg.asset_check(asset=["mart", "nests"], blocking=True)
def enough(lake: dg.ResourceParam[Lake]) -> dg.AssetCheckResult:
    rows = lake.arrow("mart.nests").to_pylist()
    snapshot = lake.pin("mart.nests")["mart.nests"].snapshot_id
    return dg.AssetCheckResult(
        passed=all(row["nests"] > 1 for row in rows),
        description="Each bird has nests.",
        metadata={"snapshot id": str(snapshot), "birds": len(rows)},
    )
'''


@dataclass
class Mart(House):
    """The lakehouse, its runs in this process, and its log."""

    @property
    def log(self) -> list[AuditRow]:
        """What is logged."""
        return logged(self.lake().catalog)

    def make(self, **config: object) -> dg.ExecuteInProcessResult:
        """Run the asset with its check."""
        return (
            self.defs()
            .resolve_implicit_global_asset_job_def()
            .execute_in_process(
                instance=self.instance,
                raise_on_error=False,
                run_config={"ops": {"mart__nests": {"config": config}}},
                asset_selection=[dg.AssetKey(["mart", "nests"])],
            )
        )

    def tick(self, cursor: str | None = None) -> Any:
        """Evaluate the sensor and report its events, as the daemon does."""
        defs = self.defs()
        sensor = next(candidate for candidate in defs.sensors or [] if candidate.name == "audit_log")
        context = dg.build_sensor_context(
            instance=self.instance, cursor=cursor, definitions=defs, resources={"lake": self.lake()}
        )
        tick = sensor.evaluate_tick(context)
        for event in tick.asset_events:
            self.instance.report_runless_asset_event(event)
        return tick

    def heard(self) -> list[dg.AssetMaterialization]:
        """What Dagster knows of the table, newest first."""
        records = self.instance.fetch_materializations(dg.AssetKey(["mart", "nests"]), limit=100).records
        return [record.asset_materialization for record in records if record.asset_materialization]

    def snapshot(self) -> int:
        """The newest snapshot of the table."""
        snapshot_id = self.lake().pin("mart.nests")["mart.nests"].snapshot_id
        assert snapshot_id is not None
        return snapshot_id

    def command(self, failpoints: str = "") -> str:
        """`lakehouse run`, in a process of its own."""
        done = subprocess.run(
            [LAKEHOUSE, "--conf", str(self.conf), "run"],
            env=clean_environ(LAKEHOUSE_FAILPOINTS=failpoints, COLUMNS="200"),
            capture_output=True,
            text=True,
            check=False,
            timeout=250,
        )
        assert done.returncode == (-signal.SIGKILL if "kill" in failpoints else 0), done.stdout + done.stderr
        return done.stdout + done.stderr


@contextmanager
def commanded(mart: Mart, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Look at the Dagster instance that commands use."""
    for name in ("DAGSTER_HOME", "LAKEHOUSE_CONF", "LAKEHOUSE_DECLARATIONS"):
        monkeypatch.setenv(name, "")
    prepare_home(mart.settings)
    own = mart.instance
    with dg.DagsterInstance.get() as instance:
        mart.instance = instance
        yield
    mart.instance = own


@pytest.fixture
def mart(tmp_path: Path, jars: Path) -> Iterator[Mart]:
    """The lakehouse."""
    kafka = KafkaSettings(bootstrap_servers="127.0.0.1:1")
    write_conf(tmp_path, kafka, jars)
    with dg.DagsterInstance.ephemeral() as instance:
        new_mart = Mart(tmp_path, "", kafka, instance)
        new_mart.declare("nests", MART)
        yield new_mart
