"""Reprocessed changes come late, and are folded as if they had come when they came to Kafka."""

from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lakehouse.steps.cdc.evidence import read_evidence
from lakehouse.steps.cdc.fold.reprocessed_changes import recalled
from lakehouse.steps.cdc.verify.counters import check_balance
from lakehouse.steps.cdc.verify.verify import check_fold
from lakehouse_tests.steps.cdc.conftest import Change, MakeMirror, Mirrored, change, delete, upsert

pytestmark = pytest.mark.spark


def refused(change: Change) -> Change:
    """A change that the stream could not take at first."""
    return {**change, "refused": True}


def _insert(number: int, position: int, **more: Any) -> Change:
    return upsert(number, position, "insert", name=f"n{number}", size=number, **more)


def _proven(things: Mirrored) -> None:
    fold = check_fold(things.feed.catalog, things.tables)
    assert fold.holds, fold.findings
    balance = check_balance(things.tables, read_evidence(things.feed.catalog, things.tables))
    assert balance.holds, balance.findings


@pytest.mark.parametrize("deletes", ["hard", pytest.param("soft", marks=pytest.mark.soak)])
def test_a_late_change_takes_its_place_among_all_of_its_key(mirrored: MakeMirror, deletes: str) -> None:
    """Nothing newer is overwritten, nothing deleted comes back, and nothing is too late."""
    things = mirrored(lateness=timedelta(seconds=10), deletes=deletes)
    things.apply(
        [
            _insert(1, 1),
            refused(_insert(2, 2)),
            refused(_insert(3, 3)),
            delete(3, 4),
            _insert(4, 5),
            refused(upsert(4, 6, name="late", size=6)),
            upsert(4, 7, name="newer", size=7),
            _insert(5, 8),
            refused(delete(5, 9)),
            change("tombstone", 5, None),
            _insert(6, 10),
            refused(upsert(6, 11, name="before its tombstone", size=11)),
            change("tombstone", 6, None),
            refused(_insert(7, 12)),
            refused(change("tombstone", 7, None)),
            _insert(7, 13),
            _insert(8, 14),
            refused(upsert(8, 15, name="the newest", size=15)),
        ]
    )
    things.apply([_insert(100, 1000)])
    things.apply([_insert(101, 1001)])
    assert sorted(things.rows()) == ([1, 4, 7, 8, 100, 101] if deletes == "hard" else [1, 3, 4, 5, 6, 7, 8, 100, 101])
    # What came before it and what comes after are ranges of their own.
    things.feed.append([_insert(102, 1002)])
    things.feed.reprocess()
    things.feed.append([_insert(103, 1003)])
    changes = [
        (report.statement.changes if report.statement else 0) for report in (things.run(), things.run(), things.run())
    ]
    assert changes == [1, 8, 1]
    assert things.run().kind == "idle"
    alive = "name" if deletes == "hard" else "CASE WHEN _cdc_deleted THEN NULL ELSE name END"
    result = things.spark(lambda spark: spark.sql(f"SELECT id, {alive} AS name FROM lake.mirror.things").collect())
    assert {row["id"]: row["name"] for row in result if row["name"]} == {
        1: "n1",
        2: "n2",
        4: "newer",
        7: "n7",
        8: "the newest",
        **{number: f"n{number}" for number in (100, 101, 102, 103)},
    }
    assert things.quarantined() == []
    assert things.agree().reprocessed == 8
    _proven(things)
    rows = things.rows()
    things.run(rebuild=True)
    assert things.rows() == rows
    _proven(things)


def test_a_change_of_a_new_log_is_not_left_out_for_the_refused_one_of_the_old(mirrored: MakeMirror) -> None:
    """In a topic that was made anew, offsets come again; a change without a position goes by its place."""
    things = mirrored()
    position = "struct<epoch:bigint,commit:bigint,sequence:bigint>"
    changes = (
        f"operation string, key struct<id:bigint>, position {position}, _kafka_topic string, _kafka_partition int, "
        "_kafka_offset bigint"
    )
    rows = [
        ("insert", (1,), (0, 10, 0), "things", 0, 1),
        ("update", (1,), (0, 100, 0), "things", 0, 1),
        ("tombstone", (1,), None, "things", 0, 2),
    ]
    gone = [("things", 0, 1, (0, 10, 0)), ("things", 0, 2, (0, 10, 0))]

    def kept(spark: SparkSession) -> list[str]:
        past = spark.createDataFrame(rows, changes)
        refused = spark.createDataFrame(gone, f"topic string, partition int, offset bigint, position {position}")
        return [row["operation"] for row in recalled(past, past, refused, things.feed.log).collect()]

    assert things.spark(kept) == ["update"]
