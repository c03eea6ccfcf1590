"""A signal ends a run within seconds, and nothing of it is left running."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from lakehouse.engines.spark.interrupts import cancelled_by_signals
from lakehouse.settings import Settings
from lakehouse_tests.engines.spark import endless_job
from lakehouse_tests.fixtures.spark import classic_platform, settings_of

SECONDS = 90  # the job would never end; stopping the context and ending the JVM may take the platform's patience each
LEFTOVERS = 60  # Spark gives a Python worker two seconds to see that it is unwanted; a loaded machine takes its time


@pytest.fixture
def settings(request: pytest.FixtureRequest, tmp_path: Path, jars: Path) -> Settings:
    if request.param == "connect":
        return request.getfixturevalue("connect_settings")
    return settings_of(tmp_path / "state", jars, classic_platform())


def processes_of(session: int) -> list[psutil.Process]:
    processes = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE:
                processes.append(process)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return processes


def wait_for(what: Path, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not what.exists():
        assert time.monotonic() < deadline, f"{what.name} did not appear"
        time.sleep(0.05)


@pytest.mark.spark
@pytest.mark.kill
@pytest.mark.parametrize(
    ("settings", "handler", "number"),
    [
        ("connect", "own", signal.SIGINT),
        pytest.param("classic", "none", signal.SIGTERM, marks=pytest.mark.soak),
        pytest.param("classic", "own", signal.SIGINT, marks=pytest.mark.soak),
        pytest.param("classic", "own", signal.SIGTERM, marks=pytest.mark.soak),
        pytest.param("connect", "none", signal.SIGTERM, marks=pytest.mark.soak),
        pytest.param("connect", "own", signal.SIGTERM, marks=pytest.mark.soak),
    ],
    indirect=["settings"],
)
def test_a_signal_ends_a_job(settings: Settings, tmp_path: Path, handler: str, number: int) -> None:
    (tmp_path / "settings.json").write_text(settings.model_dump_json())
    heartbeat = tmp_path / "heartbeat"
    command = [sys.executable, "-m", endless_job.__name__, tmp_path / "settings.json", heartbeat, handler]
    with (tmp_path / "output").open("w") as output:
        child = subprocess.Popen(command, start_new_session=True, stdout=output, stderr=output)
    try:
        wait_for(heartbeat, 90)
        assert processes_of(child.pid), "the test can see them"
        os.kill(child.pid, number)
        child.wait(SECONDS)
        assert (tmp_path / "heartbeat.finally").exists(), "the step could clean up"
        assert child.returncode == (143 if handler == "none" else 42), "what the handler raised arrives"
        deadline = time.monotonic() + LEFTOVERS
        while processes_of(child.pid) or time.time() - heartbeat.stat().st_mtime < 1:
            assert time.monotonic() < deadline, f"left running: {processes_of(child.pid)}"
            time.sleep(0.2)
    finally:
        for process in processes_of(child.pid):
            process.kill()
        child.wait()


def test_the_watcher_hears_signals_whoever_handles_them() -> None:
    heard = []
    handled = []
    listening = signal.set_wakeup_fd(-1)  # a test before this one may have left one
    former = signal.signal(signal.SIGTERM, lambda *_: handled.append("before"))
    try:
        with cancelled_by_signals(lambda: heard.append("one")):
            signal.signal(signal.SIGTERM, lambda *_: handled.append("exchanged"))
            with cancelled_by_signals(lambda: heard.append("two")):
                os.kill(os.getpid(), signal.SIGTERM)
                wait_until(lambda: len(heard) == 2)
            os.kill(os.getpid(), signal.SIGTERM)
            wait_until(lambda: len(heard) == 3)
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, former)
    assert sorted(heard) == ["one", "one", "two"]
    assert handled == ["exchanged"] * 3
    assert signal.set_wakeup_fd(listening) == -1


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)
