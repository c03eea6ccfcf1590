"""A mirror's step from a changelog to three published tables, with real Spark: ranges, refusals, columns, rebuilds.

Guarded mechanisms: each range is applied once and wholly; the mirror's rows are what its seal says; nothing outside the
part that the keys can be in is touched; a lease keeps what is still to be read.
"""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import apply, plan
from lakehouse.protocol.catalog import TableChange, set_branch
from lakehouse.protocol.commit.rebase import added_files
from lakehouse.protocol.leases.lease import lease_tag, leases, release_lease
from lakehouse.protocol.seals.history import ancestry, head_of, last_seal, summary_of
from lakehouse.protocol.seals.row_count import row_count
from lakehouse.steps.cdc import step
from lakehouse.steps.cdc.fold.clocks import Arrival
from lakehouse.steps.cdc.fold.survey import survey
from lakehouse.steps.cdc.merge.merge_plan import COPY, DELETES
from lakehouse.steps.cdc.plan.initial_tag import initial_tag
from lakehouse.steps.cdc.plan.reading import changes_of
from lakehouse.steps.cdc.plan.reread_range import applied_range
from lakehouse.steps.cdc.refusals import (
    ColumnsDiffer,
    FilesGone,
    ForeignChange,
    HistoryIncomplete,
    InitialGone,
    MergeDiffers,
    MirrorWrittenTo,
    NoChangelog,
    StatementsDiffer,
    Unparsed,
    WithoutKey,
)
from lakehouse.steps.cdc.status import mirror_standing
from lakehouse_tests.fixtures.lakes import SERVER_FIRST, Lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.steps.cdc.conftest import (
    ROW,
    Change,
    MakeMirror,
    Mirrored,
    change,
    changelog_of,
    compact,
    delete,
    make_mirror,
    moment,
    upsert,
)

ROWS = 10_000  # of which a hundred are little, and the half is much
pytestmark = [pytest.mark.spark, pytest.mark.slow]
BUCKETS = ("bucket(4, id)",)


def _inserts(*numbers: int, begin: int = 1) -> list[dict[str, Any]]:
    return [upsert(n, begin + place, "insert", name=f"n{n}", size=n) for place, n in enumerate(numbers)]


def _named(mirrored: Mirrored) -> dict[int, str]:
    return {key: name for key, (name,) in mirrored.rows("name").items()}


def _files(mirrored: Mirrored, name: str = "") -> set[str]:
    return {task.file.file_path for task in mirrored.load(name).scan().plan_files()}


@pytest.mark.parametrize("lake", SERVER_FIRST, indirect=True)
def test_range_after_range(lake: Lake, spark_on: SparkOn) -> None:
    """On both catalogs: first rows, changes of each kind, a late one, one that contradicts; and nothing twice."""
    mirrored = make_mirror(lake, spark_on, partitioning=BUCKETS)
    assert mirrored.run().kind == "idle"
    first = mirrored.apply(_inserts(1, 2, 3, 4))
    assert (first.kind, first.plan and first.plan.strategy) == ("mirror", "append")
    mirrored.agree()
    report = mirrored.apply(
        [
            upsert(1, 20, name="one"),
            delete(2, 21),
            upsert(5, 22, "insert", name="n5", size=5),
            upsert(3, 1, name="late"),
            upsert(1, 20, name="another"),
        ]
    )
    assert mirrored.rows() == {1: ("one", None), 3: ("n3", 3), 4: ("n4", 4), 5: ("n5", 5)}
    assert mirrored.tombstones() == [2]
    assert mirrored.quarantined() == [("contradiction", 8)]
    statement = mirrored.agree()
    assert (
        statement.applied.inserted,
        statement.applied.updated,
        statement.applied.deleted,
        statement.applied.unchanged,
    ) == (1, 1, 1, 1)
    assert (statement.changes, statement.total_operations, report.refused) == (
        5,
        {"insert": 5, "update": 3, "delete": 1},
        1,
    )
    assert statement.build == first.statement.build if first.statement else False
    assert statement.start == first.statement.end if first.statement else False
    assert statement.kafka_end == {0: 9}
    sealed = last_seal(mirrored.load())
    assert sealed
    assert sealed.seal.inputs == {"changelog.things": statement.end}
    before = mirrored.heads()
    assert mirrored.run().published is None
    assert mirrored.heads() == before
    assert leases(mirrored.load("changelog.things")) == {lease_tag("mirror.things"): statement.end}
    # A resurrection is not possible: the delete is remembered.
    mirrored.apply([upsert(2, 5, name="risen")])
    assert 2 not in mirrored.rows()
    assert mirrored.agree().applied.unchanged == 1


def test_a_run_takes_no_more_than_it_may(mirrored: MakeMirror) -> None:
    things = mirrored()
    for begin in (0, 3, 6):
        things.feed.append(_inserts(*range(begin, begin + 3)))
    assert [things.run(max_changes=4).behind for _ in range(3)] == [6, 3, 0]
    assert things.run().kind == "idle"
    assert sorted(things.rows()) == list(range(9))
    assert things.agree().total_operations == {"insert": 9}


def test_progress_and_low_watermark(mirrored: MakeMirror) -> None:
    """The slowest partition decides; a change from below whose key nobody knows goes to quarantine."""
    things = mirrored(lateness=timedelta(seconds=10))
    things.apply([*_inserts(1, begin=100), upsert(2, 50, "insert", name="n2", partition=1)])
    low = things.agree().low_watermark_us
    assert low == int(moment(40).timestamp() * 1_000_000)
    report = things.apply([upsert(7, 20, name="who?", partition=1), upsert(1, 30, name="old")])
    assert (report.refused, things.quarantined()) == (1, [("too_late", 1)])
    assert _named(things) == {1: "n1", 2: "n2"}
    assert things.agree().low_watermark_us == low  # it never goes back


def test_changes_from_before_a_key_was_declared_are_no_changes_of_one_row(mirrored: MakeMirror) -> None:
    things = mirrored()
    things.feed.append([change("insert", None, 1, after={"id": 1}), change("insert", None, 2, after={"id": 2})])
    with pytest.raises(WithoutKey, match=r"2 changes of changelog\.things .* have no key"):
        things.run()


def _ahead(number: int, position: int) -> Change:
    """A change from a producer whose clock, which Kafka's timestamp has as well, is years ahead."""
    return upsert(number, position, "insert", name=f"n{number}", source_time=moment(10 * 366 * 86_400))


def test_one_change_from_a_clock_years_ahead_does_not_end_a_mirror(mirrored: MakeMirror) -> None:
    things = mirrored(lateness=timedelta(seconds=10))
    things.apply([*_inserts(1, begin=100), _ahead(2, 101)])
    assert things.agree().low_watermark_us == int(moment(90).timestamp() * 1_000_000)
    assert things.apply(_inserts(3, begin=102)).refused == 0
    assert _named(things) == {1: "n1", 2: "n2", 3: "n3"}


def test_a_rebuild_heals_a_mirror_that_such_a_clock_has_ended(
    mirrored: MakeMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    things = mirrored(lateness=timedelta(seconds=10))
    with monkeypatch.context() as patched:
        patched.setattr(Arrival, "believed", lambda self, time: time)
        things.apply([*_inserts(1, begin=100), _ahead(2, 101)])
    assert things.apply(_inserts(3, begin=102)).refused == 1
    things.run(rebuild=True)
    assert things.agree().low_watermark_us == int(moment(92).timestamp() * 1_000_000)
    assert things.apply(_inserts(4, begin=103)).refused == 0
    assert _named(things) == {n: f"n{n}" for n in range(1, 5)}


def test_compactions_of_changelog_and_mirror_change_nothing(mirrored: MakeMirror) -> None:
    things = mirrored(partitioning=BUCKETS)
    things.apply(_inserts(1, 2, 3))
    things.feed.append([upsert(1, 10, name="a")])
    things.feed.append([delete(2, 11)])
    things.sql(compact("changelog.things"), compact("mirror.things"))
    things.feed.append([upsert(3, 12, name="c")])
    report = things.run()
    assert report.statement
    assert report.statement.changes == 3
    assert _named(things) == {1: "a", 3: "c"}
    assert things.agree().total_applied.updated == 2
    # The files that the compaction replaced are what a range is read from; without them nobody may go on.
    things.feed.append([upsert(1, 20, name="lost")])
    appended = next(
        s
        for s in ancestry(things.load("changelog.things"), head_of(things.load("changelog.things")))
        if "added-records" in summary_of(s)
    )
    things.sql(compact("changelog.things"))
    table = things.load("changelog.things")
    for file in added_files(table, appended):
        table.io.delete(file.file_path)
    before = things.heads()
    with pytest.raises(FilesGone, match=f"snapshot {appended.snapshot_id}"):
        things.run()
    assert things.heads() == before


def test_only_the_part_that_keys_can_be_in_is_touched(mirrored: MakeMirror) -> None:
    columns = {**ROW, "made": pandera.Column(T.TimestampType(), nullable=False)}
    log = changelog_of(columns, key=("id", "made"))
    things = mirrored(log, partitioning=("month(made)", "bucket(2, id)"))

    def row(number: int, month: int, position: int, **more: Any) -> dict[str, Any]:
        made = moment(0).replace(month=month)
        key = {"id": number, "made": made}
        return change("update", key, position, after={**key, **more})

    things.apply([row(n, month, 1, name="old") for month in range(1, 7) for n in range(4)])
    before = _files(things)
    report = things.apply([row(1, 3, 2, name="new"), row(1, 4, 2, name="new"), row(99, 3, 2, name="new")])
    after = _files(things)
    assert len(before) == 12
    gone = {path.rsplit("/data/")[1].split("/")[0] for path in before - after}
    assert gone == {"made_month=2024-03", "made_month=2024-04"}
    assert len(before - after) == 2  # of each month one bucket
    assert report.plan
    assert report.plan.files <= 4
    assert report.plan.of_files == 12
    assert sum(name == "new" for (name,) in things.rows("name").values()) == 3
    things.agree()


def test_merge_on_read_where_little_changes_and_copies_where_much_does(mirrored: MakeMirror) -> None:
    """Both modes, and the way from delete files back to files without: the rows stay right throughout."""
    things = mirrored()
    things.apply([upsert(n, 1, "insert", name=f"n{n}", size=n) for n in range(ROWS)])
    whole = _bytes(things)
    for position in (2, 3):  # the second time some of what the delete file named before is written again
        changes = [upsert(n, position, name="new") for n in range(position, ROWS, ROWS // 100)][:98]
        inserted = upsert(ROWS + position, position, "insert", name="new", size=1)
        report = things.apply([*changes, delete(position - 2, position), inserted])
        assert report.plan
        assert (report.plan.mode, report.plan.strategy) == (DELETES, "merge")
        # 100 changes copied all of it, as 100,000 do.
        written = report.plan.actual["bytes"]
        assert written <= (64 << 10) + 2 * 100 * whole / ROWS
        assert written < whole / 10
    assert things.load().properties["write.merge.mode"] == DELETES
    counted = summary_of(things.load().current_snapshot())  # pyright: ignore
    assert (counted["total-records"], counted["total-position-deletes"]) == (f"{ROWS + 198}", "198")
    assert int(counted["total-delete-files"]) <= int(counted["total-data-files"]) <= 3
    statement = things.agree()
    assert (statement.rows, statement.applied.updated, statement.applied.deleted) == (ROWS, 98, 1)
    # What people are told is what a reader sees, by the seal and by the files; not the rows that deletes hide.
    assert mirror_standing(things.feed.catalog, things.tables).rows == ROWS
    assert row_count(things.load(), head_of(things.load())) == ROWS
    late = ROWS // 2 + ROWS // 50
    report = things.apply([upsert(n, 4, name="newer") for n in range(2, late)])
    assert report.plan
    assert report.plan.mode == COPY
    assert things.agree().rows == ROWS
    rows = things.rows("name")
    assert [rows[n] for n in (2, late - 1, late, late + 2, ROWS - 1, ROWS + 2)] == [
        ("newer",),
        ("newer",),
        (f"n{late}",),
        ("new",),
        (f"n{ROWS - 1}",),
        ("new",),
    ]


def _bytes(mirrored: Mirrored) -> int:
    return sum(task.file.file_size_in_bytes for task in mirrored.load().scan().plan_files())


def test_a_key_that_is_there_twice_stops_the_mirror(mirrored: MakeMirror, monkeypatch: pytest.MonkeyPatch) -> None:
    things = mirrored()
    things.apply(_inserts(1, 2))
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
    things.apply(_inserts(1, 2))
    end = things.feed.append(_inserts(3, begin=3))
    things.sql("UPDATE lake.mirror.things SET name = 'by hand' WHERE id = 1")
    with pytest.raises(MirrorWrittenTo):
        things.run()
    things.run(rebuild=True)
    assert _named(things) == {1: "n1", 2: "n2", 3: "n3"}
    assert things.agree().end == end
    ledger = things.load("mirror.things_tombstones")
    ledger.manage_snapshots().rollback_to_snapshot(
        [s.snapshot_id for s in ancestry(ledger, head_of(ledger))][-1]
    ).commit()
    things.feed.append(_inserts(4, begin=4))
    with pytest.raises(StatementsDiffer):
        things.run()
    things.run(rebuild=True)
    things.sql("DELETE FROM lake.changelog.things WHERE key.id = 2")
    things.feed.append(_inserts(5, begin=5))
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
    things.apply(_inserts(1, 2, 3))
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
    assert _named(things) == {1: "on", 3: "c"}


def test_columns_that_are_added_and_widened(mirrored: MakeMirror) -> None:
    """What came before a column was declared is taken over from `extra`, by a rebuild; and wider values fit."""
    narrow = {**ROW, "size": T.IntegerType()}
    things = mirrored(changelog_of(narrow))
    things.apply(
        [upsert(1, 1, name="a", size=7, extra=json.dumps({"colour": "red", "legs": 4})), *_inserts(2, begin=2)]
    )
    wide = changelog_of({**ROW, "colour": T.StringType(), "legs": T.IntegerType()})
    things.feed.declare(wide)
    later = things.declare()
    later.feed.append([upsert(3, 3, "insert", name="c", size=2**40, colour="blue"), upsert(2, 4, name="b", legs=2)])
    report = later.run()
    assert report.kind == "rebuild"
    assert any("colour, legs" in note for note in report.notes)
    assert any("widen column size" in note for note in report.notes)
    assert later.rows("name", "size", "colour", "legs") == {
        1: ("a", 7, "red", 4),
        2: ("b", None, None, 2),
        3: ("c", 2**40, "blue", None),
    }
    assert later.agree().columns["legs"] == "int"
    assert later.apply([upsert(1, 9, name="z")]).kind == "mirror"


def test_a_column_that_nobody_told_of_needs_no_rebuild(mirrored: MakeMirror) -> None:
    things = mirrored()
    things.apply(_inserts(1))
    things.feed.declare(changelog_of({**ROW, "colour": T.StringType()}))
    later = things.declare()
    report = later.apply([upsert(2, 2, "insert", name="b", colour="blue")])
    assert report.kind == "mirror"
    assert later.rows("colour") == {1: (None,), 2: ("blue",)}


def test_a_column_is_added_before_a_change_that_leaves_values_out(mirrored: MakeMirror) -> None:
    """Such a change needs the row that is there, and that row's snapshot has no such column yet."""
    things = mirrored()
    things.apply([upsert(1, 1, "insert", name="a")])
    things.feed.declare(changelog_of({**ROW, "colour": T.StringType()}))
    later = things.declare()
    report = later.apply([upsert(1, 2, colour="red", unavailable=["name"])])
    assert report.kind == "mirror"
    assert later.rows("name", "colour") == {1: ("a", "red")}


def test_a_changelog_that_is_behind_its_declaration(mirrored: MakeMirror) -> None:
    """Its `after` has no such column yet: null, or what `extra` says."""
    things = mirrored()
    things.apply(_inserts(1))
    things.feed.declare(changelog_of({**ROW, "colour": T.StringType()}), applied=False)
    later = things.declare()
    later.apply([upsert(1, 2, name="b", extra='{"colour": "red"}'), *_inserts(2, begin=3)])
    assert later.rows("name", "colour") == {1: ("b", "red"), 2: ("n2", None)}


def test_columns_that_are_not_taken_over(mirrored: MakeMirror) -> None:
    """Dropped, narrowed, of another type, or told of in a way that cannot be read: refused by name; others go on."""
    things, others = mirrored(), mirrored(changelog_of(name="changelog.others"), name="mirror.others")
    things.apply([upsert(1, 1, name="a", size=1, extra='{"born": 19000}')])
    for columns, words in (
        ({"id": ROW["id"], "name": T.StringType()}, "column size is in the table and not in the declaration"),
        ({**ROW, "size": T.IntegerType()}, "column size is long in the table and int in the declaration"),
        ({**ROW, "size": T.StringType()}, "column size is long in the table and string in the declaration"),
        ({**ROW, "born": T.DateType()}, "born"),
    ):
        things.feed.declare(changelog_of(columns), applied=False)
        before = things.heads()
        with pytest.raises((ColumnsDiffer, Unparsed), match=words):
            things.declare().run()
        assert things.heads() == before
    assert others.apply(_inserts(1)).kind == "mirror"


def test_a_mirror_that_begins_with_a_copy(mirrored: MakeMirror) -> None:
    things = mirrored(initial="legacy.things")
    things.feed.append([upsert(1, 5, name="newer"), delete(2, 6)])
    with pytest.raises(InitialGone, match="no such table"):
        things.run()
    things.sql(
        "CREATE NAMESPACE lake.legacy",
        "CREATE TABLE lake.legacy.things USING iceberg AS "
        "SELECT * FROM VALUES (1L, 'a', 1), (2L, 'b', 2), (3L, 'c', 3) AS v(id, name, size)",
    )
    report = things.run()
    snapshot = head_of(things.load("legacy.things"))
    assert report.statement
    assert report.statement.initial == f"legacy.things@{snapshot}"
    assert head_of(things.load("legacy.things"), initial_tag(things.tables.mirror.name)) == snapshot
    assert things.rows() == {1: ("newer", None), 3: ("c", 3)}
    things.sql("INSERT INTO lake.legacy.things VALUES (4L, 'd', 4)")
    things.apply([upsert(3, 7, name="on")])
    assert things.agree().initial == report.statement.initial
    things.run(rebuild=True)  # with the rows of then
    assert _named(things) == {1: "newer", 3: "on"}
    assert things.agree().initial == report.statement.initial


def test_two_mirrors_of_one_changelog(mirrored: MakeMirror) -> None:
    things = mirrored()
    soft = make_soft(things)
    things.apply(_inserts(1, 2))
    soft.run()
    things.apply([delete(1, 5)])
    tags = leases(things.load("changelog.things"))
    assert tags[lease_tag("mirror.soft")] == soft.statement().end != tags[lease_tag("mirror.things")]
    soft.run()
    assert _named(things) == {2: "n2"}
    assert soft.rows("_cdc_deleted") == {1: (True,), 2: (False,)}
    assert soft.agree().applied.deleted == 1
    assert soft.agree().end == things.agree().end


def make_soft(things: Mirrored) -> Mirrored:
    """A second mirror of the same changelog, which keeps deleted rows."""
    soft = things.declare(name="mirror.soft", deletes="soft")
    for table in soft.tables.tables:
        apply(plan(table, soft.feed.catalog), soft.feed.catalog)
    return soft


@pytest.mark.soak
def test_a_lagging_mirror_finds_its_range_after_many_publishes(mirrored: MakeMirror) -> None:
    things = mirrored()
    kept = {"lakehouse.publish.keep-snapshots": "100"}
    things.load("changelog.things").transaction().set_properties(kept).commit_transaction()
    things.apply(_inserts(0))
    for number in range(1, 62):
        things.feed.append(_inserts(number, begin=number + 1))
    assert len(list(ancestry(things.load("changelog.things"), head_of(things.load("changelog.things"))))) > 120
    assert things.run().statement.changes == 61  # pyright: ignore[reportOptionalMemberAccess]
    assert sorted(things.rows()) == list(range(62))
    # The lease has moved on, so the next publish of the changelog trims.
    things.feed.append(_inserts(99, begin=99))
    assert len(things.load("changelog.things").metadata.snapshots) <= 102
    assert release_lease(things.feed.catalog, ("changelog", "things"), "mirror.things")
    assert things.run().kind == "mirror"  # which takes its lease again
    assert leases(things.load("changelog.things")) == {lease_tag("mirror.things"): things.statement().end}


def test_tombstones_that_nobody_needs_are_collected(mirrored: MakeMirror, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakehouse.steps.cdc.merge.apply._COLLECT_LEAST", 2)
    things = mirrored(lateness=timedelta(seconds=10))
    things.apply([*_inserts(*range(6)), delete(1, 10), delete(2, 11), delete(3, 12)])
    things.apply([upsert(4, 100, name="on")])  # now they are old, by this run's own seal
    assert things.tombstones() == []
    statement = things.agree()
    things.apply([delete(5, 200)])
    assert things.tombstones() == [5]
    assert things.agree().low_watermark_us > statement.low_watermark_us


def test_a_truncate_and_columns_that_were_not_sent(mirrored: MakeMirror) -> None:
    things = mirrored(partitioning=BUCKETS)
    things.apply(_inserts(1, 2, 3))
    things.apply([upsert(1, 5, size=9, unavailable=["name"])])
    assert things.rows()[1] == ("n1", 9)
    assert things.agree().behind == ("name",)
    report = things.apply([change("truncate", None, 10), upsert(7, 11, "insert", name="after")])
    assert _named(things) == {7: "after"}
    assert report.statement
    assert report.statement.truncated == (0, 10, 0)
    assert (things.agree().applied.deleted, things.agree().rows) == (3, 1)


def test_the_digest_of_an_applied_range_can_be_checked(mirrored: MakeMirror) -> None:
    things = mirrored()
    things.apply(_inserts(1, 2))
    statement = things.apply(_inserts(3, begin=3)).statement
    assert statement

    def digest() -> str:
        """Of the same range, read again."""
        changes = applied_range("mirror.things", things.load("changelog.things"), statement)
        return things.spark(lambda spark: survey(changes_of(spark, changes), things.tables.changelog).digest)

    assert digest() == statement.digest
    things.sql(compact("changelog.things"))
    assert digest() == statement.digest
    path = Path(urlparse(next(iter(_files(things)))).path)
    assert path.exists()


def test_nulls_in_keys(mirrored: MakeMirror) -> None:
    log = changelog_of(
        {"id": T.LongType(), "part": T.StringType(), "name": T.StringType()}, key=("id", "part"), null_keys="equal"
    )
    things = mirrored(log, partitioning=BUCKETS)

    def row(number: int | None, part: str | None, position: int, **more: Any) -> dict[str, Any]:
        key = {"id": number, "part": part}
        return change("update", key, position, after={**key, **more})

    things.apply([row(None, None, 1, name="a"), row(1, None, 1, name="b"), row(1, "x", 1, name="c")])
    things.apply([row(None, None, 2, name="A"), row(1, None, 2, name="B")])
    rows = {(r["id"], r["part"]): r["name"] for r in things.load().scan().to_arrow().to_pylist()}
    assert rows == {(1, "x"): "c", (1, None): "B", (None, None): "A"}
    assert things.agree().rows == 3


def test_a_tombstone_alone_goes_by_what_its_partition_said_before_it(mirrored: MakeMirror) -> None:
    """A run ends between a delete that is sent again and its tombstone: the row that was made since stays."""
    things = mirrored()
    things.apply([*_inserts(1, 2), delete(1, 5), change("tombstone", 1, None), upsert(1, 6, "insert", name="anew")])
    things.apply([delete(1, 5)])
    things.apply([change("tombstone", 1, None), upsert(1, 6, "insert", name="anew")])
    assert _named(things) == {1: "anew", 2: "n2"}
    things.apply([change("tombstone", 2, None), change("tombstone", 3, None)])
    assert _named(things) == {1: "anew"}, "where compaction took the delete, its tombstone stands for it"
    things.agree()


def test_a_changelog_that_is_set_back_while_it_is_read_takes_nothing_into_the_mirror(
    sql_lake: Lake, spark_on: SparkOn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run begins again on what is there now, and has nothing to do; what comes next is read on."""
    mirrored = make_mirror(sql_lake, spark_on, partitioning=BUCKETS)
    mirrored.apply(_inserts(1))
    log, former = mirrored.load(mirrored.feed.log.name).name(), head_of(mirrored.load(mirrored.feed.log.name))
    assert former is not None
    offsets = dict(mirrored.feed.offsets)
    mirrored.feed.append(_inserts(2, begin=5))

    def set_back(place: str) -> None:
        if place == "mirror.merged":
            sql_lake.catalog.commit_tables([TableChange(log, (), (set_branch("main", former),))])

    monkeypatch.setattr(step, "failpoint", set_back)
    assert mirrored.run().kind == "idle"
    assert any("was set back to before snapshot" in message for message in mirrored.messages)
    monkeypatch.undo()
    mirrored.feed.offsets = offsets
    mirrored.apply(_inserts(3, begin=9))
    assert _named(mirrored) == {1: "n1", 3: "n3"}
