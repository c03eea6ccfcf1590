"""A driver that was submitted for a step: by its launch token it is found again, whoever asks.

A folder for each, below `State.root/submit`: `<step>/<execution>/<try>/`. A try is *settled* when its result was taken
over, or when it ended without one; then the next try begins. So a retry meets the job that it started: one at work,
or one that has ended meanwhile and that nobody has listened to.
"""

import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lakehouse.engines.background_process import Daemon, start_time
from lakehouse.settings.state import StateFolder, make_private

_FOLDER = "submit"


@dataclass(frozen=True)
class LaunchToken:
    """What names a driver.

    Args:
        step: what it does, `ingest_flights`.
        execution: the root run, the same for all re-executions; a step of it is launched once at a time.
        number: the try.
    """

    step: str
    execution: str
    number: int

    def __str__(self) -> str:
        return f"{self.step}/{self.execution}/{self.number}"


@dataclass(frozen=True)
class DriverJob:
    """One driver, at work or ended, and its files."""

    token: LaunchToken
    folder: Path

    @property
    def messages(self) -> Path:
        """What it reports, a line for each message."""
        return self.folder / "messages"

    @property
    def log(self) -> Path:
        """What it and its JVM print."""
        return self.folder / "driver.log"

    @property
    def launched(self) -> bool:
        """Whether it was ever started."""
        return (self.folder / "driver.pid").is_file()

    def running(self) -> bool:
        """Whether its process is alive."""
        return self._daemon.pid() is not None

    def launch(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        """Start it, in a session and a process group of its own: it goes on when we end."""
        self.messages.touch()
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
    def settled(self) -> bool:
        """Whether its result was taken over, or given up."""
        return (self.folder / "settled").is_file()

    def settle(self) -> None:
        """Have the next launch of this step be another try."""
        (self.folder / "settled").touch()

    def watch(self) -> None:
        """Note that this process waits for it."""
        (self.folder / "watcher").write_text(f"{os.getpid()} {start_time(os.getpid())}", encoding="ascii")

    @property
    def watched(self) -> bool:
        """Whether the process that waits for it is alive."""
        return Daemon(self.folder / "watcher", self.log).pid() is not None

    @property
    def _daemon(self) -> Daemon:
        return Daemon(self.folder / "driver.pid", self.log)


def driver_job(state: StateFolder, step: str, execution: str) -> DriverJob:
    """The job of a step in an execution: the newest that is not settled, or else a fresh one that is to be launched.

    Args:
        state: where the folders are.
        step: the step's name.
        execution: id of the root run.
    """
    folder = state.root / _FOLDER / step / execution
    newest = max(_numbers(folder), default=0)
    number = max(newest, 1)
    if newest and _job(folder, step, execution, newest).settled:
        number += 1
    job = _job(folder, step, execution, number)
    make_private(job.folder)
    return job


def end_abandoned(state: StateFolder, step: str, execution: str, *, patience: float) -> list[LaunchToken]:
    """End drivers of the same step that other executions have left: alive, and waited for by nobody.

    Two of them would do the same work, and one in vain.

    Args:
        state: where the folders are.
        step: the step's name.
        execution: whose jobs are not abandoned.
        patience: seconds until one is ended by force.
    """
    ended: list[LaunchToken] = []
    folder = state.root / _FOLDER / step
    for other in sorted(folder.iterdir()) if folder.is_dir() else []:
        if other.name == execution:
            continue
        for number in _numbers(other):
            job = _job(other, step, other.name, number)
            if not job.watched and job.end(patience=patience):
                ended.append(job.token)
                job.settle()
    return ended


def _job(folder: Path, step: str, execution: str, number: int) -> DriverJob:
    return DriverJob(LaunchToken(step, execution, number), folder / str(number))


def _numbers(folder: Path) -> Iterator[int]:
    return (int(entry.name) for entry in folder.iterdir() if entry.name.isdigit()) if folder.is_dir() else iter(())


def _signal_group(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, number)
