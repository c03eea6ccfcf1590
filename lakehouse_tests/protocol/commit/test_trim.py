"""Trimming in a publish, over random histories: it drops what nobody needs, and nothing else.

Guarded mechanism: `outdated_snapshots`. What a tag, a branch or an attempt under way stands on must stay, whatever the
order in which they came.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadataV2
from pyiceberg.table.update import TableRequirement

from lakehouse.protocol.catalog import TableChange, ref_is, set_tag
from lakehouse.protocol.commit.trim import AGE_PROPERTY, KEEP_PROPERTY, outdated_snapshots
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.history import ancestry, head_of
from lakehouse_tests.fixtures.lakes import SCHEMA, Lake
from lakehouse_tests.fixtures.work import operations
from lakehouse_tests.protocol.commit.oracle import Oracle

pytestmark = pytest.mark.slow

# What may happen to a table between two publishes: (what, how far back from the head of main).
WHAT = ["publish", "publish", "publish", "tag", "branch", "attempt", "rollback"]
EVENTS = st.lists(st.tuples(st.sampled_from(WHAT), st.integers(0, 9)), max_size=40)


class History:
    """A model of a table: parents by snapshot, and references."""

    def __init__(self) -> None:
        self.retention: dict[str, int] = {}
        self.parents: dict[int, int | None] = {}
        self.refs: dict[str, tuple[str, int]] = {}
        self.main: int | None = None

    def commit(self, parent: int | None) -> int:
        """A new snapshot."""
        snapshot = len(self.parents) + 1
        self.parents[snapshot] = parent
        return snapshot

    def line(self, snapshot: int | None) -> list[int]:
        """The snapshot and its ancestors."""
        ids: list[int] = []
        while snapshot is not None:
            ids.append(snapshot)
            snapshot = self.parents[snapshot]
        return ids

    def happen(self, what: str, back: int) -> None:
        """One event."""
        line = self.line(self.main)
        snapshot_id = line[min(back, len(line) - 1)] if line else None
        if what == "publish":
            self.main = self.commit(self.commit(self.main))
        elif snapshot_id is None:
            return
        elif what == "rollback":
            self.main = snapshot_id
        elif what == "tag":
            self.refs[f"tag{len(self.refs)}"] = ("tag", snapshot_id)
        else:  # a foreign branch, or an attempt that has staged and sealed
            self.refs[f"{what}{len(self.refs)}"] = ("branch", self.commit(self.commit(snapshot_id)))

    def table(self, keep: int | None) -> Table:
        """The same as PyIceberg would load it."""
        refs: dict[str, Any] = {
            n: {"type": kind, "snapshot-id": snapshot_id} for n, (kind, snapshot_id) in self.refs.items()
        }
        if self.main is not None:
            refs["main"] = {"type": "branch", "snapshot-id": self.main, **self.retention}
        metadata = TableMetadataV2.model_validate(
            {
                "location": "file:///t",
                "table-uuid": "00000000-0000-0000-0000-000000000001",
                "last-updated-ms": 1,
                "last-column-id": 2,
                "schemas": [SCHEMA.model_dump(by_alias=True)],
                "current-schema-id": 0,
                "partition-specs": [{"spec-id": 0, "fields": []}],
                "last-partition-id": 999,
                "sort-orders": [{"order-id": 0, "fields": []}],
                "last-sequence-number": len(self.parents),
                "properties": {} if keep is None else {KEEP_PROPERTY: str(keep)},
                "refs": refs,
                "current-snapshot-id": self.main,
                "snapshots": [
                    {"snapshot-id": s, "sequence-number": s, "timestamp-ms": s, "manifest-list": "file:///m"}
                    | ({"parent-snapshot-id": parent} if parent is not None else {})
                    for s, parent in self.parents.items()
                ],
            }
        )
        return Table(("n", "t"), metadata, "file:///t/m.json", PyArrowFileIO(), None)  # pyright: ignore[reportArgumentType]


def test_what_is_set_on_main_itself_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """`ALTER TABLE … REPLACE BRANCH main … WITH SNAPSHOT RETENTION`: snapshots by number, or by age."""
    history = History()
    for _ in range(10):
        history.happen("publish", 0)
    head = history.commit(history.commit(history.main))
    line = history.line(head)
    assert outdated_snapshots(history.table(3), head) == line[3:]
    history.retention = {"min-snapshots-to-keep": 12}
    assert outdated_snapshots(history.table(3), head) == line[12:]
    monkeypatch.setattr("time.time_ns", lambda: 30_000_000)  # snapshot n was made at millisecond n
    history.retention = {"min-snapshots-to-keep": 2, "max-snapshot-age-ms": 20}
    assert outdated_snapshots(history.table(3), head) == [snapshot_id for snapshot_id in line if snapshot_id < 10]
    history.retention = {"max-ref-age-ms": 10**15}
    assert outdated_snapshots(history.table(3), head) == line[3:]


@given(EVENTS, st.integers(1, 12))
def test_nothing_that_somebody_stands_on_is_dropped(events: list[tuple[str, int]], keep: int) -> None:
    history = History()
    for what, back in events:
        history.happen(what, back)
    head = history.commit(history.commit(history.main))  # staged, about to be published
    history.refs["ours"] = ("branch", head)
    dropped = set(outdated_snapshots(history.table(keep), head))

    new_main = history.line(head)
    assert dropped <= set(new_main)
    assert not dropped & set(new_main[: max(2, keep)])
    assert not dropped & {head for _, head in history.refs.values()}
    for _, standing in history.refs.values():
        way = history.line(standing)
        own = [snapshot for snapshot in way if snapshot not in new_main]
        base = next((snapshot for snapshot in way if snapshot in new_main), None)
        assert not dropped & {*own, base}  # what is staged, and the base it descends from
    if all(name == "ours" for name in history.refs):
        assert len(new_main) - len(dropped) <= max(2, keep) + 2  # it really trims


def test_a_number_that_is_none_makes_no_publish_fail(lake: Lake) -> None:
    """It counts as not set, and so does an age that is none."""
    name = lake.create("a", **{KEEP_PROPERTY: "a hundred", AGE_PROPERTY: "five"})
    for n in range(3):
        lake.write(f"s{n}", a=[n])
    assert lake.rows(name) == [0, 1, 2]


def test_a_tag_that_is_moved_back_meanwhile_keeps_its_snapshot(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the lease of a mirror that was rolled back: a REST server would drop it together with what it names."""
    name = lake.create("a", **{KEEP_PROPERTY: "3"})
    for n in (1, 2):
        lake.write(f"s{n}", a=[n])
    newest, *_, first = (s.snapshot_id for s in ancestry(lake.load(name), head_of(lake.load(name))))
    lake.catalog.commit_tables([TableChange(lake.load(name).name(), (), (set_tag("mine", newest),))])
    was = ref_is("mine", newest)

    def chosen(table: Table, next_head: int) -> list[int]:
        outdated = outdated_snapshots(table, next_head)
        if table.metadata.refs["mine"].snapshot_id == newest:
            assert first in outdated
            lake.catalog.commit_tables([TableChange(table.name(), (), (set_tag("mine", first),))])
        return outdated

    commit, required = lake.catalog.commit_tables, list[TableRequirement]()

    def heard(changes: Sequence[TableChange]) -> None:
        required.extend(requirement for change in changes for requirement in change.requirements)
        commit(changes)

    monkeypatch.setattr(lake.catalog, "commit_tables", heard)
    monkeypatch.setattr(import_module("lakehouse.protocol.commit.publish"), "outdated_snapshots", chosen)
    lake.write("third", a=[3])
    assert [requirement for requirement in required if requirement in (was, ref_is("mine", first))] == [
        was,
        ref_is("mine", first),
    ]
    table = lake.load(name)
    assert table.metadata.refs["mine"].snapshot_id == first
    assert table.metadata.snapshot_by_id(first) is not None
    assert lake.rows(name) == [1, 2, 3]


def test_a_tag_and_an_attempt_under_way_outlive_many_publishes(lake: Lake) -> None:
    """The attempt ends as superseded, its tag is read, and no file of either is gone."""
    name = lake.create("a", **{KEEP_PROPERTY: "3"})
    lake.write("first", a=[1])
    base = lake.bases(name)[name]
    assert base.snapshot_id
    lake.load(name).manage_snapshots().create_tag(base.snapshot_id, "release-1").commit()
    under_way = lake.stage(base, Attempt(run_id="slow", step="s"), [100])
    for n in range(2, 8):
        lake.write(f"s{n}", a=[n])
    table, oracle = lake.load(name), Oracle.of(lake)
    assert table.scan(snapshot_id=base.snapshot_id).to_arrow()["n"].to_pylist() == [1]
    assert sorted(table.scan(snapshot_id=under_way.head).to_arrow()["n"].to_pylist()) == [1, 100]
    assert oracle.refs("a") == {"main", "release-1", under_way.branch}
    assert len(oracle.document("a")["snapshots"]) <= 3 + 2 + 1 + 2
    assert sorted(oracle.rows("a")) == list(range(1, 8))


def _plainly(history: History, head: int, keep: int) -> list[int]:
    """The same selection, reference by reference: what is on `main` and neither new nor on anybody's way there."""
    main = history.line(head)
    kept = {*main[: max(2, keep)], history.main}
    for _, branch_head in history.refs.values():
        line = history.line(branch_head)
        meets = next((place for place, snapshot_id in enumerate(line) if snapshot_id in main), len(line))
        kept |= {*line[: meets + 1], branch_head}
    return [snapshot_id for snapshot_id in main if snapshot_id not in kept]


@given(EVENTS, st.integers(1, 12))
def test_the_selection_is_that_of_looking_at_each_reference_alone(events: list[tuple[str, int]], keep: int) -> None:
    history = History()
    for what, back in events:
        history.happen(what, back)
    head = history.commit(history.commit(history.main))
    history.refs["ours"] = ("branch", head)
    assert outdated_snapshots(history.table(keep), head) == _plainly(history, head, keep)


def test_the_work_grows_with_the_pins_and_not_with_their_square() -> None:
    """Guarded mechanism: `_on_the_way` visits a snapshot once, however many references there are."""

    def work(pins: int) -> int:
        history = History()
        for _ in range(pins):
            history.happen("publish", 0)
            history.happen("tag", 0)
        for _ in range(pins):  # attempts that never met what `main` is now
            history.refs[f"lost{len(history.refs)}"] = ("branch", history.commit(history.commit(None)))
        head = history.commit(history.commit(history.main))
        table = history.table(2)
        return operations(lambda: outdated_snapshots(table, head))

    assert work(200) < 3 * work(100)
