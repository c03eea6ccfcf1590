"""Where the runs of commands are recorded. What they do is in `orchestration/assets`."""

from pathlib import Path

import dagster as dg
import pytest

from lakehouse.cli.context import Context
from lakehouse.cli.processes.materialize import _dagster
from lakehouse.settings import KafkaSettings
from lakehouse_tests.orchestration.assets.house import write_conf

NOWHERE = KafkaSettings(bootstrap_servers="127.0.0.1:1")


def test_commands_record_their_runs_in_the_instance_of_the_user(
    tmp_path: Path, jars: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LAKEHOUSE_CONF", "LAKEHOUSE_DECLARATIONS"):
        monkeypatch.setenv(name, "")
    (theirs := tmp_path / "theirs").mkdir()
    monkeypatch.setenv("DAGSTER_HOME", str(theirs))
    conf = write_conf(tmp_path, NOWHERE, jars)
    (conf / "declarations" / "own.py").write_text(OWN)
    with _dagster(Context(conf)) as (defs, instance):
        keys = [dg.AssetKey(["mart", "nothing"])]
        job = defs.resolve_implicit_global_asset_job_def()
        assert job.execute_in_process(instance=instance, asset_selection=keys).success
    with dg.DagsterInstance.from_config(str(theirs)) as instance:
        assert instance.get_latest_materialization_event(keys[0]) is not None


OWN = '''
"""A table, and an asset that writes nothing."""

import dagster as dg
import pandera.pyspark as pa

from lakehouse import Table


class Nothing(pa.DataFrameModel):
    """Nothing."""

    name: str = pa.Field(description="A name")


table = Table(name="mart.nothing", schema=Nothing, description="Nothing.", owner="demo")


@dg.asset(key=["mart", "nothing"])
def nothing() -> None:
    """Write nothing."""
'''
