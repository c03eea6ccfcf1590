"""`lakehouse dev` in a folder of its own, as a person starts it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from benchmarks.endurance.source import Source
from lakehouse.settings import KafkaSettings, load_settings
from lakehouse.settings.state import StateFolder

_LAKEHOUSE = str(Path(sys.executable).parent / "lakehouse")
_OURS = ("LAKEHOUSE", "DAGSTER")
_READY_SECONDS, _STOP_SECONDS = 300.0, 120.0


class DevLakehouse:
    """A lakehouse of sources.

    Attributes:
        root: the state folder.
        kafka: how to reach its broker.
    """

    def __init__(self, folder: Path, sources: Iterable[Source], *, port: int) -> None:
        """Write its conf folder; nothing is started.

        Args:
            folder: where everything is.
            sources: which are declared.
            port: of Dagster's UI; the two above it are the broker's and Spark Connect's.
        """
        shipped, conf = load_settings(), folder / "conf"
        for name in ("jars", "broker", "catalogs", "kafka", "platforms"):
            link = conf / name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(shipped.conf / name)
        settings = {"platform": "connect", "catalog": "local", "kafka": "local"}
        (conf / "lakehouse.yaml").write_text(yaml.safe_dump(settings))
        (conf / "declarations").mkdir()
        for source in sources:
            (conf / "declarations" / f"{source.name}.py").write_text(source.declare())
        self.root, self._folder, self._port = folder / "state", folder, port
        StateFolder(self.root).root.mkdir()
        StateFolder(self.root).jars.symlink_to(shipped.state.jars)
        self.kafka = KafkaSettings(bootstrap_servers=f"127.0.0.1:{port + 1}", local=True)
        self.log = folder / "dev.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def environ(self) -> Mapping[str, str]:
        """What its commands are started with."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        return inherited | {
            "LAKEHOUSE_CONF": str(self._folder / "conf"),
            "LAKEHOUSE_HOME": str(self.root),
            "LAKEHOUSE__KAFKA__BOOTSTRAP_SERVERS": self.kafka.bootstrap_servers,
            "LAKEHOUSE__PLATFORM__REMOTE": f"sc://127.0.0.1:{self._port + 2}",
            "COLUMNS": "200",
        }

    def command(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Call `lakehouse …`, whatever its exit code."""
        return subprocess.run(
            [_LAKEHOUSE, *words], env=self.environ, cwd=self._folder, capture_output=True, text=True, check=False
        )

    def begin(self, sources: Iterable[Source]) -> None:
        """Start the broker, make the topics of sources, and start the rest.

        Raises:
            RuntimeError: something did not come up.
        """
        started = self.command("up")
        if started.returncode:
            raise RuntimeError(started.stdout + started.stderr)
        for source in sources:
            source.create(self.kafka)
        self.start()

    def start(self) -> None:
        """Start broker, Spark Connect, Dagster and its sensors.

        Raises:
            RuntimeError: it did not come up.
        """
        with self.log.open("ab") as output:
            command = [_LAKEHOUSE, "dev", "--port", str(self._port)]
            self._process = subprocess.Popen(
                command, env=self.environ, cwd=self._folder, stdout=output, stderr=output, start_new_session=True
            )
        deadline = time.monotonic() + _READY_SECONDS
        while "Stop: Ctrl-C" not in self.log.read_text(errors="replace"):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"lakehouse dev did not come up: see {self.log}")
            time.sleep(0.5)

    @property
    def is_up(self) -> bool:
        """Whether the command is still running."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Stop it as Ctrl-C does."""
        if self._process is not None and self.is_up:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(_STOP_SECONDS)

    def audit(self) -> tuple[int, Any]:
        """Exit code and report of the whole audit."""
        done = self.command("audit", "--scan", "--full", "--json")
        return done.returncode, json.loads(done.stdout) if done.stdout.strip() else done.stderr
