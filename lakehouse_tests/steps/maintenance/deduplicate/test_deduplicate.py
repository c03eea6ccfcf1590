"""Rows that are there twice go from closed partitions, by key and order, and nothing else does.

Guarded mechanisms: which row of a key stays; only whole, closed partitions with such rows are written anew; what was
written is compared with what was there before it is published; what went is counted.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest
from pyiceberg.transforms import BucketTransform
from pyspark.sql import DataFrame

from lakehouse.declarations import Changelog, Declarations, Deduplicate, Derived, Maintenance, apply, plan
from lakehouse.iceberg.entries import partition_of
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.history import last_seal
from lakehouse.steps.maintenance.deduplicate import closed_partitions, deduplicate
from lakehouse.steps.maintenance.deduplicate.closed_partitions import OpenPartition
from lakehouse.steps.maintenance.deduplicate.duplicates import Keyed
from lakehouse.steps.maintenance.model.action import Action, Operation
from lakehouse.steps.maintenance.model.partitions import partition_named
from lakehouse.steps.maintenance.model.preconditions import Computed, FormatVersion3, ReadInRanges
from lakehouse.steps.maintenance.model.state import Partition
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.proofs.audit.simulated import A, SimulatedStream, to_a
from lakehouse_tests.steps.cdc.conftest import changelog_of
from lakehouse_tests.steps.maintenance.house import work_on
from lakehouse_tests.steps.maintenance.seen import DAYS, NAME, Seen

pytestmark = [pytest.mark.spark, pytest.mark.slow]
CLOSED = Maintenance(deduplicate=Deduplicate(order_by=("version desc nulls last",), closed_after=timedelta(0)))


@pytest.fixture
def seen(sql_lake: Lake, spark_on: SparkOn) -> Seen:
    """Things 1 and 2 twice on the first day, thing 1 on the second day too, nothing twice on the third."""
    made = Seen.create(sql_lake, spark_on, CLOSED)
    with spark_on(sql_lake.settings) as spark:
        made.append(spark, (1, DAYS[0], 1, "old"), (2, DAYS[0], None, "none"), (3, DAYS[0], 1, "alone"))
        made.append(spark, (1, DAYS[0], 2, "new"), (2, DAYS[0], 1, "some"), (1, DAYS[1], 1, "other day"))
        made.append(spark, (4, DAYS[1], 1, "x"), (4, DAYS[1], 1, "x"), (5, DAYS[2], 1, "third"))
    return made


def test_the_first_of_each_key_stays(seen: Seen) -> None:
    files = seen.files()
    outcome = seen.run()
    assert outcome.result == "done", outcome.message
    assert outcome.effect.rows_removed == 3
    assert seen.rows() == [
        (1, DAYS[0], 2, "new"),
        (1, DAYS[1], 1, "other day"),
        (2, DAYS[0], 1, "some"),
        (3, DAYS[0], 1, "alone"),
        (4, DAYS[1], 1, "x"),
        (5, DAYS[2], 1, "third"),
    ]
    after = seen.files()
    assert after[DAYS[2]] == files[DAYS[2]]
    assert not after[DAYS[0]] & files[DAYS[0]]
    sealed = last_seal(seen.table)
    assert sealed
    assert (sealed.seal.kind, sealed.seal.statement["said"]) == ("deduplicate", "by the step")
    assert (sealed.seal.statement["deduplicate.removed"], sealed.seal.statement["deduplicate.table"]) == ("3", NAME)
    assert set(seen.table.metadata.refs) == {"main"}
    assert outcome.effect.counted_until_ms == seen.table.metadata.snapshots[-1].timestamp_ms
    again = seen.run()
    assert again.effect.counted_until_ms == outcome.effect.counted_until_ms, (
        "what comes later has not been looked through"
    )
    assert (again.result, again.snapshot_id, again.effect.rows_to_remove) == ("done", None, 0)


def test_rows_without_a_key_are_counted_where_the_files_do_not_say_so(seen: Seen) -> None:
    with seen.spark_on(seen.lake.settings) as spark:
        # As of a table that another engine has made: a column that identifies rows may hold no null.
        with seen.table.update_schema() as columns:
            columns.set_identifier_fields()
        spark.sql(f"ALTER TABLE lake.{NAME} ALTER COLUMN id DROP NOT NULL")
        spark.sql(f"ALTER TABLE lake.{NAME} SET TBLPROPERTIES ('write.metadata.metrics.default' = 'none')")
        spark.sql(f"INSERT INTO lake.{NAME} VALUES (NULL, DATE '2013-01-03', 1, map())")
        head = seen.table.current_snapshot()
        assert head is not None
        assert Keyed(spark, seen.table, head.snapshot_id, ("id",), "").nameless == 1


def test_only_the_partitions_of_the_action(seen: Seen) -> None:
    files = seen.files()
    assert seen.run(DAYS[1]).effect.rows_removed == 1
    after = seen.files()
    assert {day for day in DAYS if after[day] != files[day]} == {DAYS[1]}
    assert len(seen.rows()) == 8


def test_partitions_that_are_gone_are_not_the_whole_table(seen: Seen) -> None:
    action = Action(operation=Operation.DEDUPLICATE, partitions=(Partition(key="gone", name="day=2012-01-01"),))
    declarations = Declarations({NAME: seen.declared}, {}, {})
    work = work_on(seen.lake.catalog, declarations, NAME, seen.declared.maintenance)
    assert deduplicate.run(work, action).result == "nothing"


def test_rows_of_an_older_partitioning_are_not_of_the_partition(seen: Seen) -> None:
    """They may lie on the same day, in files that are not written anew."""
    old = seen.rows()
    with seen.table.update_spec() as update:
        update.add_field("id", BucketTransform(1), "id_bucket")
    with seen.spark_on(seen.lake.settings) as spark:
        seen.append(spark, (1, DAYS[0], 3, "newer"), (1, DAYS[0], 4, "newest"))
    table = seen.table
    places = {partition_of(task.file) for task in table.scan().plan_files()}
    (place,) = (place for place in places if place[0] == table.spec().spec_id)
    partition = partition_named(table, seen.declared, *place)
    declarations = Declarations({NAME: seen.declared}, {}, {})
    work = work_on(
        seen.lake.catalog,
        declarations,
        NAME,
        seen.declared.maintenance,
        session=lambda: seen.spark_on(seen.lake.settings),
    )
    outcome = deduplicate.run(work, Action(operation=Operation.DEDUPLICATE, partitions=(partition,)))
    assert (outcome.result, outcome.effect.rows_removed) == ("done", 1), outcome.message
    assert seen.rows() == sorted(
        [*old, (1, DAYS[0], 4, "newest")], key=lambda row: (row[0], row[1], row[2] or 0, row[3])
    )


def test_nothing_goes_without_a_yes(seen: Seen) -> None:
    before = seen.rows()
    outcome = seen.run(allow=False)
    assert (outcome.result, outcome.effect.rows_to_remove) == ("dry_run", 3)
    assert seen.rows() == before
    assert set(seen.table.metadata.refs) == {"main"}


def test_an_open_partition_is_refused(seen: Seen) -> None:
    """It was written to a moment ago, or the day that it stands for is not over."""
    seen.declared = replace(
        seen.declared,
        maintenance=Maintenance(deduplicate=Deduplicate(order_by=("version",), closed_after=timedelta(hours=1))),
    )
    before = seen.rows()
    with pytest.raises(OpenPartition, match="day=2013-01-01 is open until"):
        seen.run(DAYS[0])
    assert seen.rows() == before


def test_a_partition_whose_last_change_is_forgotten_is_as_young_as_the_history(seen: Seen) -> None:
    seen.declared = replace(
        seen.declared,
        maintenance=Maintenance(deduplicate=Deduplicate(order_by=("version",), closed_after=timedelta(hours=1))),
    )
    with seen.table.maintenance.expire_snapshots() as expire:
        expire.by_ids([snapshot.snapshot_id for snapshot in seen.table.metadata.snapshots[:-1]])
    with pytest.raises(OpenPartition):
        seen.run(DAYS[0])


def test_what_is_not_the_same_rows_is_not_published(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Keyed.first
    faults: dict[str, Callable[[DataFrame], DataFrame]] = {
        "one is lost": lambda rows: rows.where("id <> 3"),
        "one is there twice": lambda rows: rows.union(rows.where("id = 3")),
        "one is changed": lambda rows: rows.selectExpr("id", "day", "version + 1 AS version", "tags"),
        "the key is changed": lambda rows: rows.selectExpr("id + 10 AS id", "day", "version", "tags"),
    }
    before = seen.rows()
    for fault, inject in faults.items():
        monkeypatch.setattr(Keyed, "first", lambda self, policy, inject=inject: inject(real(self, policy)))
        outcome = seen.run()
        assert outcome.result == "proof_failed", fault
        assert seen.rows() == before
    monkeypatch.undo()
    assert seen.run().result == "done"


def test_files_of_other_partitions_may_not_go(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen through the condition for its partitions all would be well."""
    module = sys.modules[deduplicate.__name__]
    monkeypatch.setattr(
        module, "stage_partitions", lambda data, base, attempt: stage_frame_everywhere(seen, data, base, attempt)
    )
    before = seen.rows()
    outcome = seen.run(DAYS[0])
    assert outcome.result == "proof_failed"
    assert "other partitions" in outcome.message
    assert seen.rows() == before


def stage_frame_everywhere(seen: Seen, data: DataFrame, base: Any, attempt: Attempt) -> None:
    third = seen.frame(data.sparkSession, ((5, DAYS[2], 1, "third"), (6, DAYS[2], 1, "new")))
    deduplicate_partitions(data.union(third), base, attempt)


deduplicate_partitions = deduplicate.stage_partitions


def test_an_append_that_is_quicker_wins(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    real = deduplicate.failpoint

    def append_then(name: str) -> None:
        with seen.spark_on(seen.lake.settings) as spark:
            seen.append(spark, (9, DAYS[0], 1, "late"))
        real(name)

    monkeypatch.setattr(deduplicate, "failpoint", append_then)
    outcome = seen.run()
    assert outcome.result == "overtaken"
    assert len(seen.rows()) == 10
    assert set(seen.table.metadata.refs) == {"main"}


def test_who_would_take_it_for_news_or_compute_it_again_is_protected(seen: Seen) -> None:
    dated = {
        "id": pandera.Column(T.LongType(), nullable=False),
        "runtime_date": pandera.Column(T.DateType(), nullable=False),
    }
    copied = Derived(
        table=declare(dated, name="mart.copied", runtime_date_column="runtime_date"),
        inputs={"seen": NAME},
        compute="SELECT id FROM seen",
        mode="incremental",
        follows="seen",
    )
    tables = {NAME: seen.declared, "mart.copied": copied.table}
    log: Changelog = changelog_of(name=NAME)
    computed = replace(
        copied,
        table=declare(dated, name=NAME, runtime_date_column="runtime_date"),
        inputs={"other": "raw.other"},
        follows="other",
    )
    for declarations, error in (
        (Declarations(tables, {}, {}, derived={"mart.copied": copied}), ReadInRanges),
        (Declarations(tables, {}, {}, changelogs={NAME: log}), ReadInRanges),
        (Declarations(tables, {}, {}, derived={NAME: computed}), Computed),
    ):
        work = work_on(seen.lake.catalog, declarations, NAME, CLOSED)
        with pytest.raises(error):
            closed_partitions.look(work, seen.action())
    assert closed_partitions.look(work_on(seen.lake.catalog, Declarations(tables, {}, {}), NAME, CLOSED), seen.action())


def test_a_table_of_version_3_is_refused(sql_lake: Lake, spark_on: SparkOn) -> None:
    made = Seen.create(sql_lake, spark_on, CLOSED)
    with spark_on(sql_lake.settings) as spark:
        made.append(spark, (1, DAYS[0], 1, "once"), (1, DAYS[0], 2, "twice"))
        spark.sql(f"ALTER TABLE lake.{NAME} SET TBLPROPERTIES ('format-version' = '3')")
    with pytest.raises(FormatVersion3):
        made.run()


def test_what_went_from_a_stream_is_proven(sql_lake: Lake, spark_on: SparkOn) -> None:
    """Each number came by both partitions of the topic; its row of partition 1 stays."""
    stream = SimulatedStream(open_catalog(sql_lake.settings))
    for _ in range(2):
        stream.ingest({0: 10, 1: 10}, to_a)
    policy = Maintenance(deduplicate=Deduplicate(order_by=("_kafka_partition desc",), closed_after=timedelta(0)))
    declared = replace(stream.declarations.tables[A], key=("id",), maintenance=policy)
    declarations = replace(stream.declarations, tables={**stream.declarations.tables, A: declared})
    work = work_on(stream.catalog, declarations, A, policy, session=lambda: spark_on(sql_lake.settings))
    outcome = deduplicate.run(work, Action(operation=Operation.DEDUPLICATE))
    assert outcome.effect.rows_removed == 20, outcome.message
    left = stream.load(A).scan().to_arrow()
    assert sorted(left["id"].to_pylist()) == list(range(20))
    assert set(left["_kafka_partition"].to_pylist()) == {1}
    proof = stream.audit()
    assert proof.holds, proof.findings
    assert {proven.partition: proven.rows for proven in proof.ranges if proven.table == A} == {0: 0, 1: 20}
    assert {last_seal(stream.load(name)).seal.kind for name in stream.tables} == {"deduplicate"}  # type: ignore[union-attr]
    stream.ingest({0: 10, 1: 10}, to_a)
    assert stream.audit().holds
    with stream.load(A).transaction() as transaction:
        transaction.delete("_kafka_offset == 15 and _kafka_partition == 1")
    assert "rows_differ" in {finding.kind for finding in stream.audit().findings}


def test_closed_means_that_its_time_is_over_too(sql_lake: Lake, spark_on: SparkOn) -> None:
    made = Seen.create(sql_lake, spark_on, CLOSED)
    made.declared = replace(made.declared, partitioning=("day(day)",))
    today = datetime.now(UTC).date()
    sql_lake.catalog.drop_table(made.declared.identifier)
    apply(plan(made.declared, sql_lake.catalog), sql_lake.catalog)
    with spark_on(sql_lake.settings) as spark:
        made.append(spark, (1, today, 1, "once"), (1, today, 2, "twice"))
    work = work_on(sql_lake.catalog, Declarations({NAME: made.declared}, {}, {}), NAME, CLOSED)
    with pytest.raises(OpenPartition):
        deduplicate.run(work, Action(operation=Operation.DEDUPLICATE))
