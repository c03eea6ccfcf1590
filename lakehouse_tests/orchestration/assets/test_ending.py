"""Runs that are killed or terminated: what the next one finds, and what is left running (nothing)."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import psutil
import pytest
from dagster._core.storage.dagster_run import FINISHED_STATUSES
from pyspark.sql import SparkSession

from lakehouse.cli.processes.dagster_home import prepare_home
from lakehouse.proofs.audit import audit_stream
from lakehouse_tests.fixtures.environ import clean_environ
from lakehouse_tests.orchestration.assets.house import House

pytestmark = [pytest.mark.kill, pytest.mark.kafka, pytest.mark.spark]
UNFINISHED = [status for status in dg.DagsterRunStatus if status not in FINISHED_STATUSES]
LAKEHOUSE = str(Path(sys.executable).parent / "lakehouse")


def start(house: House, failpoints: str = "") -> "subprocess.Popen[str]":
    """Begin `lakehouse run` as a shell would, in a group of its own."""
    return subprocess.Popen(
        [LAKEHOUSE, "--conf", str(house.conf), "run"],
        env=clean_environ(LAKEHOUSE_FAILPOINTS=failpoints, COLUMNS="200"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def group_of(process: "subprocess.Popen[str]") -> list[psutil.Process]:
    """Every process of its group, by name."""
    processes: list[psutil.Process] = []
    for other in psutil.process_iter():
        try:
            if os.getpgid(other.pid) == process.pid and other.status() != psutil.STATUS_ZOMBIE:
                processes.append(other)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return processes


@pytest.fixture
def working_run(house: House) -> Iterator[tuple[House, "subprocess.Popen[str]"]]:
    """A run that is held right before its publish, with Spark up."""
    house.birds(10)
    gate = house.root / "gate"
    process = start(house, f"publish.before=hold:{gate}")
    deadline = time.monotonic() + 200
    while not Path(f"{gate}.reached").exists():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline, "the run did not get that far"
        time.sleep(0.1)
    yield house, process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def birds(house: House) -> int:
    return house.lake().arrow("raw.birds").num_rows


def require_proven(house: House) -> None:
    proof = audit_stream(house.lake().catalog, "birds", ("raw.birds", "quarantine.birds"))
    assert proof.holds, proof.findings


def require_no_run_is_left(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAGSTER_HOME", "")
    monkeypatch.setenv("LAKEHOUSE_CONF", "")
    monkeypatch.setenv("LAKEHOUSE_DECLARATIONS", "")
    prepare_home(house.settings)
    with dg.DagsterInstance.get() as instance:
        assert not instance.get_run_records(dg.RunsFilter(statuses=UNFINISHED))
        for pool in instance.event_log_storage.get_concurrency_keys():
            assert not instance.event_log_storage.get_concurrency_info(pool).claimed_slots


@pytest.mark.soak
@pytest.mark.slow
def test_killed_before_dagster_hears_of_the_publish_nothing_is_lost_and_nothing_doubled(
    working_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = working_house
    house.birds(10)
    killed = start(house, "dagster.before=kill")
    killed.communicate(timeout=250)
    assert killed.returncode == -signal.SIGKILL
    assert birds(house) == 10, "it was published"
    house.birds(5)
    output = house.command("run").output
    assert "ended 1 run of killed processes" in output
    assert birds(house) == 15
    require_proven(house)
    require_no_run_is_left(house, monkeypatch)
    assert "no row was added" in house.command("run").output


@pytest.mark.slow
def test_sigterm_ends_a_run_within_seconds_and_leaves_nothing(
    working_run: tuple[House, "subprocess.Popen[str]"], monkeypatch: pytest.MonkeyPatch, spark: SparkSession
) -> None:
    house, process = working_run
    assert [member for member in group_of(process) if "java" in member.name()], "Spark is up"
    process.send_signal(signal.SIGTERM)
    output = process.communicate(timeout=120)[0]
    assert process.returncode != 0, output
    assert not group_of(process)
    assert birds(house) == 0
    require_no_run_is_left(house, monkeypatch)
    assert "of killed processes" not in house.command("run").output, "the run was told that it ended"
    assert birds(house) == 10
    require_proven(house)


@pytest.mark.soak
@pytest.mark.slow
def test_a_killed_runs_jvm_goes_with_it(working_run: tuple[House, "subprocess.Popen[str]"]) -> None:
    _, process = working_run
    process.kill()
    process.wait()
    deadline = time.monotonic() + 60
    while group_of(process) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not group_of(process)
