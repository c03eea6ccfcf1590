"""`lakehouse dev` as a person starts it, with a state folder and ports of its own."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from lakehouse.settings import load_settings
from lakehouse_tests.fixtures.broker import REPOSITORY, state_with_jars
from lakehouse_tests.fixtures.environ import clean_environ
from lakehouse_tests.fixtures.spark import SHORT_LIVED, free_port
from lakehouse_tests.orchestration.assets.house import house, shipped_conf, working_house

__all__ = ["house", "working_house"]
STREAMS = ("flights", "reference")  # each sensor starts runs, so not the whole demo
LAKEHOUSE = str(Path(sys.executable).parent / "lakehouse")
# A page shows what Dagster's code server, its daemon and Spark have come to; on a busy machine that takes a while.
expect.set_options(timeout=60_000)


@dataclass
class Dev:
    """A running `lakehouse dev`."""

    process: "subprocess.Popen[bytes]"
    environ: dict[str, str]
    url: str
    log: Path
    root: Path

    def output(self) -> str:
        """What it has printed so far."""
        return self.log.read_text()

    def wait_until(self, true: Callable[[], object], seconds: float = 150) -> None:
        """Wait; fail with all that was printed."""
        deadline = time.monotonic() + seconds
        while not true():
            assert self.process.poll() is None, self.output()
            assert time.monotonic() < deadline, self.output()
            time.sleep(0.3)

    def command(self, *arguments: str, given: str = "") -> str:
        """Another terminal."""
        done = subprocess.run(
            [LAKEHOUSE, *arguments], env=self.environ, input=given, capture_output=True, text=True, check=True
        )
        return done.stdout

    def ask(self, query: str, **variables: object) -> Any:
        """Ask Dagster's GraphQL."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["data"]

    def runs(self) -> list[dict[str, Any]]:
        """The newest runs, newest first."""
        query = "{ runsOrError(limit: 10) { ... on Runs { results { runId status tags { key value } } } } }"
        return self.ask(query)["runsOrError"]["results"]


def environment(root: Path) -> dict[str, str]:
    """Where everything of this `lakehouse dev` is."""
    return clean_environ(
        LAKEHOUSE_HOME=str(root),
        LAKEHOUSE__KAFKA__BOOTSTRAP_SERVERS=f"127.0.0.1:{free_port()}",
        LAKEHOUSE_PLATFORM="connect",
        LAKEHOUSE__PLATFORM__REMOTE=f"sc://127.0.0.1:{free_port()}",
        COLUMNS="200",
        JDK_JAVA_OPTIONS=f"{os.environ['JDK_JAVA_OPTIONS']} {SHORT_LIVED}",
    )


@pytest.fixture(scope="package")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    """Broker, Spark Connect, Dagster's services with sensors on, and the demo's reference data."""
    folder = tmp_path_factory.mktemp("dev")
    root = folder / "state"
    state_with_jars(root, load_settings(REPOSITORY / "conf").state.jars)
    port, log = free_port(), folder / "dev.log"
    environ = environment(root) | {"LAKEHOUSE_CONF": str(shipped_conf(folder, *STREAMS))}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [LAKEHOUSE, "dev", "--port", str(port)],
            env=environ,
            stdout=output,
            stderr=output,
            start_new_session=True,
            cwd=folder,
        )
    running = Dev(process, environ, f"http://127.0.0.1:{port}", log, root)
    try:
        running.wait_until(lambda: "Stop: Ctrl-C" in running.output())
        yield running
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(60)
