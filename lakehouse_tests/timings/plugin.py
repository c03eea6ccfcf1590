"""Where the time of a run of the suite goes: `pytest --timings FOLDER` writes it down as JSON lines.

Each process writes its phases of tests and set-ups of fixtures; the process that leads also looks twice a second at all
processes of the suite, and writes what each worker's tree has used of the cores and which servers were started.
"""

import json
import os
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

INTERVAL = 0.5
SERVERS = {
    "SparkConnectServer": "Spark Connect",
    "org.apache.spark.deploy.SparkSubmit": "Spark driver",
    "kafka.Kafka": "Kafka broker",
    "ConnectStandalone": "Kafka Connect",
    "RestCatalogServer": "REST catalog",
    "StorageTool": "Kafka format",
    "initdb": "PostgreSQL initdb",
    "postgres -D": "PostgreSQL",
    "pyspark.daemon": "Python worker",
    "lakehouse.daemon": "Python worker",
    "worker_daemon": "Python worker",
    "dagster": "Dagster process",
    "chromium": "browser",
    "maven": "Maven",
    "java ": "other Java",
    "python": "Python",
}
UNCERTAIN = ("", "Python")


class Recorder:
    """What one process of pytest measures of its tests and fixtures."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / f"tests-{os.getpid()}.jsonl").open("a", encoding="utf-8")

    def write(self, record: Mapping[str, Any]) -> None:
        """Add a line."""
        self._file.write(json.dumps(record) + "\n")
        self._file.flush()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> Any:
        """A fixture's own time, with that of the fixtures that it asks for by name while it is set up."""
        start = time.time()
        try:
            return (yield)
        finally:
            self.write(
                {
                    "kind": "fixture",
                    "name": fixturedef.argname,
                    "scope": str(fixturedef.scope),
                    "pid": os.getpid(),
                    "start": start,
                    "end": time.time(),
                }
            )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A phase of a test, as the process that ran it saw it."""
        if getattr(report, "node", None) is None:  # with xdist, the leading process hears it again
            phase = {"kind": "phase", "name": report.nodeid, "phase": report.when, "outcome": report.outcome}
            self.write(phase | {"pid": os.getpid(), "start": report.start, "end": report.stop})


@dataclass
class Process:
    """A process of the suite, dead or alive.

    Attributes:
        worker: number of the process of pytest below which it was started.
        what: kind of server, or of program.
        cpu: CPU seconds, when it was seen last.
    """

    worker: int
    what: str
    cpu: float = 0.0


class Watch(threading.Thread):
    """Looks at the processes of the suite until it is stopped."""

    def __init__(self, folder: Path, *, spread: bool) -> None:
        """Watch this process and what it starts; if work is spread over processes, each of those for itself."""
        super().__init__(daemon=True)
        self._spread = spread
        self._file = (folder / "processes.jsonl").open("a", encoding="utf-8")
        self._done = threading.Event()
        self._seen: dict[tuple[int, float], Process] = {}  # by number and start: numbers come again
        self._newest: dict[int, Process] = {}

    def run(self) -> None:
        """Look, and note."""
        while not self._done.wait(INTERVAL):
            self._look()

    def stop(self) -> None:
        """End, and write what was seen of each process."""
        self._done.set()
        self.join()
        self._look()
        for process in self._seen.values():
            self._note({"kind": "process", **asdict(process)})
        self._file.close()

    def _look(self) -> None:
        for process in psutil.process_iter():
            with suppress(psutil.NoSuchProcess), process.oneshot():
                key, times = (process.pid, process.create_time()), process.cpu_times()
                if key not in self._seen:
                    worker = self._worker(process)
                    if worker is None:
                        continue
                    self._seen[key] = self._newest[process.pid] = Process(worker, "")
                seen = self._seen[key]
                seen.cpu = times.user + times.system
                if seen.what in UNCERTAIN:  # what a server is, its command line says a moment after the fork
                    seen.what = _kind(" ".join(process.cmdline()))
        totals: dict[int, float] = {}
        for process in self._seen.values():
            totals[process.worker] = totals.get(process.worker, 0.0) + process.cpu
        self._note({"kind": "cpu", "time": time.time(), "by_worker": totals})

    def _worker(self, process: psutil.Process) -> int | None:
        """The process of pytest below which it was started; None where that is none of ours."""
        root, parent = os.getpid(), process.ppid()
        if root in (process.pid, parent):
            return process.pid if self._spread else root
        return self._newest[parent].worker if parent in self._newest else None

    def _note(self, record: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(record) + "\n")


def _kind(command: str) -> str:
    return next((kind for part, kind in SERVERS.items() if part in command), "")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--timings FOLDER`."""
    parser.addoption("--timings", type=Path, metavar="FOLDER", help="write down where the time goes")


def pytest_configure(config: pytest.Config) -> None:
    """Measure where it is asked for.

    Raises:
        UsageError: The folder holds another run, with which this one would be mixed.
    """
    folder = config.getoption("timings")
    if folder and not hasattr(config, "workerinput") and any(folder.glob("*.jsonl")):
        raise pytest.UsageError(f"--timings={folder}: another run is in it. Remove it, or name another folder.")
    if folder:
        config.pluginmanager.register(Recorder(folder), "timings-recorder")


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None]:
    """Look on until all is torn down."""
    try:
        return (yield)
    finally:
        watch = getattr(session.config, "_timings_watch", None)
        if watch:
            watch.stop()


def pytest_sessionstart(session: pytest.Session) -> None:
    """One process looks at all."""
    folder = session.config.getoption("timings")
    if folder and not hasattr(session.config, "workerinput"):
        spread = bool(session.config.getoption("numprocesses", default=None))
        session.config._timings_watch = Watch(folder, spread=spread)
        session.config._timings_watch.start()
