"""Dagster's home under the state folder, who is alive in it, and how runs of the dead are ended."""

import fcntl
import os
import shutil
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter

from lakehouse.errors import LakehouseError
from lakehouse.orchestration.run_context import PROCESS_TAG
from lakehouse.settings import Settings
from lakehouse.settings.shipped import instance_file
from lakehouse.settings.state import StateFolder

_DEV = "dev"
_UNFINISHED = [
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
]


class AlreadyRunning(LakehouseError):
    """Another `lakehouse dev` uses the same state folder."""


def prepare_home(settings: Settings) -> Path:
    """Put the project's dagster.yaml where Dagster looks for it, and tell this process and its children."""
    home = settings.state.dagster
    home.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(instance_file(settings.conf), home / "dagster.yaml")
    os.environ["DAGSTER_HOME"] = str(home)
    # Children run elsewhere, and need what was said relative to where we are.
    os.environ["LAKEHOUSE_CONF"] = str(settings.conf)
    os.environ["LAKEHOUSE_DECLARATIONS"] = os.pathsep.join(map(str, settings.declarations))
    return home


@contextmanager
def alive(state: StateFolder, name: str = "") -> Generator[str]:
    """Hold a file lock that says: this process lives. The system lets go of it however the process ends.

    Args:
        state: whose.
        name: of the mark; a new one if empty.

    Yields:
        The mark's name, for `PROCESS_TAG` of the process's runs.

    Raises:
        AlreadyRunning: another process holds the mark of this name.
    """
    mark = name or uuid.uuid4().hex
    file = _mark(state, mark)
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a+") as handle:  # who holds the lock has written its process id
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.seek(0)
            process = handle.read().strip()
            raise AlreadyRunning(
                f"`lakehouse {mark}` runs already with {state.root}{process and f', as process {process}'}.",
                remedy=f"stop it with Ctrl-C{process and f' or `kill {process}`'}, or set LAKEHOUSE_HOME to another "
                "folder",
            ) from None
        handle.truncate(0)
        handle.write(str(os.getpid()))
        handle.flush()
        yield mark
        file.unlink(missing_ok=True)


@contextmanager
def alive_as_dev(state: StateFolder) -> Generator[str]:
    """The mark of `lakehouse dev`, of which there is one at a time."""
    with alive(state, _DEV) as mark:
        yield mark


def end_dead_runs(instance: dg.DagsterInstance, state: StateFolder, *, unmarked: bool) -> list[str]:
    """Report as failed what a killed process left as running; otherwise its pool would be taken for ever.

    Args:
        instance: where runs are recorded.
        state: whose processes.
        unmarked: end also runs that Dagster's own services had started; only where none of these can be alive.

    Returns:
        The ids of the runs that were ended.
    """
    ended: list[str] = []
    for record in instance.get_run_records(RunsFilter(statuses=_UNFINISHED)):
        run = record.dagster_run
        mark = run.tags.get(PROCESS_TAG)
        if unmarked if mark is None else not _lives(state, mark):
            instance.report_run_failed(run, "The process that executed this run is gone.")
            ended.append(run.run_id)
    return ended


def _lives(state: StateFolder, mark: str) -> bool:
    try:
        with _mark(state, mark).open("r") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    _mark(state, mark).unlink(missing_ok=True)
    return False


def _mark(state: StateFolder, mark: str) -> Path:
    return state.dagster / "alive" / f"{mark}.lock"
