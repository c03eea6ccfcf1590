"""A repair that is killed at any of its commits has happened wholly or not at all, and can be said again.

Guarded mechanism: what a person repairs goes the way of every run: branches first, then all tables in one transaction.
Each repair is killed before and after each of its transactions of the catalog, on a fresh lake every time.
"""

import itertools
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from lakehouse.declarations import ByField, Stream
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.catalog.sql_catalog.sql_database import CatalogDatabase, RowSwap
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.position import stored_position
from lakehouse.steps.ingest.repair import adoption
from lakehouse.steps.ingest.repair.accept_offsets import OffsetsInvalid, parse_offsets, plan_offsets_loss
from lakehouse.steps.ingest.repair.acceptable_records import NothingToReprocess
from lakehouse.steps.ingest.repair.adoption import NothingToAdopt, adopt, find_adoption
from lakehouse.steps.ingest.repair.go_on import GoOnFrom
from lakehouse.steps.ingest.repair.loss import accept_loss
from lakehouse.steps.ingest.repair.refused_retention import expire_refused, find_expired_refused
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.proofs.audit.simulated import A, to_a
from lakehouse_tests.protocol.commit.children import Child
from lakehouse_tests.steps.ingest.in_process import InProcess
from lakehouse_tests.steps.ingest.repair.test_reprocess import NARROW, WIDE, record, tables
from lakehouse_tests.steps.maintenance.rollback.conftest import Standing

pytestmark = [pytest.mark.slow, pytest.mark.kill]
LARGE, MOST, LATER = 3_000_000_000, 30, 100


@dataclass(frozen=True)
class Repair:
    """What a person does, on a lake that was made for it.

    Attributes:
        do: the repair.
        done_already: what is raised where there is nothing left to repair.
        check: the stream goes on, every proof holds, and the numbers are those that are known beforehand.
    """

    do: Callable[[], object]
    done_already: type[Exception]
    check: Callable[[], None]


def offsets_given_up(folder: Path, begins: bool) -> Repair:
    events = Simulated(folder, begins)
    if begins:
        events.ingest({0: 10, 1: 10})
    events.ends = {0: 20, 1: 10}

    def accept() -> None:
        bases = read_bases(events.catalog, events.tables)
        previous, offsets = stored_position("events", bases), parse_offsets(["0:12-14"])
        loss = plan_offsets_loss("events", previous, events.topic(), offsets, "torn", first={})
        accept_loss(events.step(), bases, loss)

    def check() -> None:
        proof = events.audit(scan=True)
        assert (proof.holds, proof.read) == (True, 20)
        assert [(loss.ranges, loss.reason) for loss in proof.losses] == [({0: [(12, 15)]}, "torn")]

    return Repair(accept, OffsetsInvalid, check)


def rows_adopted(folder: Path, begins: bool) -> Repair:
    events = Simulated(folder, begins)
    if begins:
        events.append(A, [(0, offset) for offset in range(12)])
    events.ends = {0: 15, 1: 0}
    adoption.read_stream_topics = lambda kafka, declared, previous: events.topic()

    def take_stock() -> None:
        step, bases = events.step(), read_bases(events.catalog, events.tables)
        adopt(step, bases, find_adoption(step, bases, GoOnFrom.ROWS))

    def check() -> None:
        events.ingest({}, to_a)
        proof = events.audit(scan=True)
        assert (proof.holds, proof.read, proof.position) == (True, 15, {0: 15, 1: 0})

    return Repair(take_stock, NothingToAdopt, check)


def refused_taken_up(folder: Path, begins: bool) -> Repair:
    route = ByField("kind", {"a": "raw.a", "b": "raw.b"})
    declared = Stream(name="things", topic="things", route=route, max_quarantine_share=1.0)
    stream = InProcess(open_catalog(sql_settings(folder)), declared, runs=0 if begins else LATER)
    if begins:
        stream.declare(*tables(NARROW))
        stream.ingest({0: [record("a", 0), record("a", LARGE), record("b", 1)]})
    stream.declare(*tables(WIDE))
    stream.ends = {0: 3}

    def check() -> None:
        stream.ingest({0: [record("a", 7)]})
        assert [row["number"] for row in stream.rows("raw.a")] == [0, LARGE, 7]
        assert (stream.quarantined(), stream.holds().read) == ([], 4)

    return Repair(stream.reprocess, NothingToReprocess, check)


def refused_let_go(folder: Path, begins: bool) -> Repair:
    days, route = timedelta(days=30), ByField("kind", {"a": "raw.a", "b": "raw.b"})
    declared = Stream(name="things", topic="things", route=route, max_quarantine_share=1.0, keep_refused=days)
    stream = InProcess(open_catalog(sql_settings(folder)), declared, runs=0 if begins else LATER)
    stream.declare(*tables(NARROW))
    if begins:
        stream.ingest({0: [record("a", 0), record("a", LARGE), record("b", LARGE)]})
    stream.ends = {0: 3}

    def let_go() -> None:
        step, bases = stream.step("retire"), read_bases(stream.catalog, stream.tables)
        expired = find_expired_refused(step, bases, now=datetime.now(UTC) + timedelta(days=2))
        if expired is None:
            raise _NothingOldError
        expire_refused(step, bases, expired)

    def check() -> None:
        stream.ingest({0: [record("b", 7)]})
        proof = stream.holds()
        assert (stream.quarantined(), proof.read, proof.removed) == ([], 4, {"quarantine.things": 2})

    return Repair(let_go, _NothingOldError, check)


class _NothingOldError(Exception):
    """All that is old has gone already."""


class _NothingMovedError(Exception):
    """All tables stand there already."""


def set_back(folder: Path, begins: bool) -> Repair:
    stream = Simulated(folder, begins)
    for _ in range(3 if begins else 0):
        stream.ingest({0: 4, 1: 3})
    stream.ends = {0: 12, 1: 9}

    def roll_back() -> None:
        if not stream.move("rollback", "run-1").changed:
            raise _NothingMovedError

    def check() -> None:
        assert stream.audit(scan=True).read == 7
        stream.ingest({0: 1})
        proof = stream.audit(scan=True)
        assert (proof.holds, proof.read) == (True, 22)

    return Repair(roll_back, _NothingMovedError, check)


class Simulated(Standing):
    """The stream, as the process that begins with it or a later one has it."""

    def __init__(self, folder: Path, begins: bool) -> None:
        super().__init__(open_catalog(sql_settings(folder)))
        self._runs = itertools.count(1 if begins else LATER)


FEW = (offsets_given_up, refused_taken_up)  # of one table, and of all that refused records go to
REPAIRS = {make.__name__: make for make in (*FEW, rows_adopted, refused_let_go, set_back)}


def begin_and_die(work: tuple[str, Path, int, bool], _: Connection) -> None:
    """Fill a lake, repair it, and die before or after a transaction of the repair."""
    name, folder, number, before = work
    repair = REPAIRS[name](folder, True)
    swap, swaps = CatalogDatabase.swap, itertools.count(1)

    def counted(database: CatalogDatabase, rows: Sequence[RowSwap]) -> bool:
        here = next(swaps) == number
        if here and before:
            os.kill(os.getpid(), signal.SIGKILL)
        swapped = swap(database, rows)
        if here:
            os.kill(os.getpid(), signal.SIGKILL)
        return swapped

    CatalogDatabase.swap = counted
    repair.do()


@pytest.mark.parametrize("before", [True, pytest.param(False, marks=pytest.mark.soak)], ids=["before", "after"])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if make in FEW else pytest.mark.soak) for name, make in REPAIRS.items()]
)
def test_killed_at_any_transaction_it_is_said_again_and_done_once(
    name: str, before: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adoption, "read_stream_topics", None)
    for number in range(1, MOST):
        folder = tmp_path / str(number)
        folder.mkdir()
        with Child((name, folder, number, before), begin_and_die) as child:
            exit_code = child.exit_code()
        assert exit_code in (0, -signal.SIGKILL)
        repair = REPAIRS[name](folder, False)
        try:
            repair.do()
        except repair.done_already:
            assert not (exit_code and before), "nothing had been published"
        repair.check()
        if exit_code == 0:
            break
    assert 1 < number < MOST - 1
