"""Columns that are added, widened or left out while a mirror follows."""

import json

import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.steps.cdc.refusals import ColumnsDiffer, Unparsed
from lakehouse_tests.steps.cdc.conftest import BUCKETS, ROW, MakeMirror, change, changelog_of, inserts, named, upsert

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_columns_that_are_added_and_widened(mirrored: MakeMirror) -> None:
    """What came before a column was declared is taken over from `extra`, by a rebuild; and wider values fit."""
    narrow = {**ROW, "size": T.IntegerType()}
    things = mirrored(changelog_of(narrow))
    things.apply([upsert(1, 1, name="a", size=7, extra=json.dumps({"colour": "red", "legs": 4})), *inserts(2, begin=2)])
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
    things.apply(inserts(1))
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
    things.apply(inserts(1))
    things.feed.declare(changelog_of({**ROW, "colour": T.StringType()}), applied=False)
    later = things.declare()
    later.apply([upsert(1, 2, name="b", extra='{"colour": "red"}'), *inserts(2, begin=3)])
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
    assert others.apply(inserts(1)).kind == "mirror"


def test_a_truncate_and_columns_that_were_not_sent(mirrored: MakeMirror) -> None:
    things = mirrored(partitioning=BUCKETS)
    things.apply(inserts(1, 2, 3))
    things.apply([upsert(1, 5, size=9, unavailable=["name"])])
    assert things.rows()[1] == ("n1", 9)
    assert things.agree().behind == ("name",)
    report = things.apply([change("truncate", None, 10), upsert(7, 11, "insert", name="after")])
    assert named(things) == {7: "after"}
    assert report.statement
    assert report.statement.truncated == (0, 10, 0)
    assert (things.agree().applied.deleted, things.agree().rows) == (3, 1)
