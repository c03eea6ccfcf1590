"""What happens to a lakehouse in the hour: kill −9 of Spark, of the broker and of a run, in turn."""

import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psutil

from benchmarks.endurance.samples import kind_of, processes_of

VICTIMS = ("Spark Connect", "broker", "run")
_WAIT_SECONDS = 120.0
_LOOK_SECONDS = 0.1
_AT_WORK_SECONDS = 3.0


def kill(root: Path, kind: str) -> int:
    """Kill one process of a kind, as soon as there is one that has had time to begin its work.

    Args:
        root: the state folder.
        kind: of the process, one of `VICTIMS`.

    Returns:
        Its number; 0 if there was none for two minutes.
    """
    deadline = time.monotonic() + _WAIT_SECONDS
    while time.monotonic() < deadline:
        for process in _of_kind(processes_of(root), kind):
            with suppress(psutil.NoSuchProcess):
                process.kill()
                return process.pid
        time.sleep(_LOOK_SECONDS)
    return 0


def _of_kind(processes: Iterable[psutil.Process], kind: str) -> Iterable[psutil.Process]:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            if kind_of(process) == kind and time.time() - process.create_time() > _AT_WORK_SECONDS:
                yield process
