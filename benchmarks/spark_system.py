"""Systems that run in Spark: a Python process with a driver of its own, warm over all runs."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, Self

from benchmarks.declared import Case
from benchmarks.lab import Lab
from lakehouse.engines.jars import fetch_jars
from lakehouse.settings import Settings

LOCK = Path(__file__).parent / "spark"


class SparkProcess:
    """A process that runs `benchmarks.spark_worker` with a module of ours; requests and answers are lines of JSON."""

    def __init__(self, module: str, settings: Settings) -> None:
        self.module = module
        self._settings = settings
        self._log = settings.state.logs / f"bench-{module}.log"

    def __enter__(self) -> Self:
        state = self._settings.state
        state.logs.mkdir(parents=True, exist_ok=True)
        settings = state.root / f"{self.module}.json"
        settings.write_text(self._settings.model_dump_json())
        command = [sys.executable, "-m", "benchmarks.spark_worker", self.module, settings]
        with self._log.open("wb") as log:
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

    def ask(self, **request: object) -> dict[str, Any]:
        """Send a request to the process, and wait for what it answers."""
        _pipe(self.process.stdin).write(json.dumps(request) + "\n")
        _pipe(self.process.stdin).flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        line = _pipe(self.process.stdout).readline()
        if not line:
            raise RuntimeError(f"{self.module} failed: {self._log.read_text()[-3000:]}")
        return json.loads(line)


def with_avro(settings: Settings) -> Settings:
    """With Spark's own reader of Avro on the class path."""
    folder = settings.state.jars / "bench-spark"
    jars = fetch_jars(LOCK / "pom.xml", folder, LOCK / "jars.sha256")
    conf = settings.platform.conf | {"spark.driver.extraClassPath": os.pathsep.join(map(str, jars))}
    return settings.model_copy(update={"platform": settings.platform.model_copy(update={"conf": conf})})


class SparkSystem(SparkProcess):
    """A system that ingests a topic."""

    def __init__(self, name: str, lab: Lab) -> None:
        super().__init__(name, lab.settings if name == "ours" else with_avro(lab.settings))
        self.name = name
        self._lab = lab

    def prepare(self, case: Case, namespace: str) -> None:
        """Make the tables."""
        tables = case.declarations(namespace, self._lab.topic).tables.values()
        self._lab.create_tables(tables)

    def ingest(self, case: Case, namespace: str) -> None:
        """Ask the process, and wait."""
        self.ask(
            case=case.name,
            namespace=namespace,
            topic=self._lab.topic,
            commit_records=self._lab.limits.commit_records,
        )

    def settle(self, namespace: str) -> None:
        """Nothing is left to do."""


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream
