"""A driver that is a process of this machine: launched, recognised again by whoever asks, ended with all it started."""

import os
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lakehouse.engines.background_process import Daemon


@dataclass(frozen=True)
class DriverJob:
    """One driver, at work or ended, and its files."""

    folder: Path

    @property
    def log(self) -> Path:
        """What it and its JVM print."""
        return self.folder / "driver.log"

    @property
    def launched(self) -> bool:
        """Whether it was ever started."""
        return self._daemon.pid_file.is_file()

    def running(self) -> bool:
        """Whether its process is alive."""
        return self._daemon.pid() is not None

    def launch(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        """Start it, in a session and a process group of its own: it goes on when we end."""
        self._daemon.start(command, environ)

    def end(self, *, patience: float) -> bool:
        """End the driver and what it has started, gently first. Returns whether it was alive."""
        pid = self._daemon.pid()
        if pid is None:
            return False
        _signal_group(pid, signal.SIGTERM)
        deadline = time.monotonic() + patience
        while self.running() and time.monotonic() < deadline:
            time.sleep(0.05)
        _signal_group(pid, signal.SIGKILL)  # also what outlived its parent
        return True

    @property
    def _daemon(self) -> Daemon:
        return Daemon(self.folder / "driver.pid", self.log)


def _signal_group(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, number)
