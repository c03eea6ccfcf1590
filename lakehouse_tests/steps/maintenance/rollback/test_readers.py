"""A rollback and who reads the table: whichever comes second finds out.

Guarded mechanism: the transaction of a rollback requires that all who read are where they were asked.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from lakehouse.declarations import apply, plan
from lakehouse.iceberg.names import identifier_of
from lakehouse.protocol.catalog import TableChange, open_catalog
from lakehouse.protocol.leases.lease import release_lease
from lakehouse.protocol.leases.source import SourceSetBack, still_in_main
from lakehouse.protocol.seals.load_group import load_together
from lakehouse.steps.maintenance.expire.consumers import can_plan
from lakehouse.steps.maintenance.rollback.move import MainMovedMeanwhile, Move, carry_out, find_move
from lakehouse.steps.maintenance.rollback.points import Direction, points
from lakehouse.steps.maintenance.rollback.promises import ReaderCutOff, SourceGone
from lakehouse_tests.fixtures.lakes import Lake, sql_settings
from lakehouse_tests.steps.maintenance.house import COPY, LOG, MIRROR, House


class Rolling:
    """A changelog of three runs, `run-2` of which a mirror has read; it can go back to there."""

    def __init__(self, root: Path) -> None:
        settings = sql_settings(root)
        catalog = open_catalog(settings)
        catalog.create_namespace("ns")
        self.house = House.of(Lake(settings, catalog, "ns", None))
        self.seals = [self.house.feed.append([], run_id=f"run-{number}") for number in range(3)]
        self.house.mirror(self.seals[1])

    def find(self, direction: Direction = "rollback", run: str = "run-1", name: str = LOG) -> Move:
        house = self.house
        return find_move(house.catalog, house.declarations, [name], direction, run=run, read_topic=_no_topic)

    def carry_out(self, move: Move) -> None:
        carry_out(self.house.catalog, self.house.declarations, move)

    def before_commits(self, monkeypatch: pytest.MonkeyPatch, *events: Callable[[], object], of: str = LOG) -> None:
        """Something happens after all were asked, and before the transaction that changes a table."""
        catalog, left = self.house.catalog, list(events)
        commit = catalog.commit_tables

        def late(changes: Sequence[TableChange]) -> None:
            if any(change.identifier == identifier_of(of) and change.updates for change in changes) and left:
                event = left.pop(0)
                monkeypatch.setattr(catalog, "commit_tables", commit)
                event()
                monkeypatch.setattr(catalog, "commit_tables", late)
            commit(changes)

        monkeypatch.setattr(catalog, "commit_tables", late)


def _no_topic(*_: object) -> NoReturn:
    raise AssertionError("nothing of Kafka is asked for")


@pytest.fixture
def rolling(tmp_path: Path) -> Rolling:
    return Rolling(tmp_path)


@pytest.mark.parametrize("reads", [House.mirror, House.copy], ids=["mirror", "copy"])
def test_who_reads_on_between_question_and_command_is_not_cut_off(
    rolling: Rolling, reads: Callable[[House, int], None]
) -> None:
    house, move = rolling.house, rolling.find()
    reads(house, house.head)
    with pytest.raises(ReaderCutOff, match="has read what would be taken back"):
        rolling.carry_out(move)
    assert house.head == rolling.seals[2]
    assert can_plan(house.catalog, house.declarations, LOG) == ()


@pytest.mark.parametrize("reads", [House.mirror, House.copy], ids=["mirror", "copy"])
def test_who_reads_on_at_the_last_moment_is_not_cut_off(
    rolling: Rolling, reads: Callable[[House, int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    house, move = rolling.house, rolling.find()
    rolling.before_commits(monkeypatch, lambda: reads(house, rolling.seals[2]))
    with pytest.raises(ReaderCutOff):
        rolling.carry_out(move)
    assert house.head == rolling.seals[2]


@pytest.mark.parametrize("reads", [House.mirror, House.copy], ids=["mirror", "copy"])
def test_who_has_no_table_yet_and_begins_at_the_last_moment_is_not_cut_off(
    rolling: Rolling, reads: Callable[[House, int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    house, catalog = rolling.house, rolling.house.catalog
    names = [*(table.name for table in house.declarations.mirrors[MIRROR].tables), COPY]
    for name in names:
        catalog.drop_table(name)
    release_lease(catalog, house.log.name(), MIRROR)

    def begins() -> None:
        for name in names:
            apply(plan(house.declarations.tables[name], catalog), catalog)
        reads(house, rolling.seals[2])

    move = rolling.find()
    rolling.before_commits(monkeypatch, begins)
    with pytest.raises(ReaderCutOff):
        rolling.carry_out(move)
    assert house.head == rolling.seals[2]
    assert can_plan(catalog, house.declarations, LOG) == ()


def test_readers_that_stay_behind_the_point_are_no_hindrance(rolling: Rolling, monkeypatch: pytest.MonkeyPatch) -> None:
    house, move = rolling.house, rolling.find()
    again = [lambda: house.copy(rolling.seals[1]), lambda: house.mirror(rolling.seals[1])]
    rolling.before_commits(monkeypatch, *again)
    rolling.carry_out(move)
    assert house.head == rolling.seals[1]
    assert can_plan(house.catalog, house.declarations, LOG) == ()


def test_who_publishes_again_and_again_is_waited_for_so_often(
    rolling: Rolling, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, move = rolling.house, rolling.find()
    rolling.before_commits(monkeypatch, *[lambda: house.copy(rolling.seals[1])] * 9)
    with pytest.raises(MainMovedMeanwhile, match=r"or to who reads them, meanwhile .*nothing was changed"):
        rolling.carry_out(move)
    assert house.head == rolling.seals[2]


def test_a_reader_whose_rows_were_taken_back_does_not_publish(rolling: Rolling) -> None:
    house = rolling.house
    uuid = str(house.log.metadata.table_uuid)
    rolling.carry_out(rolling.find())
    with pytest.raises(SourceSetBack):
        still_in_main(house.catalog, house.log.name(), uuid, rolling.seals[2])
    rolling.carry_out(rolling.find("forward", "run-2"))
    assert still_in_main(house.catalog, house.log.name(), uuid, rolling.seals[2]) is not None


def test_a_source_that_is_set_back_at_the_last_moment_is_seen(
    rolling: Rolling, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mirror goes forward to where it had read what its changelog loses meanwhile."""
    house, catalog = rolling.house, rolling.house.catalog
    house.mirror(rolling.seals[2])
    names = [table.name for table in house.declarations.mirrors[MIRROR].tables]
    standing = load_together(catalog, names)
    rolling.carry_out(Move("rollback", standing, points(standing, "rollback")[1]))
    back, standing = rolling.find(), load_together(catalog, names)
    rolling.before_commits(monkeypatch, lambda: rolling.carry_out(back), of=MIRROR)
    forward = Move("forward", standing, points(standing, "forward")[0])
    assert forward.changed
    with pytest.raises(SourceGone, match="which is gone"):
        rolling.carry_out(forward)
    assert house.head == rolling.seals[1]
    assert load_together(catalog, names)[MIRROR].metadata.refs == standing[MIRROR].metadata.refs
