"""A step that is done elsewhere: what it reports is Dagster's; it is launched once, found again, and ended with us."""

import json
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

from lakehouse.engines.background_process import start_time
from lakehouse.engines.submit import spark_submit
from lakehouse.engines.submit.job_folder import JobFolder, newest_folder
from lakehouse.engines.submit.remote_jobs import JobCost, JobState
from lakehouse.engines.submit.spark_submit import SparkSubmitJobs
from lakehouse.errors import LakehouseError
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES
from lakehouse.orchestration.remote import asset as remote
from lakehouse.orchestration.remote import watched_job
from lakehouse.orchestration.remote.asset import remote_asset
from lakehouse.orchestration.remote.request import StepEvent
from lakehouse.orchestration.resources import Lake
from lakehouse.settings import Platform, Settings
from lakehouse_tests.fixtures.spark import settings_of

SUBMIT = '#!/bin/sh\necho "$4" >> {launches}\nexec "$PYSPARK_DRIVER_PYTHON" "$4" "$6"\n'
PROGRAM = """
import json, sys, time
from dagster_pipes import PipesMappingParamsLoader, encode_param, open_dagster_pipes
from lakehouse.engines.submit.job_folder import JobFolder
from lakehouse.engines.submit.message_writer import FolderMessageWriter
from pyiceberg.io import load_file_io

folder = JobFolder(None, sys.argv[1], load_file_io({{}}, sys.argv[1]))
params = {{
    "DAGSTER_PIPES_CONTEXT": encode_param({{"data": json.loads(folder.read("request.json"))}}),
    "DAGSTER_PIPES_MESSAGES": encode_param({{}}),
}}
loader = PipesMappingParamsLoader(params)
with open_dagster_pipes(message_writer=FolderMessageWriter(folder, 0.02), params_loader=loader) as pipes:
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
        monkeypatch.setattr(spark_submit, "PROGRAM", program)
        return program

    return write


def run(settings: Settings, instance: dg.DagsterInstance, **options: Any) -> dg.ExecuteInProcessResult:
    asset = remote_asset(_ingest_birds, DEFAULT_NAMES)
    job = dg.Definitions(assets=[asset], resources={"lake": Lake(settings)}).resolve_implicit_global_asset_job_def()
    tags = {"lakehouse/runtime_date": "2013-05-14"}
    return job.execute_in_process(instance=instance, raise_on_error=False, tags=tags, **options)


def folder_of_run(settings: Settings, run_id: str) -> JobFolder:
    return newest_folder(settings, "ingest_birds", run_id)


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
        partitions = [event.materialization.partition for event in result.get_asset_materialization_events()]
        assert partitions == shown


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
        time.sleep(0.2)
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


@pytest.mark.parametrize(
    "ended", [pytest.param(False, id="at work"), pytest.param(True, id="ended unheard", marks=pytest.mark.soak)]
)
def test_a_driver_that_a_killed_dagster_has_left_is_found(
    settings: Settings, driver: Driver, tmp_path: Path, *, ended: bool
) -> None:
    go_on = tmp_path / "go on"
    wait = f"import pathlib\nwhile not pathlib.Path({str(go_on)!r}).exists(): time.sleep(0.01)\n"
    driver(wait + textwrap.dedent(REPORT))
    with dg.DagsterInstance.ephemeral() as instance:
        jobs, folder = SparkSubmitJobs(settings), folder_of_run(settings, RUN_ID)
        folder.write("request.json", json.dumps(CONTEXT).encode())
        job = jobs.start(folder.token, folder.location)  # as a Dagster has done that was killed while it waited
        go_on.touch()
        while ended and jobs.state(job).phase == "running":
            time.sleep(0.01)
        result = run(settings, instance, run_id=RUN_ID)
    assert result.success
    assert len(result.get_asset_materialization_events()) == 1
    assert launches(tmp_path) == 1


def test_what_another_run_has_left_is_ended(settings: Settings, driver: Driver, tmp_path: Path) -> None:
    driver("time.sleep(600)")
    jobs, left = SparkSubmitJobs(settings), folder_of_run(settings, "another")
    left.write("request.json", json.dumps(CONTEXT).encode())
    job = jobs.start(left.token, left.location)
    driver(REPORT)
    with dg.DagsterInstance.ephemeral() as instance:
        left.watch()
        assert run(settings, instance).success
        assert jobs.state(job).phase == "running", "this process waits for it"
        left.write("watcher", b"another-host 1 start")
        instance.add_run(dg.DagsterRun(job_name="x", run_id="another", status=dg.DagsterRunStatus.STARTED))
        assert run(settings, instance).success
        assert jobs.state(job).phase == "running", "a run of another machine waits for it"
        left.write("watcher", b"")
        instance.delete_run("another")
        assert run(settings, instance).success
    alive = jobs.state(job).phase == "running"
    jobs.cancel(job)
    assert not alive, "nobody waits for it"
    assert left.settled
    assert launches(tmp_path) == 4


def test_a_cancelled_run_ends_its_driver(settings: Settings, driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    driver("time.sleep(600)")
    looks = iter(range(1000))

    def cancelled(seconds: float) -> None:
        time.sleep(seconds)
        (reports,) = (settings.state.root / "submit" / "ingest_birds").glob("*/1/messages")
        if next(looks) > 0 and any("at work" in chunk.read_text() for chunk in reports.iterdir()):
            raise KeyboardInterrupt

    monkeypatch.setattr(watched_job, "_wait", cancelled)
    with dg.DagsterInstance.ephemeral() as instance:
        assert not run(settings, instance).success
    (folder,) = (settings.state.root / "submit" / "ingest_birds").iterdir()
    pid = int((folder / "1" / "driver.pid").read_text().split()[0])
    alive = start_time(pid) is not None
    if alive:
        os.killpg(pid, signal.SIGKILL)
    assert not alive, "it has ended"
    assert folder_of_run(settings, folder.name).token.number == 2, "the next try does not wait for what was ended"


class _Service(SparkSubmitJobs):
    """As a service that measures what it runs."""

    def cost(self, job: str) -> JobCost:
        """Once it has ended."""
        ended = self.state(job) == JobState("ended", "it printed nothing")
        return JobCost(vcpu_hours=0.25, memory_gb_hours=1.0) if ended else JobCost()

    def logs(self, job: str) -> str:
        """An address."""
        return f"https://logs.example.com/{Path(job).name}"


def test_a_materialization_says_what_it_cost_and_where_logs_are(
    settings: Settings, driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "remote_jobs", _Service)
    driver(REPORT)
    with dg.DagsterInstance.ephemeral() as instance:
        (event,) = run(settings, instance).get_asset_materialization_events()
    metadata = event.materialization.metadata
    assert (metadata["vCPU hours"].value, metadata["memory GB hours"].value) == (0.25, 1.0)
    assert metadata["driver's logs"] == dg.MetadataValue.url("https://logs.example.com/1")
    assert metadata["rows"].value == 3


class _Away(SparkSubmitJobs):
    """As a service that does not answer now and then, and never says what anything has cost."""

    asked = 0

    def state(self, job: str) -> JobState:
        """Every second time."""
        _Away.asked += 1
        if _Away.asked % 2:
            raise LakehouseError("The service is away.", remedy="wait.")
        return super().state(job)

    def cost(self, job: str) -> JobCost:
        """Never."""
        raise LakehouseError(f"The service is away, and {job} is not known.", remedy="wait.")


def test_a_service_that_is_away_for_a_while_ends_no_job(
    settings: Settings, driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "remote_jobs", _Away)
    driver(f"time.sleep(0.3)\n{textwrap.dedent(REPORT)}")
    with dg.DagsterInstance.ephemeral() as instance:
        result = run(settings, instance)
        lines = [entry.user_message for entry in instance.all_logs(result.run_id)]
    assert result.success, "what was published is reported"
    assert launches(tmp_path) == 1
    assert sum("is out of sight: The service is away." in line for line in lines) >= 1
    assert any("nobody says what the driver" in line for line in lines)
    monkeypatch.setattr(watched_job, "_LONGEST_SILENCE", -1.0)
    with dg.DagsterInstance.ephemeral() as instance:
        assert not run(settings, instance).success
