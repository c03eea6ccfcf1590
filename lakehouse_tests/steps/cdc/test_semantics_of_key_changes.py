"""What becomes of a row whose key changes, in whatever order it is told."""

import pytest

from lakehouse.steps.cdc.statement import Applied
from lakehouse_tests.steps.cdc.folded_twice import SOFT, NewBoth, at, moved

pytestmark = pytest.mark.spark


def test_a_change_of_key_takes_along_what_it_does_not_send(both: NewBoth) -> None:
    it = both()
    it.apply(("insert", 1, 10, {"a": "x", "b": 1}))
    assert it.apply(*moved(1, 20, 2, a="y")) == Applied(inserted=1, deleted=1)
    assert it.row(2) == ("y", 1)
    assert it.behind(2) == {}
    it.apply(
        ("insert", 3, 30, {"a": "x", "b": 3}), ("update", 3, 31, {"a": "y", "unavailable": ["b"]}), *moved(3, 32, 4)
    )
    assert it.row(4) == ("y", 3)
    it.apply(*moved(9, 40, 5, a="of a key that nobody knows"))
    assert it.row(5) == ("of a key that nobody knows", None)
    assert it.row(1) == it.row(3) is None


def test_what_a_change_of_key_does_not_send_may_have_come_with_an_earlier_one(both: NewBoth) -> None:
    it = both()
    it.apply(("insert", 1, 10, {"a": "x", "b": 1}), *moved(1, 20, 2, a="y"))
    it.apply(*moved(2, 30, 3), *moved(3, 40, 4), ("update", 4, 50, {"a": "z", "unavailable": ["b"]}))
    assert it.row(4) == ("z", 1)
    assert it.behind(4) == {"b": at(40)}
    it.apply(*moved(4, 60, 5), ("update", 5, 70, {"b": 7, "unavailable": ["a"]}), *moved(5, 80, 1))
    assert it.row(1) == ("z", 7)


def test_what_either_key_was_before_does_not_count(both: NewBoth) -> None:
    it = both()
    it.apply(("insert", 1, 10, {"b": 1}), ("delete", 1, 11), ("insert", 2, 10, {"b": 2}), ("delete", 2, 11))
    it.apply(("insert", 1, 20, {"b": 3}), *moved(1, 30, 2), ("insert", 1, 40, {"b": 4}))
    assert (it.row(1), it.row(2)) == ((None, 4), (None, 3))
    it.apply(("delete", 2, 50), ("insert", 3, 50, {"b": 5}), ("delete", 3, 55), *moved(3, 60, 2))
    assert it.row(2) == (None, None)
    it.apply(("insert", 4, 70, {"b": 6}), ("truncate", (), 75), *moved(4, 80, 5))
    assert it.row(5) == (None, None)


def test_what_the_old_key_held_may_come_late(both: NewBoth) -> None:
    it = both()
    it.apply(("insert", 1, 10, {"a": "x", "b": 1}), *moved(1, 30, 2), *moved(2, 40, 3))
    it.apply(("update", 3, 50, {"a": "z", "unavailable": ["b"]}))
    assert it.row(3) == ("z", 1)
    assert it.apply(("update", 1, 20, {"a": "y", "b": 2})) == Applied(updated=1, unchanged=1)
    assert it.row(3) == ("z", 2)
    assert it.behind(3) == {"b": at(40)}
    assert it.apply(("update", 1, 15, {"b": 9})) == Applied(unchanged=1)
    assert it.row(3) == ("z", 2)
    assert it.apply(("delete", 1, 25)) == Applied(updated=1, unchanged=1)
    assert it.row(3) == ("z", None)
    assert it.apply(("update", 3, 60, {"a": "z", "b": 6}), ("update", 1, 26, {"b": 9})) == Applied(
        updated=1, unchanged=1
    )
    assert it.row(3) == ("z", 6)
    assert it.apply(("delete", 3, 70), ("update", 1, 27, {"b": 9})) == Applied(deleted=1, unchanged=1)
    assert it.apply(("update", 1, 28, {"b": 9})) == Applied(unchanged=1)
    assert it.row(3) is None


def test_a_late_change_of_key_and_a_late_truncate_reach_the_keys_that_followed(both: NewBoth) -> None:
    it = both()
    it.apply(*moved(2, 30, 3, a="z"), ("insert", 1, 10, {"b": 1}))
    assert it.row(3) == ("z", None)
    assert it.apply(*moved(1, 20, 2)) == Applied(updated=1, deleted=1, unchanged=1)
    assert it.row(3) == ("z", 1)
    assert it.apply(*moved(1, 20, 2)) == Applied(unchanged=2, duplicates=1)
    assert it.apply(("truncate", (), 25)) == Applied(updated=1)
    assert it.row(3) == ("z", None)


def test_a_change_of_key_that_comes_again_is_a_duplicate_whatever_has_become_of_its_values(both: NewBoth) -> None:
    it = both()
    sent = moved(1, 20, 2)
    it.apply(("insert", 1, 10, {"b": 1}), *sent)
    assert it.apply(("update", 1, 15, {"b": 2}), *sent) == Applied(updated=1, unchanged=1, duplicates=2)
    it.apply(("update", 2, 30, {"a": "z", "unavailable": ["b"]}))
    it.mirrored.came.clear()  # retention
    newer = ("update", 2, 40, {"a": "newer", "unavailable": ["b"]})
    it.mirrored.apply([it.change(*change[:3], **(change[3] if len(change) > 3 else {})) for change in (*sent, newer)])
    assert it.row(2) == ("newer", 2)


def test_what_only_the_mirror_knows_is_taken_along_as_well(both: NewBoth) -> None:
    it = both()
    it.apply(("insert", 1, 10, {"a": "x", "b": 1}), *moved(1, 20, 2))
    it.mirrored.came.clear()  # retention
    again = [it.change(*c[:3], **(c[3] if len(c) > 3 else {})) for c in (*moved(2, 30, 3), *moved(3, 40, 4))]
    it.mirrored.apply(again)
    assert it.row(4) == ("x", 1)
    it.mirrored.apply([it.change(*c[:3], **(c[3] if len(c) > 3 else {})) for c in moved(4, 50, 5)])
    assert it.row(5) == ("x", 1)


def test_of_soft_deleted_keys_a_change_of_key_takes_along_what_they_hold(both: NewBoth) -> None:
    it = both(SOFT)
    it.apply(("insert", 1, 10, {"a": "x", "b": 1}), *moved(1, 20, 2, a="y"))
    assert (it.row(1), it.row(2), it.deleted(1)) == (("x", 1), ("y", 1), True)
    it.apply(("update", 1, 15, {"a": "late", "b": 2}))
    assert (it.row(1), it.row(2)) == (("late", 2), ("y", 2))
    it.apply(("delete", 1, 17), *moved(2, 30, 3))
    assert it.row(3) == ("y", 2)
