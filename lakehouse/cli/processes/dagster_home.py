"""Dagster's home: the one that is set, else ours; who is alive in it, and how runs of the dead are ended."""

import fcntl
import hashlib
import os
import shutil
import socket
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter

from lakehouse.errors import LakehouseError
from lakehouse.orchestration.run_context import PROCESS_TAG
from lakehouse.settings import Settings
from lakehouse.settings.shipped import instance_file
from lakehouse.settings.state import StateFolder, make_private

HOME_VARIABLE = "DAGSTER_HOME"
_DEV = "dev"
_SEPARATOR = "-"
_UNFINISHED = [
    DagsterRunStatus.NOT_STARTED,
    DagsterRunStatus.STARTING,
    DagsterRunStatus.STARTED,
    DagsterRunStatus.CANCELING,
]


class AlreadyRunning(LakehouseError):
    """Another `lakehouse dev` uses the same state folder."""


class DagsterHomeMissing(LakehouseError):
    """`DAGSTER_HOME` names what is no folder."""


@dataclass(frozen=True)
class DagsterHome:
    """Where Dagster keeps its runs.

    Args:
        path: the folder.
        own: whether it is ours, below the state folder; otherwise we change nothing in it but through Dagster.
    """

    path: Path
    own: bool


def prepare_home(settings: Settings) -> DagsterHome:
    """Choose Dagster's home, and tell this process and its children: `DAGSTER_HOME` where it is set, else ours.

    Ours gets the project's dagster.yaml; in another's nothing is written.

    Raises:
        DagsterHomeMissing: the variable names what is no folder.
    """
    ours = settings.state.dagster
    given = os.environ.get(HOME_VARIABLE)
    home = DagsterHome(ours, own=True) if not given else DagsterHome(Path(given).expanduser().absolute(), own=False)
    if home.path == ours:
        home = DagsterHome(ours, own=True)
    if home.own:
        settings.state.make()
        make_private(home.path)
        shutil.copyfile(instance_file(settings.conf), home.path / "dagster.yaml")
    elif not home.path.is_dir():
        raise DagsterHomeMissing(
            f"{HOME_VARIABLE} is {home.path}, and there is no such folder.",
            remedy=f"make it, or unset {HOME_VARIABLE}: runs are then kept in {ours}",
        )
    os.environ[HOME_VARIABLE] = str(home.path)
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
    mark = name or f"{_where(state)}{_SEPARATOR}{uuid.uuid4().hex}"
    file = _mark(state, mark)
    make_private(file.parent)
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

    Runs of others are left alone: an instance may be shared by lakehouses of other folders and machines.

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


def _where(state: StateFolder) -> str:
    """A short name of this machine and this state folder, by which a mark tells where its process would be."""
    return hashlib.sha256(f"{socket.gethostname()} {state.root}".encode()).hexdigest()[:12]


def _lives(state: StateFolder, mark: str) -> bool:
    where, separator, _ = mark.rpartition(_SEPARATOR)
    if separator and where != _where(state):
        return True  # nobody can tell from here
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
