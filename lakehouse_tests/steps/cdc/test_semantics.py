"""What changes mean to a mirror, one meaning per test. Each range is folded by Spark, and in plain Python as well."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyspark.sql.types as T  # noqa: N812
import pytest
from pyspark.sql import SparkSession

from lakehouse.declarations import MirrorTables
from lakehouse.engines.spark import spark_session
from lakehouse.settings import Settings
from lakehouse.steps.cdc.position import ChangePosition
from lakehouse.steps.cdc.statement import Applied
from lakehouse_tests.steps.cdc.folding import Mirrored, declare
from lakehouse_tests.steps.cdc.plain_fold import NEVER, Change, Fold

pytestmark = pytest.mark.spark
COLUMNS = {"id": T.LongType(), "a": T.StringType(), "b": T.IntegerType()}
HARD, SOFT = declare(("id",), COLUMNS), declare(("id",), COLUMNS, deletes="soft")


def position_of(commit: int) -> ChangePosition:
    return ChangePosition(0, commit, 0)


class Both:
    """A mirror and the plain fold, fed the same."""

    def __init__(self, session: SparkSession, tables: MirrorTables = HARD) -> None:
        self.session = session
        self.mirrored = Mirrored(session, tables)
        names = [name for name in tables.changelog.row.columns if name not in tables.changelog.key]
        self.fold = Fold(names, soft=tables.mirror.deletes == "soft")
        self.offset = 0

    def change(self, operation: str, key: Any, commit: int | None, **more: Any) -> Change:
        """The next record: columns by name; `time`, `partition`, `unavailable`."""
        named = {
            name: more.pop(name) for name in ("time", "partition", "unavailable", "offset", "other") if name in more
        }
        named["unavailable"] = frozenset(named.get("unavailable", ()))
        named["other"] = None if (other := named.get("other")) is None or isinstance(other, tuple) else (other,)
        self.offset += 1
        key = key if isinstance(key, tuple) else (key,)
        columns = dict.fromkeys(self.fold.names) | more if operation in ("insert", "update", "read") else {}
        position = None if commit is None else position_of(commit)
        return Change(operation, key, position, columns, **{"offset": self.offset} | named)

    def apply(self, *changes: tuple[Any, ...] | Change) -> Applied:
        """Fold one range; a change is written (operation, key, commit, {…})."""
        converted = [
            c if isinstance(c, Change) else self.change(*c[:3], **(c[3] if len(c) > 3 else {})) for c in changes
        ]
        delta = self.mirrored.apply(converted)
        self.fold.apply(converted, low_watermark=self.low_watermark)
        assert self.mirrored.plain_rows() == self.fold.rows()
        refused = [(row["reason"], row["partition"], row["offset"]) for row in self.mirrored.refused]
        assert sorted(refused) == sorted(self.fold.refused)
        assert self.mirrored.applied.duplicates == self.fold.duplicates
        ledger = {(self.mirrored.key(row), ChangePosition.of(row["_cdc_position"])) for row in self.mirrored.tombstones}
        assert ledger == {(key, position) for key, heads in self.fold.ledger.items() for position in heads}
        return delta.applied

    @property
    def low_watermark(self) -> int:
        return self.mirrored.memory.low_watermark_us

    def pass_by(self, low_watermark: int) -> None:
        """The source's clock goes on, and tombstones are collected."""
        self.mirrored.forget(low_watermark)
        self.fold.forget(low_watermark)

    def row(self, key: Any) -> tuple[Any, ...] | None:
        """Values of a row, or None."""
        row = self.mirrored.plain_rows().get(key if isinstance(key, tuple) else (key,))
        return row and tuple(row[name] for name in self.fold.names)

    def deleted(self, key: Any) -> bool:
        return self.mirrored.plain_rows()[key,]["deleted"]

    def behind(self, key: Any) -> dict[str, ChangePosition]:
        return self.mirrored.plain_rows()[key,]["behind"]


NewBoth = Callable[..., Both]


@pytest.fixture
def both(quick: SparkSession) -> NewBoth:
    return lambda tables=HARD: Both(quick, tables)


def test_of_a_range_the_greatest_position_wins_in_whatever_order_it_came(both: NewBoth) -> None:
    it = both()
    applied = it.apply(
        ("update", 1, 30, {"a": "last"}),
        ("insert", 1, 10, {"a": "first", "b": 1}),
        ("update", 1, 20, {"a": "middle"}),
        ("insert", 2, 10, {"a": "gone"}),
        ("delete", 2, 11),
    )
    assert it.row(1) == ("last", None)
    assert it.row(2) is None
    assert applied == Applied(inserted=1, unchanged=1)


def test_epoch_commit_and_sequence_compare_in_this_order(both: NewBoth) -> None:
    it = both()
    positions = [ChangePosition(1, 1, 1), ChangePosition(0, 9, 9), ChangePosition(1, 0, 9), ChangePosition(1, 1, 0)]
    it.apply(*(Change("update", (1,), p, {"a": str(p), "b": None}, offset=n) for n, p in enumerate(positions)))
    assert it.row(1) == ("1/1/1", None)


def test_an_older_change_never_overwrites_a_newer_row(both: NewBoth) -> None:
    it = both()
    it.apply(("insert", 1, 20, {"a": "new"}))
    assert it.apply(("update", 1, 10, {"a": "old"}), ("delete", 1, 15)) == Applied(unchanged=1)
    assert it.row(1) == ("new", None)
    assert it.apply(("update", 1, 30, {"a": "newer"})) == Applied(updated=1)
    assert it.row(1) == ("newer", None)


def test_a_late_update_does_not_bring_back_a_deleted_row(both: NewBoth) -> None:
    it = both()
    it.apply(("insert", 1, 10, {"a": "x"}))
    assert it.apply(("delete", 1, 20), ("delete", 2, 20)) == Applied(deleted=1, unchanged=1)
    assert it.apply(("update", 1, 15, {"a": "late"}), ("update", 2, 15, {"a": "late"})) == Applied(unchanged=2)
    assert it.mirrored.rows == {}
    it.apply(("insert", 1, 30, {"a": "again"}), ("delete", 2, 30))
    it.apply(("update", 1, 25, {"a": "late"}), ("update", 2, 25, {"a": "later than the first delete"}))
    assert it.mirrored.plain_rows().keys() == {(1,)}
    assert it.row(1) == ("again", None)


def test_a_forgotten_key_does_not_come_back_either(both: NewBoth) -> None:
    it = both()
    it.apply(("delete", 1, 20, {"time": 100}), ("delete", 2, 21, {"time": 200}))
    it.pass_by(150)
    assert [row["id"] for row in it.mirrored.tombstones] == [2]
    applied = it.apply(
        ("update", 1, 15, {"a": "from before the delete", "time": 99}),
        ("read", 1, 0, {"a": "likewise", "time": 99}),
        ("tombstone", 1, None),
        ("update", 2, 15, {"a": "its tombstone is still there", "time": 99}),
        ("delete", 3, 14, {"time": 98}),
        ("insert", 4, 16, {"a": "one of them is late", "time": 149}),
        ("insert", 4, 17, {"a": "the other is not", "time": 150}),
        ("insert", 5, 18, {"a": "without time"}),
    )
    assert applied == Applied(inserted=2, unchanged=3, too_late=4)
    assert it.row(4) == ("the other is not", None)
    assert it.row(5) == ("without time", None)
    assert it.apply(("update", 4, 10, {"a": "older, but known", "time": 1})) == Applied(unchanged=1)
    assert {row["reason"] for row in it.mirrored.refused} == {"too_late"}


def test_what_a_truncate_covers_is_old_and_not_too_late(both: NewBoth) -> None:
    it = both()
    it.apply(("truncate", (), 50, {"time": 500}))
    it.pass_by(1000)
    assert it.apply(("insert", 1, 49, {"time": 10}), ("insert", 2, 51, {"time": 20})) == Applied(
        unchanged=2, too_late=1
    )


def test_of_equal_positions_the_first_to_arrive_stays(both: NewBoth) -> None:
    it = both()
    first = it.change("insert", 1, 10, a="first", b=1)
    same, other = it.change("insert", 1, 10, a="first", b=1), it.change("insert", 1, 10, a="other", b=1)
    newer = it.change("update", 1, 11, a="newer", b=1)
    applied = it.apply(other, newer, same, first)
    assert applied == Applied(inserted=1, duplicates=1, contradictions=1)
    refused = it.mirrored.refused[0]
    assert (refused["reason"], refused["operation"], refused["key"]) == ("contradiction", "insert", '{"id":1}')
    assert (refused["topic"], refused["offset"]) == ("things", other.offset)
    assert ChangePosition.of(refused["position"]) == position_of(10)
    assert set(refused) == {column.name for column in HARD.quarantine.schema} - {"build", "run_id"}


def test_what_is_stored_came_first(both: NewBoth) -> None:
    it = both()
    it.apply(("insert", 1, 10, {"a": "x"}), ("delete", 2, 20))
    applied = it.apply(
        ("insert", 1, 10, {"a": "x"}),
        ("insert", 1, 10, {"a": "other"}),
        ("delete", 2, 20),
        ("insert", 2, 20, {"a": "other"}),
    )
    assert applied == Applied(unchanged=2, duplicates=2, contradictions=2)
    assert it.row(1) == ("x", None)
    assert it.row(2) is None


def test_a_change_without_a_value_is_not_one_with_null(both: NewBoth) -> None:
    it = both()
    applied = it.apply(("update", 1, 10, {"b": 1}), ("update", 1, 10, {"b": 1, "unavailable": ["a"]}))
    assert applied == Applied(inserted=1, contradictions=1)


def test_a_change_of_key_is_a_delete_and_a_create(both: NewBoth) -> None:
    it = both()
    it.apply(("insert", 1, 10, {"a": "x"}), ("insert", 2, 10, {"a": "y"}))
    assert it.apply(("insert", 3, 20, {"a": "x"}), ("delete", 1, 20)) == Applied(inserted=1, deleted=1)
    assert it.apply(("update", 1, 15, {"a": "late"})) == Applied(unchanged=1)
    assert it.mirrored.plain_rows().keys() == {(2,), (3,)}


def test_a_truncate_is_a_barrier_between_positions(both: NewBoth) -> None:
    it = both()
    it.apply(("insert", 1, 10, {"a": "x"}), ("insert", 2, 60, {"a": "newer than the truncate"}))
    applied = it.apply(
        ("insert", 3, 40, {"a": "older"}),
        ("truncate", (), 50),
        ("truncate", (), 30),
        ("insert", 4, 50, {"a": "with it"}),
    )
    assert applied == Applied(inserted=1, deleted=1, unchanged=1)
    assert it.mirrored.plain_rows().keys() == {(2,), (4,)}
    assert it.mirrored.tombstones == []
    assert it.apply(("insert", 1, 45, {"a": "late"}), ("insert", 5, 45, {"a": "late"})) == Applied(unchanged=2)
    assert it.mirrored.memory.truncated == position_of(50)
    assert it.apply(("truncate", (), 20)) == Applied()
    assert it.mirrored.plain_rows().keys() == {(2,), (4,)}


def test_a_value_that_was_not_sent_stays_and_may_come_late(both: NewBoth) -> None:
    it = both()
    it.apply(("insert", 1, 10, {"a": "x", "b": 1}), ("update", 2, 20, {"a": "seen first", "unavailable": ["b"]}))
    assert it.apply(("update", 1, 30, {"a": "y", "unavailable": ["b"]})) == Applied(updated=1)
    assert it.row(1) == ("y", 1)
    assert it.behind(1) == {"b": position_of(10)}
    assert it.row(2) == ("seen first", None)
    assert it.behind(2) == {"b": NEVER}
    assert it.mirrored.memory.behind == {"b"}
    applied = it.apply(("update", 1, 20, {"a": "old", "b": 2}), ("update", 2, 10, {"a": "old", "b": 3}))
    assert applied == Applied(updated=2)
    assert it.row(1) == ("y", 2)
    assert it.behind(1) == {"b": position_of(20)}
    assert it.row(2) == ("seen first", 3)
    assert it.apply(("update", 1, 15, {"a": "older", "b": 4})) == Applied(unchanged=1)
    it.apply(("update", 1, 40, {"a": "z", "b": 5}))
    assert it.behind(1) == {}


def test_within_a_range_a_value_that_was_not_sent_is_that_of_the_change_before(both: NewBoth) -> None:
    it = both()
    it.apply(
        ("update", 1, 30, {"a": "z", "unavailable": ["b"]}),
        ("update", 1, 20, {"b": 2, "unavailable": ["a"]}),
        ("insert", 1, 10, {"a": "x", "b": 1}),
    )
    assert it.row(1) == ("z", 2)
    assert it.behind(1) == {"b": position_of(20)}


def test_a_delete_forgets_values_also_for_what_follows_it(both: NewBoth) -> None:
    it = both()
    unsent = {"a": "new", "unavailable": ["b"]}
    it.apply(("insert", 1, 10, {"b": 1}), ("delete", 1, 20), ("update", 1, 30, unsent), ("insert", 2, 10, {"b": 1}))
    assert it.row(1) == ("new", None)
    assert it.behind(1) == {"b": position_of(20)}
    it.apply(("update", 1, 15, {"b": 2}), ("update", 2, 30, unsent), ("insert", 3, 10, {"b": 1}), ("delete", 3, 12))
    assert it.row(1) == ("new", None)
    assert it.row(2) == ("new", 1)
    assert it.apply(("delete", 2, 20), ("update", 3, 20, unsent)) == Applied(inserted=1, updated=1)
    assert it.row(2) == ("new", None)
    assert it.behind(2) == {"b": position_of(20)}
    assert it.behind(3) == {"b": position_of(12)}
    it.apply(("truncate", (), 25))
    assert it.row(2) == ("new", None)
    assert it.behind(2) == {"b": position_of(25)}
    assert it.row(3) is None


def test_a_refused_change_leaves_no_value_behind(both: NewBoth) -> None:
    it = both()
    it.apply(("insert", 1, 10, {"b": 1}), ("update", 1, 30, {"a": "x", "unavailable": ["b"]}))
    it.apply(("update", 1, 30, {"a": "other", "b": 9}), ("update", 1, 20, {"b": 2}))
    assert it.row(1) == ("x", 2)


def moved(key: Any, commit: int, to: Any, **columns: Any) -> tuple[tuple[Any, ...], ...]:
    """A change of key that sends these columns alone."""
    unsent = [name for name in ("a", "b") if name not in columns]
    return ("delete", key, commit), ("insert", to, commit, {**columns, "other": key, "unavailable": unsent})


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
    assert it.behind(4) == {"b": position_of(40)}
    it.apply(*moved(4, 60, 5), ("update", 5, 70, {"b": 7, "unavailable": ["a"]}), *moved(5, 80, 1))
    assert it.row(1) == ("z", 7)


@pytest.mark.soak
def test_what_either_key_was_before_does_not_count(both: NewBoth) -> None:
    it = both()
    it.apply(("insert", 1, 10, {"b": 1}), ("delete", 1, 11), ("insert", 2, 10, {"b": 2}), ("delete", 2, 11))
    it.apply(("insert", 1, 20, {"b": 3}), *moved(1, 30, 2), ("insert", 1, 40, {"b": 4}))
    assert (it.row(1), it.row(2)) == ((None, 4), (None, 3))
    it.apply(("delete", 2, 50), ("insert", 3, 50, {"b": 5}), ("delete", 3, 55), *moved(3, 60, 2))
    assert it.row(2) == (None, None)
    it.apply(("insert", 4, 70, {"b": 6}), ("truncate", (), 75), *moved(4, 80, 5))
    assert it.row(5) == (None, None)


@pytest.mark.soak
def test_what_the_old_key_held_may_come_late(both: NewBoth) -> None:
    it = both()
    it.apply(("insert", 1, 10, {"a": "x", "b": 1}), *moved(1, 30, 2), *moved(2, 40, 3))
    it.apply(("update", 3, 50, {"a": "z", "unavailable": ["b"]}))
    assert it.row(3) == ("z", 1)
    assert it.apply(("update", 1, 20, {"a": "y", "b": 2})) == Applied(updated=1, unchanged=1)
    assert it.row(3) == ("z", 2)
    assert it.behind(3) == {"b": position_of(40)}
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


@pytest.mark.soak
def test_a_late_change_of_key_and_a_late_truncate_reach_the_keys_that_followed(both: NewBoth) -> None:
    it = both()
    it.apply(*moved(2, 30, 3, a="z"), ("insert", 1, 10, {"b": 1}))
    assert it.row(3) == ("z", None)
    assert it.apply(*moved(1, 20, 2)) == Applied(updated=1, deleted=1, unchanged=1)
    assert it.row(3) == ("z", 1)
    assert it.apply(*moved(1, 20, 2)) == Applied(unchanged=2, duplicates=1)
    assert it.apply(("truncate", (), 25)) == Applied(updated=1)
    assert it.row(3) == ("z", None)


@pytest.mark.soak
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


@pytest.mark.soak
def test_of_soft_deleted_keys_a_change_of_key_takes_along_what_they_hold(both: NewBoth) -> None:
    it = both(SOFT)
    it.apply(("insert", 1, 10, {"a": "x", "b": 1}), *moved(1, 20, 2, a="y"))
    assert (it.row(1), it.row(2), it.deleted(1)) == (("x", 1), ("y", 1), True)
    it.apply(("update", 1, 15, {"a": "late", "b": 2}))
    assert (it.row(1), it.row(2)) == (("late", 2), ("y", 2))
    it.apply(("delete", 1, 17), *moved(2, 30, 3))
    assert it.row(3) == ("y", 2)


def test_null_in_a_key_is_a_value(both: NewBoth) -> None:
    columns = {"id": T.LongType(), "part": T.StringType(), "a": T.StringType()}
    it = both(declare(("id", "part"), columns, null_keys="equal"))
    it.apply(("insert", (1, None), 10, {"a": "x"}), ("insert", (1, "p"), 10, {"a": "y"}), ("delete", (2, None), 20))
    applied = it.apply(("update", (1, None), 11, {"a": "z"}), ("insert", (2, None), 15, {"a": "late"}))
    assert applied == Applied(updated=1, unchanged=1)
    assert it.mirrored.plain_rows().keys() == {(1, None), (1, "p")}
    assert it.row((1, None)) == ("z",)
    it.apply(("insert", (1, None), 11, {"a": "contradicts"}))
    assert it.mirrored.refused[0]["key"] == '{"id":1,"part":null}'


def test_a_snapshot_read_never_beats_a_logged_change(both: NewBoth) -> None:
    it = both()
    it.apply(("update", 1, 10, {"a": "logged"}), ("read", 2, 0, {"a": "read"}), ("delete", 3, 11))
    it.apply(("read", 1, 0, {"a": "read"}), ("update", 2, 9, {"a": "logged"}), ("read", 3, 0, {"a": "read"}))
    assert (it.row(1), it.row(2), it.row(3)) == (("logged", None), ("logged", None), None)


def test_soft_deletes_keep_the_row(both: NewBoth) -> None:
    it = both(SOFT)
    it.apply(("insert", 1, 10, {"a": "x", "b": 1}), ("insert", 2, 10, {"a": "x"}))
    assert it.apply(("delete", 1, 30), ("delete", 3, 30)) == Applied(inserted=1, deleted=1)
    assert it.row(1) == ("x", 1)
    assert it.deleted(1)
    assert it.behind(1) == {"a": position_of(10), "b": position_of(10)}
    assert (it.row(3), it.deleted(3), it.behind(3)) == ((None, None), True, {"a": NEVER, "b": NEVER})
    assert it.mirrored.tombstones == []
    assert it.mirrored.memory.behind == frozenset()
    late = ("update", 1, 20, {"a": "late", "b": 2}), ("update", 1, 15, {"a": "later"}), ("update", 3, 5, {"a": "late"})
    assert it.apply(*late) == Applied(updated=2)
    assert (it.row(1), it.deleted(1), it.row(3)) == (("late", 2), True, ("late", None))
    assert it.apply(("insert", 1, 40, {"a": "alive"}), ("delete", 1, 35)) == Applied(updated=1)
    assert (it.row(1), it.deleted(1), it.behind(1)) == (("alive", None), False, {})
    assert it.apply(("truncate", (), 50), ("insert", 4, 45, {"a": "late"})) == Applied(inserted=1, updated=1, deleted=2)
    assert [it.deleted(key) for key in (1, 2, 3, 4)] == [True] * 4
    assert it.row(1) == ("alive", None)
    it.apply(("insert", 4, 50, {"a": "at the truncate, so after it"}), ("tombstone", 2, None))
    assert (it.deleted(4), it.deleted(2)) == (False, True)
    it.apply(
        ("update", 1, 60, {"a": "again", "unavailable": ["b"]}), ("update", 2, 20, {"a": "y", "unavailable": ["b"]})
    )
    assert (it.deleted(1), it.behind(1)) == (False, {"b": position_of(40)})
    assert it.behind(2) == {"a": position_of(20), "b": position_of(10)}


def test_a_tombstone_deletes_what_its_partition_said_last(both: NewBoth) -> None:
    it = both()
    it.apply(("insert", 1, 10, {"a": "stored"}), ("insert", 2, 10, {"a": "stored"}), ("insert", 3, 10, {"a": "stored"}))
    applied = it.apply(
        ("tombstone", 1, None),
        ("update", 2, 20, {"a": "before"}),
        ("tombstone", 2, None),
        ("update", 3, 20, {"a": "after"}),
        ("tombstone", 4, None),
        ("insert", 5, 20, {"a": "other partition", "partition": 1}),
        ("tombstone", 5, None),
        ("tombstone", 6, None, {"partition": 1}),
        ("insert", 6, 20, {"a": "after"}),
    )
    assert applied == Applied(inserted=2, updated=1, deleted=2, unchanged=1)
    assert it.mirrored.plain_rows().keys() == {(3,), (5,), (6,)}
    applied = it.apply(("update", 2, 20, {"a": "before"}), ("insert", 1, 10, {"a": "stored"}), ("tombstone", 1, None))
    assert applied == Applied(unchanged=2, duplicates=2)
    applied = it.apply(("update", 2, 20, {"a": "contradicts"}), ("update", 1, 9, {"a": "late"}))
    assert applied == Applied(unchanged=2, contradictions=1)
    assert it.mirrored.plain_rows().keys() == {(3,), (5,), (6,)}


def test_a_delete_that_is_sent_again_with_its_tombstone_spares_the_row_made_since(both: NewBoth) -> None:
    it = both()
    sent = [("delete", 1, 10, {"time": 1}), ("tombstone", 1, None), ("insert", 1, 20, {"a": "since"})]
    assert it.apply(*sent, *sent) == Applied(inserted=1, duplicates=2)
    assert it.apply(*sent) == Applied(unchanged=1, duplicates=1)
    assert it.row(1) == ("since", None)


def test_a_column_declared_later_and_a_wider_type_change_no_digest(quick: SparkSession) -> None:
    nested = T.StructType([T.StructField("x", T.IntegerType()), T.StructField("y", T.ArrayType(T.FloatType()))])
    wide = T.StructType(
        [
            T.StructField("x", T.LongType()),
            T.StructField("z", T.StringType()),
            T.StructField("y", T.ArrayType(T.DoubleType())),
        ]
    )
    before = {"id": T.IntegerType(), "n": nested, "d": T.DecimalType(9, 2), "f": T.FloatType()}
    after = {"c": T.StringType(), "id": T.LongType(), "n": wide, "d": T.DecimalType(20, 2), "f": T.DoubleType()}
    value = {"n": {"x": 1, "y": [0.5, None]}, "d": Decimal("1.25"), "f": 0.5}
    change = Change("insert", (1,), position_of(1), value)
    rows = [declare(("id",), columns) for columns in (before, after)]
    mirrors = [Mirrored(quick, tables) for tables in rows]
    digests = set[int]()
    surveyed = set[str]()
    for mirrored in mirrors:
        mirrored.apply([change])
        digests.add(mirrored.rows[1,]["_cdc_digest"])
        surveyed.add(mirrored.surveyed.digest)
    assert len(digests) == len(surveyed) == 1


@pytest.mark.soak
@pytest.mark.parametrize("tables", [HARD, SOFT], ids=["hard", "soft"])
def test_all_of_it_on_spark_connect(connect_settings: Settings, tables: MirrorTables) -> None:
    with spark_session(connect_settings, app_name="test") as session:
        it = Both(session, tables)
        it.apply(("insert", 1, 10, {"a": "x", "b": 1, "time": 10}), ("insert", 2, 10, {"a": "y", "b": 2, "time": 10}))
        it.pass_by(100)
        applied = it.apply(
            ("update", 1, 30, {"a": "z", "unavailable": ["b"], "time": 200}),
            ("update", 1, 30, {"a": "contradicts", "time": 200}),
            ("tombstone", 2, None),
            ("insert", 3, 31, {"a": "too late", "time": 20}),
            ("truncate", (), 5),
        )
        assert applied == Applied(updated=1, deleted=1, unchanged=1, contradictions=1, too_late=1)
        assert it.row(1) == ("z", 1)
        it.apply(*moved(1, 40, 6))
        it.apply(("update", 1, 35, {"b": 2, "unavailable": ["a"]}), *moved(6, 50, 7))
        assert it.row(7) == ("z", 2)
