"""A lakehouse with one table of small files, which Spark is to look after."""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from lakehouse.cli.processes.dagster_home import prepare_home
from lakehouse.settings import load_settings
from lakehouse_tests.orchestration.assets.house import House, write_conf
from lakehouse_tests.orchestration.assets.story import NOWHERE

TABLE = '''
"""Sightings of a flock, day by day, a small file each."""

from datetime import timedelta

import dagster as dg
import pandera.pyspark as pa
import pyarrow
import pyspark.sql.types as spark

from lakehouse import Lake
from lakehouse import Maintenance, Rewrite, Table


class Seen(pa.DataFrameModel):
    """A bird."""

    day: spark.DateType = pa.Field(description="When it was seen")
    observer: str = pa.Field(nullable=True, description="Who saw it", metadata={"sensitive": True})
    count: int = pa.Field(description="How many there were")


flock = Table(
    name="raw.flock",
    schema=Seen,
    description="Birds that were seen.",
    owner="ornithology",
    partitioning=("day",),
    maintenance=Maintenance(rewrite=Rewrite(min_input_files=2, quiet_for=timedelta(0)), orphans=None),
)


@dg.asset(key=["raw", "flock"])
def watch(context: dg.AssetExecutionContext, lake: dg.ResourceParam[Lake]) -> dg.MaterializeResult:
    """Two birds of each day."""
    rows = [{"day": day, "observer": "Ann", "count": 1} for day in (DAYS)]
    schema = pyarrow.schema([("day", pyarrow.date32()), ("observer", pyarrow.string()), ("count", pyarrow.int32())])
    return lake.write(context, "raw.flock", pyarrow.Table.from_pylist(rows, schema=schema))
'''
DAYS = (date(2013, 5, 1), date(2013, 5, 2))
UPKEEP = "maintenance.raw.flock"


@contextmanager
def new_flock(root: Path, jars: Path, environ: pytest.MonkeyPatch, *, writes: int) -> Generator[House]:
    """Build it, and let it be written so many times."""
    conf = write_conf(root, NOWHERE, jars)
    days = ", ".join(f"__import__('datetime').date({day.year}, {day.month}, {day.day})" for day in DAYS)
    (conf / "declarations" / "flock.py").write_text(TABLE.lstrip().replace("(DAYS)", f"({days})"))
    for name in ("LAKEHOUSE_CONF", "LAKEHOUSE_DECLARATIONS", "DAGSTER_HOME"):
        environ.setenv(name, "")  # so that what is set below is undone
    prepare_home(load_settings(conf, {}))
    with dg.DagsterInstance.get() as instance:
        house = House(root, "", NOWHERE, instance)
        for _ in range(writes):
            assert house.run("raw.flock").success
        yield house


def upkeep(house: House, **tags: str) -> tuple[dg.ExecuteInProcessResult, dict[str, Any]]:
    """A run of its maintenance, and what it told."""
    result = house.run(UPKEEP, tags=tags)
    materializations = [event.materialization for event in result.get_asset_materialization_events()]
    return result, {
        name: value.value for materialization in materializations for name, value in materialization.metadata.items()
    }
