"""Trials of the write protocol on the catalog and the store alone: each takes seconds."""

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any, cast

from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

from lakehouse.acceptance.numbers import bases_of, numbers_in, stage_number
from lakehouse.acceptance.scratch import Scratch
from lakehouse.acceptance.trial import NotSeen, require
from lakehouse.protocol.catalog import LakeCatalog, TableChange, open_catalog
from lakehouse.protocol.catalog.probe import probe
from lakehouse.protocol.commit import Staged, publish
from lakehouse.protocol.errors import CommitError

_ROUNDS = 5
_KILLED_WITHIN = 300.0  # seconds
_KILLED_AT = {"publish.before": False, "publish.after": True}  # failpoint → whether the commit was done by then


def capability(scratch: Scratch) -> str:
    """Branches, requirements and first commits, as the write protocol needs them."""
    probe(scratch.catalog, scratch.namespace)
    return "branches are kept apart from main, and requirements are checked"


def races(scratch: Scratch) -> str:
    """Of two writers that publish two tables at once, one wins in both."""
    before = numbers_in(scratch)
    for number in range(_ROUNDS):
        winners = _race(scratch, number)
        require(winners == 1, f"of two writers {winners} published in round {number + 1}")
    added = [len(after) - len(first) for first, after in zip(before, numbers_in(scratch), strict=True)]
    require(added == [_ROUNDS, _ROUNDS], f"{_ROUNDS} publishes have added {added} rows")
    return f"{_ROUNDS} races of two writers over two tables, one winner in each"


def _race(scratch: Scratch, number: int) -> int:
    # Each with connections of its own, as two processes would have.
    catalogs = [open_catalog(scratch.settings.catalog) for _ in range(2)]
    prepared = [
        (catalog, stage_number(catalog, bases_of(scratch, catalog), scratch.attempt("race"), number))
        for catalog in catalogs
    ]
    begin, published, errors = threading.Barrier(2), list[bool](), list[Exception]()

    def run(catalog: LakeCatalog, staged: Sequence[Staged]) -> None:
        begin.wait()
        try:
            publish(catalog, staged)
        except (CommitError, CommitFailedException):
            return
        except Exception as error:  # noqa: BLE001 - it is raised again in the thread that waits
            errors.append(error)
        else:
            published.append(True)

    threads = [threading.Thread(target=run, args=pair) for pair in prepared]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return len(published)


class _LosesAnAnswer:
    """A catalog whose next answer to a commit is lost, though the commit is done."""

    def __init__(self, catalog: LakeCatalog) -> None:
        self._catalog, self._lost = catalog, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._catalog, name)

    def commit_tables(self, changes: Sequence[TableChange]) -> None:
        self._catalog.commit_tables(changes)
        if not self._lost:
            self._lost = True
            raise CommitStateUnknownException("the answer was thrown away")


def lost_answer(scratch: Scratch) -> str:
    """A commit that was done, and whose answer was lost, is recognised and not done again."""
    before, attempt = numbers_in(scratch), scratch.attempt("lost answer")
    staged = stage_number(scratch.catalog, bases_of(scratch, scratch.catalog), attempt, 1_000)
    publish(cast("LakeCatalog", _LosesAnAnswer(scratch.catalog)), staged)
    after = numbers_in(scratch)
    require(after == [[*numbers, 1_000] for numbers in before], f"one publish made {before} into {after}")
    return "the publish was found in the history of both tables, once"


def killed(scratch: Scratch) -> str:
    """A process that is killed around its publish leaves it in both tables or in none, and the next one goes on."""
    for number, (point, done) in enumerate(_KILLED_AT.items(), start=2_000):
        before = numbers_in(scratch)
        _run_killed(scratch, point, number)
        expected = [sorted([*numbers, number]) if done else numbers for numbers in before]
        require((after := numbers_in(scratch)) == expected, f"killed at {point}, {before} became {after}")
        staged = stage_number(
            scratch.catalog, bases_of(scratch, scratch.catalog), scratch.attempt(f"write:{number}"), number + 500
        )
        publish(scratch.catalog, staged)
        expected = [sorted([*numbers, number + 500]) for numbers in expected]
        require((after := numbers_in(scratch)) == expected, f"after {point} the next publish made {after}")
    evidence = f"kill -9 at {' and '.join(_KILLED_AT)}: both tables or none, and the next publish goes on"
    if reservation := scratch.settings.catalog.reservation:
        raise NotSeen(f"{evidence}. Between two tables nobody was killed: {reservation}", "read them by a release")
    return evidence


def _run_killed(scratch: Scratch, point: str, number: int) -> None:
    environ = {**os.environ, **scratch.environ, "LAKEHOUSE_FAILPOINTS": f"{point}=kill"}
    command = [sys.executable, "-m", "lakehouse.acceptance.numbers", scratch.namespace, str(number)]
    ended = subprocess.run(command, env=environ, capture_output=True, timeout=_KILLED_WITHIN, check=False)
    require(ended.returncode == -9, f"the process that was to be killed at {point} ended with {ended.returncode}")
