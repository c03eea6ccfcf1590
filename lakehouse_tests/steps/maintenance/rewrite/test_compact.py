"""Spark rewrites, we prove and publish: every strategy, format and kind of delete, against writers who go on writing.

Guarded mechanisms: the procedure works on the attempt's branch and in the named partitions only; nothing unproven is
published; a rewrite that was overtaken leaves nothing behind.
"""

import dataclasses
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest
from pyiceberg.manifest import DataFileContent
from pyspark.sql import SparkSession

from lakehouse.declarations import Declarations, Maintenance
from lakehouse.iceberg.entries import partition_of
from lakehouse.protocol.commit import Replacement, Staged, open_branch, publish
from lakehouse.protocol.commit.frames import stage_frame
from lakehouse.protocol.commit.stage import branch_table
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.history import head_of, last_seal
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.maintenance.measure.measure import measure
from lakehouse.steps.maintenance.model.action import Action, Operation
from lakehouse.steps.maintenance.model.partition_filter import where
from lakehouse.steps.maintenance.model.state import Depth
from lakehouse.steps.maintenance.plan.budget import Budget
from lakehouse.steps.maintenance.plan.decide import decide
from lakehouse.steps.maintenance.rewrite import compact
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.steps.maintenance.rewriting import ALWAYS, NAME, Events

pytestmark = [pytest.mark.spark, pytest.mark.slow]
FIRST, SECOND = "day=2013-01-01", "day=2013-01-02"


def files(events: Events) -> Counter[Any]:
    return Counter(
        partition_of(e.data_file)[1] for e in events.entries() if e.data_file.content == DataFileContent.DATA
    )


def refs(events: Events) -> set[str]:
    return set(events.table.metadata.refs)


def policy(**rewrite: Any) -> Maintenance:
    assert ALWAYS.rewrite
    return dataclasses.replace(ALWAYS, rewrite=dataclasses.replace(ALWAYS.rewrite, **rewrite))


def test_binpack_of_one_partition(lake: Lake, spark_on: SparkOn) -> None:
    events = Events.create(lake, spark_on)
    with spark_on(lake.settings) as spark:
        events.append(spark, range(4), range(4, 8), range(8, 12))
    before = events.rows()
    step = last_seal(events.table)
    outcome = events.compact(FIRST)
    assert outcome.result == "done", outcome.message
    assert events.rows() == before
    assert sorted(files(events).values()) == [1, 3]
    assert refs(events) == {"main"}
    assert outcome.before.files == 6
    assert outcome.after
    assert outcome.after.files == 4
    assert (outcome.effect.rows, outcome.effect.proof_engine) == (6, "polars")
    sealed = last_seal(events.table)
    assert sealed
    assert step
    assert sealed.seal.kind == "maintenance"
    assert sealed.snapshot_id == outcome.snapshot_id
    assert sealed.seal.runtime_date == step.seal.runtime_date
    assert events.compact(FIRST).result == "nothing"
    assert refs(events) == {"main"}


@pytest.mark.parametrize("strategy", ["sort", "zorder"])
def test_in_an_order(sql_lake: Lake, spark_on: SparkOn, strategy: str) -> None:
    zorder: dict[str, Any] = {"strategy": "zorder", "zorder_by": ("id", "seen_at")} if strategy == "zorder" else {}
    events = Events.create(
        sql_lake,
        spark_on,
        sort_order=() if zorder else ("id desc",),
        maintenance=dataclasses.replace(policy(**zorder), layout="none"),
    )
    with spark_on(sql_lake.settings) as spark:
        events.append(spark, range(3, 6), range(3))
    before = events.rows()
    outcome = events.compact()
    assert outcome.result == "done", outcome.message
    assert events.rows() == before
    assert set(files(events).values()) == {1}
    if not zorder:
        for entry in events.entries():
            day = entry.data_file.partition[0]
            rows = events.table.scan(row_filter=f"day == '{'2013-01-01' if day == 15706 else '2013-01-02'}'").to_arrow()
            assert rows["id"].to_pylist() == sorted(rows["id"].to_pylist(), reverse=True)


def test_a_partition_that_is_too_large_is_rewritten_in_parts(sql_lake: Lake, spark_on: SparkOn) -> None:
    """As much as a run may take, as its plan says, and in the end all of it."""
    part = dataclasses.replace(policy(target_file_size=64 * 1024, max_group_bytes=64 * 1024), layout="none")
    events = Events.create(sql_lake, spark_on, maintenance=part)
    with spark_on(sql_lake.settings) as spark:
        base, attempt = events.base, Attempt(run_id="run", step="ingest")
        open_branch(sql_lake.catalog, base, attempt)
        stage_frame(events.frame(spark, range(0, 240, 2)).repartition(60), base, attempt)
        publish(sql_lake.catalog, [events.seal(base, attempt)])
        before, sizes = events.rows(), [e.data_file.file_size_in_bytes for e in events.entries()]
        assert len(sizes) == 60
        assert sum(sizes) > 2 * 64 * 1024
        done = 0
        while (action := due(events)) is not None:
            there = {e.data_file.file_path: e.data_file.file_size_in_bytes for e in events.entries()}
            outcome = compact.run(events.work(), action)
            assert outcome.result == "done", outcome.message
            assert outcome.after
            left = {e.data_file.file_path for e in events.entries()}
            read = sum(size for path, size in there.items() if path not in left)
            if action.max_bytes is not None:
                assert action.max_bytes / 2 < read <= action.max_bytes
                assert action.bytes == pytest.approx(read, rel=0.1)
            done += 1
            assert done < 6
    assert done > 1
    assert events.rows() == before
    assert len(events.entries()) <= 5


def due(events: Events) -> Action | None:
    """The rewrite that is decided on."""
    now = datetime.now(UTC)
    declarations = Declarations(tables={NAME: events.declared}, streams={}, files={})
    state = measure(events.table, events.declared, declarations, now=now, depth=Depth.PARTITIONS)
    plan = decide(state, events.declared.maintenance, Budget())
    return next((action for action in plan.actions if action.operation is Operation.REWRITE), None)


def written_as(events: Events, format_: str) -> None:
    with events.table.transaction() as transaction:
        transaction.set_properties({"write.format.default": format_})


@pytest.mark.parametrize("format_", ["avro", "orc"])
def test_into_another_format(sql_lake: Lake, spark_on: SparkOn, format_: str) -> None:
    events = Events.create(sql_lake, spark_on, maintenance=policy(to_format=None))
    written_as(events, format_)
    with spark_on(sql_lake.settings) as spark:
        events.append(spark, range(4))
        before = [tuple(row) for row in spark.sql(f"SELECT * FROM lake.{NAME} ORDER BY id").collect()]
    written_as(events, "parquet")
    events.declared = dataclasses.replace(events.declared, maintenance=policy(to_format="parquet"))
    outcome = events.compact()
    assert outcome.result == "done", outcome.message
    assert outcome.effect.proof_engine == ("spark" if format_ == "avro" else "polars")
    assert {e.data_file.file_format.value for e in events.entries()} == {"PARQUET"}
    with spark_on(sql_lake.settings) as spark:
        assert [tuple(row) for row in spark.sql(f"SELECT * FROM lake.{NAME} ORDER BY id").collect()] == before


def test_deletes_and_what_is_left_of_them(sql_lake: Lake, spark_on: SparkOn) -> None:
    """Rows stay deleted, delete files go, and those of the other partition stay what they are."""
    events = Events.create(sql_lake, spark_on, **{"write.delete.mode": "merge-on-read"})
    with spark_on(sql_lake.settings) as spark:
        events.append(spark, range(8), range(8, 16))
        publish(sql_lake.catalog, [events.change(spark, "DELETE FROM {branch} WHERE id IN (0, 1, 2, 9)")])
        publish(sql_lake.catalog, [events.change(spark, "DELETE FROM {branch} WHERE id IN (4, 5, 8)")])
    before = events.rows()
    assert len(before) == 9
    outcome = events.compact(FIRST)
    assert outcome.result == "done", outcome.message
    assert events.rows() == before
    deletes = [e.data_file for e in events.entries() if e.data_file.content != DataFileContent.DATA]
    assert {file.partition[0] for file in deletes} == {max(p[0] for p in files(events))}
    with spark_on(sql_lake.settings) as spark:  # Java reads, and commits on top
        assert spark.sql(f"SELECT count(*) FROM lake.{NAME}").collect()[0][0] == 9
        publish(sql_lake.catalog, [events.change(spark, "DELETE FROM {branch} WHERE id = 3")])
    assert len(events.rows()) == 8
    assert events.compact().result == "done"
    assert {e.data_file.content for e in events.entries()} == {DataFileContent.DATA}
    assert len(events.rows()) == 8


def while_it_is_written(monkeypatch: pytest.MonkeyPatch, do: Any) -> None:
    """Something happens after the procedure has written, and before anything is published."""
    real = compact.failpoint

    def then(name: str) -> None:
        if name == "rewrite.written":
            do()
        real(name)

    monkeypatch.setattr(compact, "failpoint", then)


def test_appends_meanwhile(sql_lake: Lake, spark_on: SparkOn, monkeypatch: pytest.MonkeyPatch) -> None:
    events = Events.create(sql_lake, spark_on)
    with spark_on(sql_lake.settings) as spark:
        events.append(spark, range(4), range(4, 8))
        while_it_is_written(monkeypatch, lambda: events.append(spark, range(8, 12)))
        outcome = events.compact()
    assert outcome.result == "done", outcome.message
    assert [row[0] for row in events.rows()] == list(range(12))
    assert set(files(events).values()) == {2}
    assert refs(events) == {"main"}


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_deletes_meanwhile(sql_lake: Lake, spark_on: SparkOn, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    events = Events.create(sql_lake, spark_on, **{"write.delete.mode": mode})
    with spark_on(sql_lake.settings) as spark:
        events.append(spark, range(4), range(4, 8))
        delete = "DELETE FROM {branch} WHERE id = 2"
        while_it_is_written(monkeypatch, lambda: publish(sql_lake.catalog, [events.change(spark, delete)]))
        outcome = events.compact(FIRST)
        assert outcome.result == "overtaken", outcome.message
        assert [row[0] for row in events.rows()] == [0, 1, 3, 4, 5, 6, 7]
        assert refs(events) == {"main"}
        monkeypatch.undo()
        assert events.compact(SECOND).result == "done"
        assert events.compact(FIRST).result == "done"
    assert [row[0] for row in events.rows()] == [0, 1, 3, 4, 5, 6, 7]


def test_a_rewrite_that_loses_rows(sql_lake: Lake, spark_on: SparkOn, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is forgotten: nothing is published, and the branch is there for whoever wants to know."""
    events = Events.create(sql_lake, spark_on)
    with spark_on(sql_lake.settings) as spark:
        events.append(spark, range(4), range(4, 8))
    before, head = events.rows(), head_of(events.table)
    real = Replacement.between.__func__

    def forgets(cls: Any, *args: Any) -> Replacement:
        rewritten = real(cls, *args)
        return dataclasses.replace(rewritten, into=rewritten.into[1:])

    monkeypatch.setattr(Replacement, "between", classmethod(forgets))
    outcome = events.compact()
    assert outcome.result == "proof_failed"
    assert "4 rows before, 0 after" in outcome.message
    assert head_of(events.table) == head
    assert events.rows() == before
    assert len(refs(events)) == 2


def test_row_ids_of_version_3(sql_lake: Lake, spark_on: SparkOn, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids and when a row was last changed stay, with delete vectors; and nothing is put on another base."""
    events = Events.create(sql_lake, spark_on)
    query = f"SELECT id, name, _row_id, _last_updated_sequence_number FROM lake.{NAME} ORDER BY id"
    with spark_on(sql_lake.settings) as spark:
        spark.sql(
            f"ALTER TABLE lake.{NAME} SET TBLPROPERTIES ('format-version'='3', 'write.delete.mode'='merge-on-read')"
        )
        for numbers in (range(4), range(4, 8)):
            write3(events, spark, numbers)
        write3(events, spark, (), delete="id IN (0, 5)")
        before = spark.sql(query).collect()
        assert len(before) == 6
        outcome = events.compact()
        assert outcome.result == "done", outcome.message
        assert outcome.effect.proof_engine == "spark"
        assert spark.sql(query).collect() == before
        assert set(files(events).values()) == {1}
        assert refs(events) == {"main"}
        sealed = last_seal(events.table)
        assert sealed
        assert sealed.seal.kind == "maintenance"

        write3(events, spark, range(8, 12))
        while_it_is_written(monkeypatch, lambda: write3(events, spark, range(12, 16)))
        assert events.compact().result == "overtaken"
        assert refs(events) == {"main"}
        assert [row[0] for row in spark.sql(query).collect()] == sorted({*range(16)} - {0, 5})


def write3(events: Events, spark: SparkSession, numbers: Iterable[int], *, delete: str = "") -> None:
    """A step on a table of version 3, which appends or deletes rows: Spark writes the seal as well."""
    frame = events.frame(spark, numbers)
    if events.base.snapshot_id is None:
        frame.limit(0).writeTo(f"lake.{NAME}").append()
    base, attempt = events.base, Attempt(run_id="run", step="ingest")
    open_branch(events.lake.catalog, base, attempt, by_spark_alone=True)
    if delete:
        spark.conf.set("spark.sql.iceberg.snapshot-property.lakehouse.attempt", attempt.id)
        spark.sql(f"DELETE FROM {branch_table(base, attempt)} WHERE {delete}")
        spark.conf.unset("spark.sql.iceberg.snapshot-property.lakehouse.attempt")
    else:
        stage_frame(frame.coalesce(1), base, attempt)
    seal = Seal.of(attempt, "write", statement={}, previous=base.sealed.seal if base.sealed else None)
    writer = frame.limit(0).writeTo(branch_table(base, attempt))
    for key, value in seal.to_summary().items():
        writer = writer.option(f"snapshot-property.{key}", value)
    writer.append()
    head = head_of(events.table, attempt.branch)
    assert head
    publish(events.lake.catalog, [Staged(base, attempt, attempt.branch, head, seal)])


LAYOUTS = [
    ("day", "name"),
    ("year(seen_at)", "bucket(3, id)"),
    ("month(seen_at)", "truncate(4, name)"),
    ("day(seen_at)", "truncate(2, id)"),
    ("hour(seen_at)", "price"),
    ("seen_at", "id"),
]


@pytest.mark.parametrize("partitioning", LAYOUTS, ids=" ".join)
def test_every_partition_has_a_name_for_spark(sql_lake: Lake, spark_on: SparkOn, partitioning: tuple[str, ...]) -> None:
    """The condition holds for the rows of the partition's files, and for no others; also where the value is null."""
    events = Events.create(sql_lake, spark_on, partitioning=partitioning)
    with spark_on(sql_lake.settings) as spark:
        events.append(spark, range(8), range(8))
        table = events.table
        counts: Counter[Any] = Counter()
        for entry in events.entries():
            counts[partition_of(entry.data_file)] += entry.data_file.record_count
        for place, count in counts.items():
            condition = where(table, [place])
            (row,) = spark.sql(f"SELECT count(*) FROM lake.{NAME} WHERE {condition}").collect()
            assert row[0] == count, condition
        before = events.rows()
        partition = sorted(events.partitions().values(), key=lambda p: p.key)[0]
        outcome = events.compact(partition.name)
        assert outcome.result == "done", outcome.message
        changed = Counter(partition_of(e.data_file) for e in events.entries())
        assert sorted(changed.values()) == [1] + [2] * (len(counts) - 1)
    assert events.rows() == before
