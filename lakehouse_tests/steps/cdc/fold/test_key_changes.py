"""A change of key that leaves a value out, through whole runs: the mirror holds what the old key held."""

import pytest

from lakehouse.steps.cdc.position import ChangePosition
from lakehouse.steps.cdc.verify.verify import check_fold
from lakehouse_tests.steps.cdc.conftest import Change, MakeMirror, Mirrored, change, delete, upsert

pytestmark = [pytest.mark.soak, pytest.mark.spark]


def moved(old: int, new: int, position: int, **sent: str) -> list[Change]:
    """A row's key changes, and `size` is not sent."""
    insert = change("insert", new, position, after={"id": new, **sent}, unavailable=["size"], other_key={"id": old})
    return [delete(old, position, other_key={"id": new}), insert]


def proven(mirrored: Mirrored) -> bool:
    proof = check_fold(mirrored.feed.catalog, mirrored.tables)
    assert proof.holds, proof.findings
    return bool(mirrored.agree())


def test_a_mirror_keeps_what_a_change_of_key_does_not_send(mirrored: MakeMirror) -> None:
    it = mirrored()
    it.apply([upsert(1, 10, name="one", size=11), upsert(5, 10, name="five", size=55), *moved(5, 6, 20, name="six")])
    assert it.rows() == {1: ("one", 11), 6: ("six", 55)}
    it.apply(moved(1, 2, 30, name="two"))
    assert it.rows() == {2: ("two", 11), 6: ("six", 55)}
    assert it.statement().moved == ChangePosition(0, 30, 0)
    assert proven(it)
    report = it.apply([upsert(1, 15, name="late", size=12), upsert(6, 40, name="6", unavailable=["size"])])
    assert it.rows() == {2: ("two", 12), 6: ("6", 55)}
    assert report.statement is not None
    assert (report.statement.applied.updated, report.statement.applied.unchanged) == (2, 1)
    assert proven(it)
    it.run(rebuild=True)
    assert it.rows() == {2: ("two", 12), 6: ("6", 55)}
    assert proven(it)
