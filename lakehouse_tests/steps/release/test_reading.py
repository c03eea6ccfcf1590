"""Readers resolve the pointer once, and then see one vintage, however slowly they read and whatever happens meanwhile.

Guarded mechanisms: members are read at what was released and not at `main`; tags are set before the pointer moves; a
tag is believed only where it names what was recorded.
"""

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Self

import pytest
from pyiceberg.table.update import SetSnapshotRefUpdate

from lakehouse.protocol.catalog import open_catalog, remove_ref
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.release.errors import NothingReleased, ReleaseGone, ReleaseUnknown, TagMoved
from lakehouse.steps.release.gate.results import Check, Result
from lakehouse.steps.release.names import tag_of
from lakehouse.steps.release.reading import OpenRelease, open_release
from lakehouse.steps.release.rollback import rollback
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.steps.release.conftest import Group, MakeGroup, make_group

pytestmark = pytest.mark.slow

MOST_RELEASES = 100
RELEASES = [5, pytest.param(30, marks=pytest.mark.soak)]


class Meanwhile:
    """Threads that do something again and again, with a catalog of their own, as another program would."""

    def __init__(self, group: Group, *does: tuple[Callable[[Group], None], float]) -> None:
        self._group = group
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._repeat, args=arguments) for arguments in does]
        self.wrong: list[Exception] = []

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _repeat(self, do: Callable[[Group], None], pause: float) -> None:
        lake = self._group.lake
        own = replace(self._group, lake=replace(lake, catalog=open_catalog(lake.settings)))
        while not self._over.wait(pause):
            try:
                do(own)
            except Exception as error:  # noqa: BLE001 - whatever is met is what this is about
                self.wrong.append(error)


class Seen(list[tuple[int, ...]]):
    """What readers saw: the newest row of each member."""

    @property
    def vintages(self) -> int:
        """How many different ones."""
        return len({row[-1] for row in self.copy()})

    def reader(self, pause: float) -> Callable[[Group], None]:
        """Goes through all members by the pointer, with a pause before each."""

        def read(group: Group) -> None:
            opened = group.open()
            values: list[int] = []
            for name in opened.tables:
                time.sleep(pause)
                values.append(max(opened.arrow(name)["n"].to_pylist()))
            self.append(tuple(values))

        return read


@pytest.mark.parametrize("releases", RELEASES)
def test_slow_readers_see_one_vintage_during_releases(lake: Lake, releases: int) -> None:
    group = make_group(lake, keep=5)
    stream = itertools.count(1000)
    read_by: dict[int, int] = {}

    def goes_on(writer: Group) -> None:
        writer.write("a", next(stream), kind="ingest")

    def release(vintage: int) -> None:
        """`b` and `c` anew, from what the stream has come to."""
        read = group.head("a")
        read_by[vintage] = max(group.load("a").scan(snapshot_id=read).to_arrow()["n"].to_pylist())
        group.write_all({"b": vintage, "c": vintage}, inputs={"a": read})
        judged = [Check(group.name("a"), "good", (Result("passed", read),)), *group.checks("b", "c")]
        done = group.release(f"run-{vintage}", judged, dated=frozenset(group.members[1:]))
        assert done.outcome == "released"

    goes_on(group)
    release(1)
    seen = Seen()
    with Meanwhile(group, (goes_on, 0.3), (seen.reader(0), 0.1), (seen.reader(0.2), 0)) as meanwhile:
        for vintage in range(2, MOST_RELEASES):
            release(vintage)
            # On a busy machine it goes on until enough was seen.
            if vintage >= releases and seen.vintages > 2 and max(read_by.values()) > 1000:
                break
    assert not meanwhile.wrong, meanwhile.wrong[0]
    assert all((a, b) == (read_by[c], c) for a, b, c in seen), list(seen)
    assert seen.vintages > 2
    assert max(read_by.values()) > 1000, "the stream went on"


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
    seen = Seen()
    with Meanwhile(group, (seen.reader(0), 0.01), (seen.reader(0.02), 0)) as meanwhile:
        for turn in range(8):
            attempt = Attempt(f"cli-{turn}", f"release:{group.declared.name}")
            rollback(group.catalog, group.declared.name, ids[turn % 2], attempt, by="ann", why="test")
    assert not meanwhile.wrong, meanwhile.wrong[0]
    assert set(seen) <= {(1, 1, 1), (2, 2, 2)}
    assert len(seen) > 2


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
