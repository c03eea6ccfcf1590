"""A run of maintenance in a process of its own, to be killed: `python -m …maintain_child <JSON>`.

It is a client of a Spark Connect server, as in production.
"""

import json
import os
import subprocess
import sys
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path

from pyspark.sql import SparkSession

from lakehouse.declarations import Declarations, Deduplicate, Expire, Maintenance, Manifests, Rewrite, Statistics
from lakehouse.engines.spark import spark_session
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.settings import CatalogSettings, Settings
from lakehouse.steps.maintenance.model.action import Operation
from lakehouse.steps.maintenance.report import MaintainReport
from lakehouse.steps.maintenance.step import MaintainStep, maintain
from lakehouse_tests.fixtures.child import settings_of_child
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.steps.maintenance.seen import NAME, Seen

EVERYTHING = Maintenance(
    rewrite=Rewrite(min_input_files=2, quiet_for=timedelta(0)),
    manifests=Manifests(min_count=2),
    expire=Expire(max_snapshot_age=timedelta(milliseconds=1), min_snapshots_to_keep=2, max_snapshots=20, at_least=1),
    orphans=None,
    statistics=Statistics(columns=("id",), after_rows=0.01),
    deduplicate=Deduplicate(order_by=("version desc",), closed_after=timedelta(0)),
)


def looked_after(seen: Seen, spark_on: SparkOn, only: Operation, run_id: str) -> MaintainReport:
    """One run."""
    return maintain(
        MaintainStep(
            catalog=seen.lake.catalog,
            declarations=Declarations({NAME: seen.declared}, {}, {}),
            table=seen.declared,
            session=lambda: spark_on(seen.lake.settings),
            attempt=Attempt(run_id=run_id, step=f"maintain:{NAME}"),
            only=(only,),
            allow=True,
            inform=lambda _: None,
        )
    )


def maintain_and_die(catalog: CatalogSettings, connect: Settings, log: Path, only: Operation, point: str) -> int:
    """Start it, let it be killed at a failpoint, and return its exit code."""
    arguments = {
        "catalog": catalog.model_dump(mode="json"),
        "home": str(connect.state.root),
        "platform": connect.platform.model_dump(),
        "only": only.value,
    }
    with log.open("wb") as out:
        child = subprocess.run(
            [sys.executable, "-m", "lakehouse_tests.steps.maintenance.maintain_child", json.dumps(arguments)],
            env={**os.environ, "LAKEHOUSE_FAILPOINTS": f"{point}=kill"},
            start_new_session=True,
            stdout=out,
            stderr=out,
            timeout=240,
            check=False,
        )
    return child.returncode


def main() -> None:
    arguments = json.loads(sys.argv[1])
    settings = settings_of_child(arguments)

    def spark_on(_: CatalogSettings) -> AbstractContextManager[SparkSession]:
        return spark_session(settings, app_name="child")

    lake = Lake(settings.catalog, open_catalog(settings.catalog), "upkeep", None)
    seen = Seen.declare(lake, spark_on, EVERYTHING)
    report = looked_after(seen, spark_on, Operation(arguments["only"]), "killed")
    print([(outcome.action.operation.value, outcome.result, outcome.message) for outcome in report.outcomes])


if __name__ == "__main__":
    main()
