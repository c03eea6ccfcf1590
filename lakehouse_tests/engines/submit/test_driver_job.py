"""A driver that is a process of this machine is recognised again, and ended with all it has started."""

import os
import sys
from pathlib import Path

import psutil

from lakehouse.engines.submit.driver_job import DriverJob

CHILD = """
import subprocess, time
print(subprocess.Popen(["sleep", "600"]).pid, flush=True)
time.sleep(600)
"""


def launched(folder: Path) -> DriverJob:
    """A driver that has started a process of its own."""
    job = DriverJob(folder)
    job.launch([sys.executable, "-S", "-c", CHILD], dict(os.environ))
    while not job.log.read_text():
        assert job.running()
    return job


def test_the_end_of_a_driver_is_the_end_of_what_it_has_started(tmp_path: Path) -> None:
    job = launched(tmp_path)
    assert DriverJob(tmp_path).running()
    child = psutil.Process(int(job.log.read_text()))
    assert job.end(patience=5)
    assert not job.running()
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
    assert not job.end(patience=5)


def test_one_that_ignores_the_gentle_signal_is_ended_by_force(tmp_path: Path) -> None:
    job = DriverJob(tmp_path)
    program = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
    )
    job.launch([sys.executable, "-S", "-c", program], dict(os.environ))
    while not job.log.read_text():
        assert job.running()
    assert job.end(patience=0.1)
    while job.running():
        os.sched_yield()
