"""The workload: steps in processes of their own, that another process may hold, race or kill.

A child does what a step does: read bases, stage, seal, publish. It says where it is over a pipe and waits to be told to
go on, so that a test decides the order of events and not the scheduler.
"""

import multiprocessing
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Self

from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.commit import open_branch, publish
from lakehouse.protocol.errors import CommitError
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.settings import CatalogSettings
from lakehouse_tests.fixtures.lakes import Lake

# A server that has imported everything forks a child in milliseconds, and has no threads that a fork could break.
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["pytest", "pyiceberg.io.pyarrow", __name__, "lakehouse_tests.faults.doomed_ingest"])
PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class Work:
    """What a child does.

    Args:
        rows: table → the numbers that the step appends to it; none is a seal alone.
        merged: the rows come from Spark, by MERGE, while the child waits after saying `open`.
        failpoints: `LAKEHOUSE_FAILPOINTS` of the child.
    """

    settings: CatalogSettings
    namespace: str
    attempt: Attempt
    rows: Mapping[str, Sequence[int]]
    merged: bool = False
    failpoints: str = ""


class Child:
    """A running step; `with Child(work) as child:`. On leaving, it is killed if it still lives."""

    def __init__(self, work: Work, do: Callable[[Work, Connection], None] | None = None) -> None:
        self._pipe, its_pipe = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(target=do or run_step, args=(work, its_pipe), daemon=True)
        self.process.start()
        its_pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.is_alive():
            self.process.kill()
        self.process.join(PATIENCE_SECONDS)
        self.process.close()
        self._pipe.close()

    def has_spoken(self) -> bool:
        """Whether a word is waiting to be heard."""
        return self._pipe.poll(0)

    def hear(self) -> str:
        """The child's next word."""
        if not self._pipe.poll(PATIENCE_SECONDS):
            raise TimeoutError("the child says nothing")
        return self._pipe.recv()

    def go_on(self) -> None:
        """Let the child go on from the word it said last."""
        self._pipe.send(None)

    def exit_code(self) -> int | None:
        """Wait for the end: 0, or minus the signal that killed it."""
        self.process.join(PATIENCE_SECONDS)
        return self.process.exitcode


def work_on(lake: Lake, step: str, rows: Mapping[str, Sequence[int]], *, failpoints: str = "") -> Work:
    """A step that appends to tables of a lake."""
    return Work(lake.settings, lake.namespace, Attempt(run_id=f"run-{step}", step=step), rows, failpoints=failpoints)


def run_step(work: Work, pipe: Connection) -> None:
    """A child that stages and publishes once; says `open`, `staged`, and what came of it."""
    os.environ["LAKEHOUSE_FAILPOINTS"] = work.failpoints
    lake = Lake(work.settings, open_catalog(work.settings), work.namespace, None)
    bases = lake.bases(*(f"{work.namespace}.{table}" for table in work.rows))
    if work.merged:
        for base in bases.values():
            open_branch(lake.catalog, base, work.attempt)
    _say(pipe, "open")
    staged = [
        lake.stage(bases[f"{work.namespace}.{table}"], work.attempt, () if work.merged else numbers)
        for table, numbers in work.rows.items()
    ]
    _say(pipe, "staged")
    try:
        publish(lake.catalog, staged)
    except CommitError as error:
        pipe.send(type(error).__name__)
    else:
        pipe.send("published")


def publish_often(work: Work, pipe: Connection) -> None:
    """A child that publishes the same tables again and again: one row each and a `counter`, whenever told to."""
    lake = Lake(work.settings, open_catalog(work.settings), work.namespace, None)
    names = [f"{work.namespace}.{table}" for table in work.rows]
    counter = 0
    while pipe.recv() is None:
        counter += 1
        bases, attempt = lake.bases(*names), Attempt(run_id=f"run-{counter}", step=work.attempt.step)
        publish(lake.catalog, [lake.stage(bases[name], attempt, [counter], counter=str(counter)) for name in names])
        pipe.send(str(counter))


def _say(pipe: Connection, word: str) -> None:
    pipe.send(word)
    pipe.recv()
