"""Refused records go after their time, the proof goes on holding, and nothing goes that somebody still needs.

It is `docs/how-to/reprocess.md`.

Guarded mechanism: a refused record is there for a day at least, whatever its timestamp.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lakehouse.declarations import DeclarationError, Evolution, Stream, ToTable
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.errors import CommitError
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.repair.refused_retention import (
    CannotLetGo,
    ExpiredRefused,
    expire_refused,
    find_expired_refused,
)
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.ingest import in_process
from lakehouse_tests.steps.ingest.conftest import THINGS
from lakehouse_tests.steps.ingest.in_process import InProcess

LATER = datetime.now(UTC) + timedelta(days=2)
GOOD, BROKEN = (None, b'{"id": 1}'), (b"key", b"broken")
TABLE = "raw.things"


@pytest.fixture
def things(sql_lake: Lake) -> InProcess:
    """A stream that keeps refused records for thirty days, with two of them in two partitions, sent in January."""
    declared = Stream(
        name="things",
        topic="things",
        route=ToTable(TABLE),
        max_quarantine_share=1,
        keep_refused=timedelta(days=30),
    )
    made = InProcess(open_catalog(sql_lake.settings), declared)
    made.declare(declare(THINGS, name=TABLE).with_coordinates())
    made.ingest({0: [GOOD, BROKEN], 1: [BROKEN, GOOD]})
    return made


def expired_refused(things: InProcess, now: datetime = LATER) -> ExpiredRefused | None:
    return find_expired_refused(things.step("retire"), read_bases(things.catalog, things.tables), now=now)


def expire(things: InProcess, now: datetime = LATER) -> int:
    expired = expired_refused(things, now)
    if expired is None:
        return 0
    expire_refused(things.step("retire"), read_bases(things.catalog, things.tables), expired)
    return expired.places.count


def test_old_ones_go_and_the_proof_goes_on_holding(things: InProcess) -> None:
    assert expire(things) == 2
    assert things.quarantined() == []
    proof = things.holds()
    assert (proof.read, proof.removed) == (4, {"quarantine.things": 2})
    assert expire(things) == 0
    things.ingest({0: [BROKEN, GOOD]})
    proof = things.holds()
    assert (proof.read, proof.removed, things.quarantined()) == (6, {"quarantine.things": 2}, [(0, 2)])
    assert expire(things) == 1
    assert things.holds().removed == {"quarantine.things": 3}


def test_what_was_refused_just_now_stays_whatever_its_timestamp(things: InProcess) -> None:
    assert expired_refused(things, datetime.now(UTC) + timedelta(hours=23)) is None
    expired = expired_refused(things, datetime.now(UTC) + timedelta(hours=25))
    assert expired is not None
    assert expired.places.count == 2


def test_what_is_young_or_of_the_future_stays(things: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    for moment in (LATER - timedelta(days=29), LATER + timedelta(days=900)):
        monkeypatch.setattr(in_process, "BEGAN", moment)
        things.ingest({0: [BROKEN]})
    assert expire(things) == 2
    assert things.quarantined() == [(0, 2), (0, 3)]
    assert things.holds().read == 6


def test_records_of_a_stopped_table_wait(things: InProcess) -> None:
    evolution = Evolution(otherwise="stop_table")
    things.declare(declare(THINGS, name=TABLE, evolution=evolution).with_coordinates())
    things.ingest({0: [(None, b'{"id": "many"}'), GOOD]})
    assert {row["error_class"] for row in things.rows("quarantine.things", "error_class")} == {
        "not_json",
        "table_stopped",
    }
    assert expire(things) == 2
    assert things.quarantined() == [(0, 2), (0, 3)]


def test_a_run_that_comes_between_is_not_undone(things: InProcess) -> None:
    expired, bases = expired_refused(things), read_bases(things.catalog, things.tables)
    assert expired is not None
    things.ingest({0: [GOOD]})
    with pytest.raises(CommitError):
        expire_refused(things.step("retire"), bases, expired)
    assert things.quarantined() == [(0, 1), (1, 0)]
    assert things.holds().read == 5


def test_streams_that_keep_theirs_say_so(things: InProcess) -> None:
    things.stream = replace(things.stream, keep_refused=None)
    with pytest.raises(CannotLetGo, match=r"things keeps refused records forever.*keep_refused"):
        expired_refused(things)
    with pytest.raises(DeclarationError, match="keep_refused is 0:00:10"):
        replace(things.stream, keep_refused=timedelta(seconds=10))
