"""Readers resolve the pointer once, and then see one vintage, however slowly they read and whatever happens meanwhile.

Guarded mechanisms: members are read at what was released and not at `main`; tags are set before the pointer moves; a
tag is believed only where it names what was recorded.
"""

import threading
import time

import pytest
from pyiceberg.table.update import SetSnapshotRefUpdate

from lakehouse.catalog import open_catalog, remove_ref
from lakehouse.commit import Attempt
from lakehouse.release.errors import NothingReleased, ReleaseGone, ReleaseUnknown, TagMoved
from lakehouse.release.names import tag_of
from lakehouse.release.reading import OpenRelease, open_release
from lakehouse.release.rollback import rollback
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.release.conftest import Group, MakeGroup, make_group

RELEASES = 30


class Readers:
    """Threads that go through all members by the pointer, again and again, and note what they see."""

    def __init__(self, group: Group, *pauses: float) -> None:
        self._group = group
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._read, args=(pause,)) for pause in pauses]
        self.seen: list[list[int]] = []
        self.wrong: list[Exception] = []

    def __enter__(self) -> "Readers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _read(self, pause: float) -> None:
        catalog = open_catalog(self._group.lake.settings)  # of its own, as another program's
        while not self._over.is_set():
            try:
                opened = open_release(catalog, self._group.declared.name)
                found: list[int] = []
                for name in opened.tables:
                    time.sleep(pause)
                    found.append(max(opened.arrow(name)["n"].to_pylist()))
            except Exception as error:  # noqa: BLE001 - whatever a reader meets is what this is about
                self.wrong.append(error)
            else:
                self.seen.append(found)


@pytest.mark.slow
def test_slow_readers_see_one_vintage_during_thirty_releases(lake: Lake) -> None:
    group = make_group(lake, keep=5)
    group.make()
    group.release()
    with Readers(group, 0.01, 0.2) as readers:
        for vintage in range(2, RELEASES + 2):
            group.write_all({"a": vintage, "b": vintage, "c": vintage})
            assert group.release(f"run-{vintage}").outcome == "released"
    assert not readers.wrong, readers.wrong[0]
    assert all(len(set(found)) == 1 for found in readers.seen), readers.seen
    assert len({found[0] for found in readers.seen}) > RELEASES / 3


def test_a_reader_may_take_until_its_release_is_no_longer_kept(group: Group) -> None:
    group.make()
    group.release()
    opened = group.open()
    seen: list[int] = []
    for name in opened.tables:
        seen.append(max(opened.arrow(name)["n"].to_pylist()))
        for _ in range(2):
            group.make()
            group.release()
            group.write("a", 99)
    assert seen == [1, 1, 1]
    assert opened.arrow(group.name("a"), columns=["n"], where="n = 1").num_rows == 1


def test_rolling_back_while_they_read_shows_one_vintage(sql_group: MakeGroup) -> None:
    group = sql_group()
    ids: list[str] = []
    for _ in range(2):
        group.make()
        ids.append(group.release().id)
    with Readers(group, 0, 0.02) as readers:
        for turn in range(8):
            attempt = Attempt(f"cli-{turn}", f"release:{group.declared.name}")
            rollback(group.catalog, group.declared.name, ids[turn % 2], attempt, by="ann", why="test")
    assert not readers.wrong, readers.wrong[0]
    assert {tuple(found) for found in readers.seen} <= {(1, 1, 1), (2, 2, 2)}
    assert len(readers.seen) > 2


def test_an_older_release_is_open_as_long_as_it_is_kept(sql_group: MakeGroup) -> None:
    group = sql_group(keep=2)
    ids: list[str] = []
    early: list[OpenRelease] = []
    for _ in range(3):
        group.make()
        ids.append(group.release().id)
        early.append(group.open())
    assert group.vintages(group.open(ids[1])) == [2, 2, 2]
    with pytest.raises(ReleaseGone, match=r"older than the 2 that release\.\w+ keeps.*larger `keep`"):
        group.open(ids[0])
    with pytest.raises(ReleaseGone, match="older than the 2"):
        early[0].arrow(group.name("a"))
    with pytest.raises(ReleaseUnknown, match="has no release nonsense"):
        group.open("nonsense")
    with pytest.raises(ReleaseUnknown, match=r"has no table x\.y"):
        early[2].arrow("x.y")


def test_a_tag_moved_or_removed_by_hand_is_never_read(group: Group) -> None:
    group.make()
    before = group.head("a")
    group.make()
    made = group.release()
    opened, tag = group.open(), tag_of(made.id)
    moved = {"ref-name": tag, "type": "tag", "snapshot-id": before}
    group.change("a", SetSnapshotRefUpdate.model_validate(moved))
    with pytest.raises(TagMoved, match=f"names snapshot {before}, and {made.members[0].snapshot_id} was released"):
        opened.arrow(group.name("a"))
    group.change("b", remove_ref(tag))
    with pytest.raises(TagMoved, match="was removed, though the release is kept"):
        opened.arrow(group.name("b"))
    assert opened.arrow(group.name("c")).num_rows == 2


def test_a_member_dropped_and_created_anew_is_not_taken_for_what_was_released(group: Group) -> None:
    group.make()
    group.release()
    opened = group.open()
    group.catalog.drop_table((group.lake.namespace, "b"))
    with pytest.raises(ReleaseGone, match="b was dropped after release"):
        opened.arrow(group.name("b"))
    group.lake.create("b")
    with pytest.raises(ReleaseGone, match="b was dropped after release"):
        opened.arrow(group.name("b"))


def test_nothing_released_yet(sql_group: MakeGroup) -> None:
    group = sql_group()
    with pytest.raises(NothingReleased, match="names no release yet"):
        group.open()
    with pytest.raises(NothingReleased, match=r"There is no table release\.nowhere"):
        open_release(group.catalog, "nowhere")


def test_what_is_read_is_told(sql_group: MakeGroup) -> None:
    group = sql_group()
    group.make()
    group.release()
    read: dict[str, int] = {}
    opened = open_release(group.catalog, group.declared.name, on_read=read.__setitem__)
    assert read == {}
    opened.arrow(group.name("a"))
    assert read == {group.name("a"): group.head("a")}


@pytest.mark.spark
def test_spark_reads_what_was_released(sql_group: MakeGroup, spark_on: SparkOn) -> None:
    group = sql_group()
    group.make()
    made = group.release()
    opened = group.open()
    with spark_on(group.lake.settings) as spark:
        frame = opened.frame(spark, group.name("c"))
        group.make()
        assert [row.n for row in frame.collect()] == [1]
        by_tag = spark.sql(f"SELECT n FROM lake.{group.name('c')} VERSION AS OF '{opened.tag}'")
        assert [row.n for row in by_tag.collect()] == [1]
        assert opened.tag == tag_of(made.id)
