"""A process is stopped in the middle of a publish, past every time-out, and goes on after its twin has published.

Guarded mechanism: the fence. Whatever the one that was stopped still believes, it changes nothing.
"""

import os
import signal
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from lakehouse.declarations import ORPHANS, Declarations, Expire
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.catalog.sql_catalog.sql import SqlLakeCatalog
from lakehouse.protocol.catalog.sql_catalog.sql_database import CatalogDatabase
from lakehouse.protocol.cleanup.housekeeping import abandoned_branches, drop_branch
from lakehouse.steps.maintenance.expire.expire import expire
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.protocol.commit.children import Child, Work, run_step, work_on
from lakehouse_tests.protocol.commit.oracle import Oracle

pytestmark = [pytest.mark.kill, pytest.mark.slow]
TABLES = ("a", "b")
SMALL = Expire(min_snapshots_to_keep=2, max_snapshots=2, at_least=1)


def stop_once_judged(work: Work, pipe: Connection) -> None:
    """A step that stops itself when it has judged that it may publish."""
    _stop_in(SqlLakeCatalog, "commit_tables", work, pipe)


def stop_once_written(work: Work, pipe: Connection) -> None:
    """A step that stops itself when it has written its documents, and only the catalog's rows are to be swapped."""
    _stop_in(CatalogDatabase, "swap", work, pipe)


def stop_with_the_lock(work: Work, pipe: Connection) -> None:
    """A step that stops itself within the transaction of its publish."""
    _stop_in(CatalogDatabase, "_sync_documents", work, pipe)


def _stop_in(owner: type, name: str, work: Work, pipe: Connection) -> None:
    real = getattr(owner, name)

    def stop(*args: object) -> object:
        changed = args[-1]
        if isinstance(changed, (Sequence, set)) and len(changed) == len(TABLES):  # staging changes a table at a time
            os.kill(os.getpid(), signal.SIGSTOP)
        return real(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, stop)
        run_step(work, pipe)


PLACES = {"staged": None, "judged": stop_once_judged, "written": stop_once_written}


def stop(child: Child, *, itself: bool) -> int:
    """Let a step come to where it is stopped; returns its process id."""
    assert child.hear() == "open"
    child.go_on()
    assert child.hear() == "staged"
    pid = child.process.pid
    assert pid
    if not itself:
        os.kill(pid, signal.SIGSTOP)
    child.go_on()
    deadline = time.monotonic() + 60
    while Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2][0] != "T":
        assert time.monotonic() < deadline, "the process is not stopped"
        time.sleep(0.01)
    return pid


def time_out(lake: Lake) -> None:
    """All that a process may count on is over: its branch is removed, and the snapshots are expired."""
    for name in (f"{lake.namespace}.{table}" for table in TABLES):
        for branch in abandoned_branches(lake.load(name), older_than=timedelta(0)):
            drop_branch(lake.catalog, branch)
        expire(
            lake.catalog, Declarations({name: ORPHANS}, {}, {}), name, SMALL, now=datetime.now(UTC) + timedelta(days=30)
        )


def two_tables(lake: Lake) -> Oracle:
    """With a row each."""
    for name in TABLES:
        lake.create(name)
    lake.write("first", a=[1], b=[1])
    return Oracle.of(lake)


@pytest.mark.parametrize("timed_out", [False, True], ids=["twin", "twin-and-time-outs"])
@pytest.mark.parametrize("place", PLACES)
def test_a_twin_publishes_meanwhile(sql_lake: Lake, place: str, timed_out: bool) -> None:
    lake, oracle = sql_lake, two_tables(sql_lake)
    with Child(work_on(lake, "stopped", {"a": [2], "b": [2]}), PLACES[place]) as child:
        pid = stop(child, itself=place != "staged")
        lake.write("twin", a=[3], b=[3])
        if timed_out:
            time_out(lake)
        before = [oracle.document(name) for name in TABLES]
        os.kill(pid, signal.SIGCONT)
        assert child.hear() in ("Superseded", "MainMoved")
    assert [oracle.document(name) for name in TABLES] == before
    assert [oracle.rows(name) for name in TABLES] == [{1: "1", 3: "3"}] * 2
    lake.write("next", a=[4], b=[4])
    assert [oracle.rows(name) for name in TABLES] == [{1: "1", 3: "3", 4: "4"}] * 2


def test_a_twin_does_not_wait_for_one_that_is_stopped_with_the_lock(sql_lake: Lake) -> None:
    """It is told within a bound who holds the catalog; the one that was stopped lands, as nobody came between."""
    lake, oracle = sql_lake, two_tables(sql_lake)
    with Child(work_on(lake, "stopped", {"a": [2], "b": [2]}), stop_with_the_lock) as child:
        pid = stop(child, itself=True)
        impatient = lake.settings.model_copy(update={"uri": lake.settings.uri.replace("timeout=30", "timeout=0.05")})
        twin = Lake(impatient, open_catalog(impatient), lake.namespace, None)
        with pytest.raises(Exception, match="locked"):
            twin.write("twin", a=[3], b=[3])
        twin.catalog.close()
        assert [oracle.rows(name) for name in TABLES] == [{1: "1"}] * 2
        os.kill(pid, signal.SIGCONT)
        assert child.hear() == "published"
    lake.write("next", a=[3], b=[3])
    assert [oracle.rows(name) for name in TABLES] == [{1: "1", 2: "2", 3: "3"}] * 2
