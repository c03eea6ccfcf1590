import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from lakehouse.engines.background_process import Daemon

STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"
)


@pytest.fixture
def daemon(tmp_path: Path):
    daemon = Daemon(tmp_path / "run" / "it.pid", tmp_path / "logs" / "it.log")
    yield daemon
    daemon.stop(patience=0)


def started(daemon: Daemon, program: str = "import time; time.sleep(60)") -> int:
    return daemon.start([sys.executable, "-c", program], os.environ)


def test_it_is_known_to_whoever_reads_the_same_file(daemon: Daemon):
    assert daemon.pid() is None
    number = started(daemon)
    assert Daemon(daemon.pid_file, daemon.log).pid() == number
    assert daemon.stop(patience=5) is True
    assert daemon.pid() is None
    assert daemon.stop(patience=5) is False


def test_it_outlives_its_starter_and_is_out_of_reach_of_ctrl_c(tmp_path: Path):
    daemon = Daemon(tmp_path / "it.pid", tmp_path / "it.log")
    program = f"""
import os, sys
from pathlib import Path
from lakehouse.engines.background_process import Daemon
Daemon(Path({str(daemon.pid_file)!r}), Path({str(daemon.log)!r})).start(
    [sys.executable, "-c", "import time; time.sleep(60)"], os.environ)
os.killpg(0, {signal.SIGINT})
"""
    subprocess.run([sys.executable, "-c", program], start_new_session=True, capture_output=True, check=False)
    try:
        number = daemon.pid()
        assert number is not None
        assert os.getsid(number) == number
    finally:
        assert daemon.stop(patience=5)


def test_one_that_is_stopped_ends_as_gently_as_any(daemon: Daemon):
    program = STUBBORN.replace("signal.SIG_IGN", "lambda *_: exit(print('bye'))")
    number = started(daemon, program)
    while "deaf\n" not in daemon.log.read_text():
        time.sleep(0.02)
    os.kill(number, signal.SIGSTOP)
    assert daemon.stop(patience=30)
    assert daemon.log.read_text().split() == ["deaf", "bye"]


def test_what_it_prints_is_in_its_log(daemon: Daemon):
    started(daemon, "import sys; print('out'); print('err', file=sys.stderr)")
    while daemon.pid() is not None:
        time.sleep(0.02)
    assert set(daemon.log.read_text().split()) == {"out", "err"}


def test_one_that_ignores_the_request_to_end_is_ended(daemon: Daemon):
    number = started(daemon, STUBBORN)
    while "deaf\n" not in daemon.log.read_text():
        time.sleep(0.02)
    assert daemon.stop(patience=0.2) is True
    assert not psutil.pid_exists(number)


def test_a_number_that_belongs_to_another_process_now_is_not_ours(daemon: Daemon):
    started(daemon)
    daemon.stop(patience=5)
    daemon.pid_file.write_text(f"{os.getpid()} 1\n")
    assert daemon.pid() is None


@pytest.mark.parametrize("content", ["", "\n", "12", "twelve 1", "4194304 99"])
def test_a_file_that_a_kill_left_half_written_means_nothing_runs(daemon: Daemon, content: str):
    daemon.pid_file.parent.mkdir()
    daemon.pid_file.write_text(content)
    assert daemon.pid() is None
    assert daemon.stop(patience=0) is False
