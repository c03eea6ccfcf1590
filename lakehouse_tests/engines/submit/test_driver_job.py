"""A driver is found again by its token, watched or not; one that nobody waits for is ended with all it has started."""

import os
import sys
from pathlib import Path

import psutil
import pytest

from lakehouse.engines.submit import DriverJob, driver_job, end_abandoned
from lakehouse.settings.state import StateFolder

CHILD = """
import subprocess, time
print(subprocess.Popen(["sleep", "600"]).pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    return StateFolder(tmp_path)


def launched(state: StateFolder, execution: str = "run-1") -> DriverJob:
    """A driver that has started a process of its own."""
    job = driver_job(state, "ingest_birds", execution)
    job.launch([sys.executable, "-S", "-c", CHILD], dict(os.environ))
    while not job.log.read_text():
        assert job.running()
    return job


def test_a_retry_finds_the_driver_that_it_has_launched(state: StateFolder) -> None:
    job = launched(state)
    again = driver_job(state, "ingest_birds", "run-1")
    assert (again, again.launched, again.running()) == (job, True, True)
    assert str(again.token) == "ingest_birds/run-1/1"
    assert not driver_job(state, "ingest_birds", "run-2").launched
    assert not driver_job(state, "mirror_birds", "run-1").launched
    assert job.end(patience=5)
    assert driver_job(state, "ingest_birds", "run-1") == job, "its result is still to be taken over"
    job.settle()
    fresh = driver_job(state, "ingest_birds", "run-1")
    assert (fresh.token.number, fresh.launched) == (2, False)


def test_the_end_of_a_driver_is_the_end_of_what_it_has_started(state: StateFolder) -> None:
    job = launched(state)
    child = psutil.Process(int(job.log.read_text()))
    assert job.end(patience=5)
    assert not job.running()
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
    assert not job.end(patience=5)


def test_one_that_ignores_the_gentle_signal_is_ended_by_force(state: StateFolder) -> None:
    job = driver_job(state, "ingest_birds", "run-1")
    program = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
    )
    job.launch([sys.executable, "-S", "-c", program], dict(os.environ))
    while not job.log.read_text():
        assert job.running()
    assert job.end(patience=0.1)
    while job.running():
        os.sched_yield()


def test_only_what_nobody_waits_for_is_abandoned(state: StateFolder) -> None:
    left, watched = launched(state, "run-1"), launched(state, "run-2")
    watched.watch()
    (left.folder / "watcher").write_text(f"{os.getpid()} another-start")
    assert end_abandoned(state, "ingest_birds", "run-1", patience=5) == []
    assert end_abandoned(state, "ingest_birds", "run-3", patience=5) == [left.token]
    assert (left.running(), watched.running()) == (False, True)
    assert driver_job(state, "ingest_birds", "run-1").token.number == 2
    watched.end(patience=5)
