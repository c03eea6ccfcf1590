"""Old runs go, with their events and files, but none that Dagster or a person still needs."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import dagster as dg
import pytest

from lakehouse.orchestration.automation.run_retention import drop_old_runs
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES

LATER = datetime.now(UTC) + timedelta(days=8)


@dg.asset
def birds(context: dg.AssetExecutionContext) -> None:
    context.log.info("counted")


@dg.asset
def by_day() -> None:
    """Stands for a derived table in partitions."""


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.local_temp(str(tmp_path_factory.mktemp("dagster"))) as made:
        yield made


def lake(home: str, *partitioned: str) -> Any:
    settings = SimpleNamespace(state=SimpleNamespace(dagster=Path(home)), dagster=SimpleNamespace(keep_runs_days=7))
    derived = {name: SimpleNamespace(partitions="by day") for name in partitioned}
    declarations = SimpleNamespace(derived=derived, broken=())
    return cast("Any", SimpleNamespace(settings=settings, declarations=declarations, names=DEFAULT_NAMES))


def make(instance: dg.DagsterInstance, asset: dg.AssetsDefinition) -> str:
    job = dg.Definitions(assets=[birds, by_day]).resolve_implicit_global_asset_job_def()
    return job.execute_in_process(instance=instance, asset_selection=[asset.key]).run_id


def files_of(instance: dg.DagsterInstance, run_id: str) -> list[str]:
    return [str(path) for path in Path(instance.root_directory).rglob("*") if run_id in str(path) and path.is_file()]


def test_old_runs_go_with_their_files_and_the_newest_of_each_asset_stays(instance: dg.DagsterInstance) -> None:
    old, partition, partition_again, newest = (make(instance, asset) for asset in (birds, by_day, by_day, birds))
    assert files_of(instance, old)
    ours = lake(instance.root_directory, "by_day")
    assert drop_old_runs(ours, instance) == 0, "a week has not gone by"
    assert drop_old_runs(lake(os.sep), instance, now=LATER) == 0, "it is not ours"
    assert drop_old_runs(ours, instance, now=LATER) == 1
    assert files_of(instance, old) == []
    assert {run.run_id for run in instance.get_runs()} == {partition, partition_again, newest}
    event = instance.get_latest_materialization_event(birds.key)
    assert event is not None
    assert event.run_id == newest
    assert drop_old_runs(ours, instance, now=LATER) == 0
