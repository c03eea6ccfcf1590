"""What stops a mirror, and what a rebuild puts right."""

from datetime import timedelta

import pytest

from lakehouse.protocol.catalog import TableChange, set_branch
from lakehouse.protocol.seals.history import ancestry, head_of, last_seal
from lakehouse.steps.cdc import step
from lakehouse.steps.cdc.fold.clocks import Arrival
from lakehouse.steps.cdc.refusals import (
    ForeignChange,
    HistoryIncomplete,
    MergeDiffers,
    MirrorWrittenTo,
    NoChangelog,
    StatementsDiffer,
)
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.steps.cdc.conftest import (
    BUCKETS,
    Change,
    MakeMirror,
    at,
    delete,
    inserts,
    make_mirror,
    named,
    upsert,
)

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def _ahead(number: int, position: int) -> Change:
    """A change from a producer whose clock, which Kafka's timestamp has as well, is years ahead."""
    return upsert(number, position, "insert", name=f"n{number}", source_time=at(10 * 366 * 86_400))


def test_one_change_from_a_clock_years_ahead_does_not_end_a_mirror(mirrored: MakeMirror) -> None:
    things = mirrored(lateness=timedelta(seconds=10))
    things.apply([*inserts(1, begin=100), _ahead(2, 101)])
    assert things.agree().low_watermark_us == int(at(90).timestamp() * 1_000_000)
    assert things.apply(inserts(3, begin=102)).refused == 0
    assert named(things) == {1: "n1", 2: "n2", 3: "n3"}


def test_a_rebuild_heals_a_mirror_that_such_a_clock_has_ended(
    mirrored: MakeMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    things = mirrored(lateness=timedelta(seconds=10))
    with monkeypatch.context() as patched:
        patched.setattr(Arrival, "believed", lambda self, told: told)
        things.apply([*inserts(1, begin=100), _ahead(2, 101)])
    assert things.apply(inserts(3, begin=102)).refused == 1
    things.run(rebuild=True)
    assert things.agree().low_watermark_us == int(at(92).timestamp() * 1_000_000)
    assert things.apply(inserts(4, begin=103)).refused == 0
    assert named(things) == {n: f"n{n}" for n in range(1, 5)}


def test_a_key_that_is_there_twice_stops_the_mirror(mirrored: MakeMirror, monkeypatch: pytest.MonkeyPatch) -> None:
    things = mirrored()
    things.apply(inserts(1, 2))
    things.sql("INSERT INTO lake.mirror.things SELECT * FROM lake.mirror.things WHERE id = 1")
    monkeypatch.setattr("lakehouse.protocol.seals.base.Base.unsealed", [])  # as if a rewrite had done it
    before = things.heads()
    things.feed.append([upsert(1, 9, name="both")])
    with pytest.raises(MergeDiffers, match="updated 2 in place of 1"):
        things.run()
    assert things.heads() == before


def test_what_stops_a_mirror(mirrored: MakeMirror) -> None:
    """Each refusal leaves the tables as they are; a rebuild mends what can be mended."""
    things = mirrored()
    things.apply(inserts(1, 2))
    end = things.feed.append(inserts(3, begin=3))
    things.sql("UPDATE lake.mirror.things SET name = 'by hand' WHERE id = 1")
    with pytest.raises(MirrorWrittenTo):
        things.run()
    things.run(rebuild=True)
    assert named(things) == {1: "n1", 2: "n2", 3: "n3"}
    assert things.agree().end == end
    ledger = things.load("mirror.things_tombstones")
    ledger.manage_snapshots().rollback_to_snapshot(
        [s.snapshot_id for s in ancestry(ledger, head_of(ledger))][-1]
    ).commit()
    things.feed.append(inserts(4, begin=4))
    with pytest.raises(StatementsDiffer):
        things.run()
    things.run(rebuild=True)
    things.sql("DELETE FROM lake.changelog.things WHERE key.id = 2")
    things.feed.append(inserts(5, begin=5))
    with pytest.raises(ForeignChange):
        things.run()
    with pytest.raises(HistoryIncomplete):
        things.run(rebuild=True)
    assert sorted(things.rows()) == [1, 2, 3, 4]
    things.feed.catalog.drop_table(("changelog", "things"))
    with pytest.raises(NoChangelog):
        things.run()


def test_a_rebuild_puts_everything_in_place_of_what_is_there(mirrored: MakeMirror) -> None:
    things = mirrored(partitioning=BUCKETS)
    things.apply(inserts(1, 2, 3))
    first = things.apply([delete(2, 9), upsert(3, 10, name="c"), upsert(3, 10, name="d")])
    rows, gone, statement = things.rows(), things.tombstones(), first.statement
    report = things.run(rebuild=True)
    assert (things.rows(), things.tombstones()) == (rows, gone)
    assert report.statement
    assert statement
    assert (report.kind, report.plan and report.plan.strategy) == ("rebuild", "overwrite")
    assert report.statement.build != statement.build
    assert (report.statement.start, report.statement.end, report.statement.changes) == (None, statement.end, 6)
    assert things.agree().total_operations == statement.total_operations
    sealed = last_seal(things.load())
    assert sealed
    assert sealed.seal.kind == "rebuild"
    things.apply([upsert(1, 20, name="on"), upsert(2, 3, name="late")])
    assert named(things) == {1: "on", 3: "c"}


def test_a_changelog_that_is_set_back_while_it_is_read_takes_nothing_into_the_mirror(
    sql_lake: Lake, spark_on: SparkOn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run begins again on what is there now, and has nothing to do; what comes next is read on."""
    mirrored = make_mirror(sql_lake, spark_on, partitioning=BUCKETS)
    mirrored.apply(inserts(1))
    log, former = mirrored.load(mirrored.feed.log.name).name(), head_of(mirrored.load(mirrored.feed.log.name))
    assert former is not None
    offsets = dict(mirrored.feed.offsets)
    mirrored.feed.append(inserts(2, begin=5))

    def set_back(place: str) -> None:
        if place == "mirror.merged":
            sql_lake.catalog.commit_tables([TableChange(log, (), (set_branch("main", former),))])

    monkeypatch.setattr(step, "failpoint", set_back)
    assert mirrored.run().kind == "idle"
    assert any("was set back to before snapshot" in told for told in mirrored.told)
    monkeypatch.undo()
    mirrored.feed.offsets = offsets
    mirrored.apply(inserts(3, begin=9))
    assert named(mirrored) == {1: "n1", 3: "n3"}
