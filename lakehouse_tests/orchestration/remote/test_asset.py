"""A step that is done elsewhere: what it reports is Dagster's; it is launched once, found again, and ended with us."""

import os
import signal
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import msgspec
import pytest
from dagster._serdes import serialize_value
from dagster_pipes import encode_param

from lakehouse.engines.background_process import start_time
from lakehouse.engines.submit import driver_job, submitted
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES
from lakehouse.orchestration.remote import asset as remote
from lakehouse.orchestration.remote.asset import remote_asset
from lakehouse.orchestration.remote.request import StepEvent
from lakehouse.orchestration.resources import Lake
from lakehouse.settings import Platform, Settings
from lakehouse_tests.fixtures.spark import settings_of

SUBMIT = '#!/bin/sh\necho "$4" >> {launches}\nexec "$PYSPARK_DRIVER_PYTHON" "$4"\n'
PROGRAM = """
import time
from dagster_pipes import open_dagster_pipes

with open_dagster_pipes() as pipes:
    request = pipes.get_extra("lakehouse/step")
    pipes.log.info(f"at work on {{request['asset_keys']}} for {{request['tags']['lakehouse/runtime_date']}}")
{body}
"""
REPORT = """
    pipes.report_custom_message({"kind": "event", "event": EVENT})
    pipes.report_custom_message({"kind": "end", "outcome": "success", "seconds": 1.0})
"""
MADE = dg.AssetMaterialization(
    "birds",
    metadata={"rows": 3, "offsets": dg.TableMetadataValue([dg.TableRecord({"partition": 0})], dg.TableSchema([]))},
    tags={
        "lakehouse/runtime_date": "2013-05-14",
        "dagster/data_version": "7",
        "dagster/data_version_is_user_provided": "true",
    },
)


@dg.multi_asset(
    name="ingest_birds", specs=[dg.AssetSpec("birds", skippable=True), dg.AssetSpec("rest", skippable=True)]
)
def _ingest_birds():  # Dagster would take an annotation for that of its outputs
    pytest.fail("the step is done elsewhere")


RUN_ID = "00000000-0000-4000-8000-000000000001"
CONTEXT = {
    "asset_keys": None,
    "code_version_by_asset_key": None,
    "provenance_by_asset_key": None,
    "partition_key": None,
    "partition_key_range": None,
    "partition_time_window": None,
    "run_id": RUN_ID,
    "job_name": None,
    "retry_number": 0,
    "extras": {"lakehouse/step": {"asset_keys": [], "tags": {"lakehouse/runtime_date": "2013-05-14"}}},
}
Driver = Callable[[str], Path]


@pytest.fixture
def settings(tmp_path: Path, jars: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    submit = tmp_path / "spark" / "bin" / "spark-submit"
    submit.parent.mkdir(parents=True)
    submit.write_text(SUBMIT.format(launches=tmp_path / "launches"))
    submit.chmod(0o755)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    platform = Platform(name="local", mode="submit", master="local[1]", stop_timeout_seconds=5)
    return settings_of(tmp_path / "state", jars, platform)


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Driver:
    """Write the program that stands for a driver."""

    def write(body: str) -> Path:
        program = tmp_path / "program.py"
        text = textwrap.indent(textwrap.dedent(body), "    ").replace("EVENT", repr(serialize_value(MADE)))
        program.write_text(PROGRAM.format(body=text))
        monkeypatch.setattr(remote, "PROGRAM", program)
        return program

    return write


def run(settings: Settings, instance: dg.DagsterInstance, **options: Any) -> dg.ExecuteInProcessResult:
    asset = remote_asset(_ingest_birds, DEFAULT_NAMES)
    job = dg.Definitions(assets=[asset], resources={"lake": Lake(settings)}).resolve_implicit_global_asset_job_def()
    tags = {"lakehouse/runtime_date": "2013-05-14"}
    return job.execute_in_process(instance=instance, raise_on_error=False, tags=tags, **options)


def launches(tmp_path: Path) -> int:
    return len((tmp_path / "launches").read_text().splitlines())


def test_what_the_driver_reports_is_materialized_as_it_is(settings: Settings, driver: Driver, tmp_path: Path) -> None:
    driver(REPORT)
    with dg.DagsterInstance.ephemeral() as instance:
        result = run(settings, instance)
        lines = [entry.user_message for entry in instance.all_logs(result.run_id)]
    assert result.success
    (event,) = result.get_asset_materialization_events()
    made = event.materialization
    assert made.asset_key == dg.AssetKey("birds")
    assert made.metadata["rows"].value == 3
    assert made.metadata["offsets"] == MADE.metadata["offsets"]
    tags = made.tags or {}
    assert (tags["lakehouse/runtime_date"], tags["dagster/data_version"]) == ("2013-05-14", "7")
    assert "at work on ['birds', 'rest'] for 2013-05-14" in lines, "log lines come through"
    assert launches(tmp_path) == 1


def test_a_partition_is_reported_once_and_others_beside_it(settings: Settings, driver: Driver) -> None:
    days = dg.StaticPartitionsDefinition(["mon", "tue"])

    @dg.multi_asset(name="ingest_birds", specs=[dg.AssetSpec("birds", skippable=True)], partitions_def=days)
    def by_day() -> None:
        pytest.fail("the step is done elsewhere")

    asset = remote_asset(by_day, DEFAULT_NAMES)
    tags = {"lakehouse/runtime_date": "2013-05-14"}
    for partition_key, shown in (("mon", ["mon"]), (None, ["mon", "tue", None])):
        events = [dg.AssetMaterialization("birds", partition=day) for day in ("mon", "tue")]
        chosen = events[:1] if partition_key else [*events, MADE]
        answers = [StepEvent(serialize_value(event)) for event in chosen]
        driver(
            f"for answer in {[msgspec.to_builtins(answer) for answer in answers]!r}:\n"
            "    pipes.report_custom_message(answer)\n"
            "pipes.report_custom_message({'kind': 'end', 'outcome': 'success', 'seconds': 1.0})\n"
        )
        with dg.DagsterInstance.ephemeral() as instance:
            job = dg.Definitions(
                assets=[asset], resources={"lake": Lake(settings)}
            ).resolve_implicit_global_asset_job_def()
            result = job.execute_in_process(instance=instance, partition_key=partition_key, tags=tags)
        found = [event.materialization.partition for event in result.get_asset_materialization_events()]
        assert found == shown


def test_a_failure_there_is_a_failure_here(settings: Settings, driver: Driver) -> None:
    driver("""
        end = {"kind": "end", "outcome": "failure", "seconds": 1.0, "error": "IngestRefused"}
        pipes.report_custom_message({**end, "message": "topic is gone"})
    """)
    with dg.DagsterInstance.ephemeral() as instance:
        result = run(settings, instance)
    failure = result.failure_data_for_node("ingest_birds")
    assert failure is not None
    assert failure.error is not None
    assert "IngestRefused: topic is gone" in failure.error.to_string()


def test_a_driver_that_was_killed_is_named_and_the_next_try_launches_another(
    settings: Settings, driver: Driver, tmp_path: Path
) -> None:
    driver("""
        import os, signal
        print("out of memory", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    with dg.DagsterInstance.ephemeral() as instance:
        result = run(settings, instance)
        failure = result.failure_data_for_node("ingest_birds")
        assert failure is not None
        assert failure.error is not None
        assert "did not say how its step did: out of memory" in failure.error.to_string()
        driver(REPORT)
        assert run(settings, instance).success
    assert launches(tmp_path) == 2


@pytest.mark.parametrize("ended", [False, True], ids=["at work", "ended unheard"])
def test_a_driver_that_a_killed_dagster_has_left_is_found(
    settings: Settings, driver: Driver, tmp_path: Path, *, ended: bool
) -> None:
    go_on = tmp_path / "go on"
    wait = f"import pathlib\nwhile not pathlib.Path({str(go_on)!r}).exists(): time.sleep(0.01)\n"
    program = driver(wait + textwrap.dedent(REPORT))
    with dg.DagsterInstance.ephemeral() as instance:
        job = driver_job(settings.state, "ingest_birds", RUN_ID)
        job.messages.touch()
        pipes = {
            "DAGSTER_PIPES_CONTEXT": encode_param({"data": CONTEXT}),
            "DAGSTER_PIPES_MESSAGES": encode_param({"path": str(job.messages)}),
        }
        # As a Dagster has done that was killed while it waited.
        with submitted(job, settings, program, pipes):
            while "opened" not in job.messages.read_text():
                assert job.running()
        go_on.touch()
        while ended and job.running():
            time.sleep(0.01)
        result = run(settings, instance, run_id=RUN_ID)
    assert result.success
    assert len(result.get_asset_materialization_events()) == 1
    assert launches(tmp_path) == 1


def test_a_cancelled_run_ends_its_driver(settings: Settings, driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    driver("time.sleep(600)")
    looks = iter(range(1000))

    def cancelled(seconds: float) -> None:
        time.sleep(seconds)
        (job,) = (settings.state.root / "submit" / "ingest_birds").glob("*/1/messages")
        if next(looks) > 0 and "at work" in job.read_text():
            raise KeyboardInterrupt

    monkeypatch.setattr(remote, "_wait", cancelled)
    with dg.DagsterInstance.ephemeral() as instance:
        assert not run(settings, instance).success
    (folder,) = (settings.state.root / "submit" / "ingest_birds").iterdir()
    pid = int((folder / "1" / "driver.pid").read_text().split()[0])
    alive = start_time(pid) is not None
    if alive:
        os.killpg(pid, signal.SIGKILL)
    assert not alive, "it has ended"
    job = driver_job(settings.state, "ingest_birds", folder.name)
    assert job.token.number == 2, "the next try does not wait for what was ended"
