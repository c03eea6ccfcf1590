"""The two systems that run in Spark: a Python process with a driver of its own, warm over all runs."""

import json
import subprocess
import sys
from pathlib import Path
from typing import IO, Self

from benchmarks.declared import Case
from benchmarks.lab import Lab


class SparkSystem:
    """A process that runs `benchmarks.spark_worker`; requests and answers are lines of JSON."""

    def __init__(self, name: str, lab: Lab) -> None:
        self.name = name
        self._lab = lab

    def __enter__(self) -> Self:
        state = self._lab.settings.state
        state.logs.mkdir(parents=True, exist_ok=True)
        settings = state.root / f"{self.name}.json"
        settings.write_text(self._lab.settings.model_dump_json())
        command = [sys.executable, "-m", "benchmarks.spark_worker", self.name, settings]
        with (state.logs / f"bench-{self.name}.log").open("wb") as log:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=Path(__file__).parents[1],
            )
        try:
            self._answer()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        _pipe(self.process.stdin).close()
        self.process.wait(60)
        _pipe(self.process.stdout).close()

    @property
    def pid(self) -> int:
        """The Python process; the JVM and the workers are below it."""
        return self.process.pid

    def prepare(self, case: Case, namespace: str) -> None:
        """Make the tables."""
        tables = case.declarations(namespace, self._lab.topic).tables.values()
        self._lab.create_tables(tables)

    def ingest(self, case: Case, namespace: str) -> None:
        """Ask the process, and wait."""
        request = {
            "case": case.name,
            "namespace": namespace,
            "topic": self._lab.topic,
            "commit_records": self._lab.limits.commit_records,
        }
        _pipe(self.process.stdin).write(json.dumps(request) + "\n")
        _pipe(self.process.stdin).flush()
        self._answer()

    def settle(self, namespace: str) -> None:
        """Nothing is left to do."""

    def _answer(self) -> None:
        line = _pipe(self.process.stdout).readline()
        if line.strip() != "done":
            log = self._lab.settings.state.logs / f"bench-{self.name}.log"
            raise RuntimeError(f"{self.name} failed: {log.read_text()[-3000:]}")


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream
