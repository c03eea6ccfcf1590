"""A second `lakehouse dev` of the same folder is told that the first one runs, before anything is started."""

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from lakehouse.cli.processes.dagster_home import alive_as_dev
from lakehouse.settings.state import StateFolder
from lakehouse_tests.cli.conftest import Lakehouse
from lakehouse_tests.fixtures.broker import REPOSITORY


def test_the_second_of_a_folder_names_the_process_of_the_first(
    lakehouse: Lakehouse, empty_state: StateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKEHOUSE_PLATFORM", "local")
    with socket.socket() as first, alive_as_dev(empty_state):
        first.bind(("127.0.0.1", 0))
        first.listen()
        done = lakehouse("dev", "--port", str(first.getsockname()[1]))
    assert done.exit_code == 2
    printed = " ".join(done.stderr.split())
    assert f"`lakehouse dev` runs already with {empty_state.root}, as process {os.getpid()}." in printed
    assert f"stop it with Ctrl-C or `kill {os.getpid()}`" in printed
    assert not (empty_state.root / "broker").exists()


def test_make_looks_at_the_port_before_it_installs_anything(tmp_path: Path) -> None:
    shutil.copy(REPOSITORY / "Makefile", tmp_path)
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        port = stranger.getsockname()[1]
        command = ["make", "-C", str(tmp_path), "dev", f"PORT={port}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert f"error: Port {port} is taken. Remedy: choose another: make dev PORT=N" in done.stderr
    assert "bootstrap" not in done.stderr
    assert done.returncode == 2
