"""A process of our own that outlives the command that starts it, recognised again by its number and its birth.

A process number alone may have been given to somebody else's process since; number and start time together have not.
"""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lakehouse.settings.state import make_private


@dataclass(frozen=True)
class Daemon:
    """At most one process, remembered in a file."""

    pid_file: Path
    log: Path

    def pid(self) -> int | None:
        """The process number if the process that we started is alive."""
        if not self.pid_file.is_file():
            return None
        pid, _, started = self.pid_file.read_text(encoding="utf-8").strip().partition(" ")
        return int(pid) if pid.isdigit() and started and start_time(int(pid)) == started else None

    def start(self, command: Sequence[str], environ: Mapping[str, str]) -> int:
        """Start the process, detached: Ctrl-C in our terminal is not for it, and it does not end with us."""
        make_private(self.pid_file.parent)
        make_private(self.log.parent)
        output = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        pid = os.posix_spawn(
            command[0],
            list(command),
            environ,
            setsid=True,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(self.log), output, 0o644),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
        )
        self.pid_file.write_text(f"{pid} {start_time(pid)}\n", encoding="utf-8")
        return pid

    def stop(self, *, patience: float) -> bool:
        """Ask the process to end, wait, and end it by force if it does not; True if there was one."""
        pid = self.pid()
        if pid is not None:
            os.kill(pid, signal.SIGTERM)
            os.kill(pid, signal.SIGCONT)  # one that is stopped would not hear the other
            if not self._gone_within(patience):
                os.kill(pid, signal.SIGKILL)
                self._gone_within(10)
        self.pid_file.unlink(missing_ok=True)
        return pid is not None

    def _gone_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.pid() is not None:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True


def start_time(pid: int) -> str | None:
    """When a process was started, in the words of the system; None if it is not alive."""
    started = _recorded_start(pid)
    with suppress(ChildProcessError):  # it may be nobody's child, or another's: then somebody else buries it
        os.waitpid(pid, os.WNOHANG)  # after the look: what was seen dead is buried, and its number free
    return started


def _recorded_start(pid: int) -> str | None:
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            # A killed JVM's first thread is a zombie while the others still hold its ports and files.
            is_dead = fields[0] == "Z" and len(list((stat.parent / "task").iterdir())) <= 1
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if is_dead else fields[19]
    listing = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return listing.stdout.strip().replace(" ", "_") or None
