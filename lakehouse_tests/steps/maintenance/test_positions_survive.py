"""After many commits a table expires with the smallest retention, is compacted, expires again: all go on from there.

Most commits are made by metadata alone, as an ingest makes them; at the end a real ingest reads a real topic, and a
real mirror folds a real range. Guarded mechanisms: the newest seal stays, and says the position, also after a
rewrite; and a range that somebody has still to read stays whole.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table as IcebergTable
from pyspark.sql import SparkSession

from lakehouse.declarations import Declarations, Expire, Maintenance, Rewrite
from lakehouse.engines.kafka import read_topic
from lakehouse.engines.kafka.statement import Counts
from lakehouse.engines.kafka.tally import Tally
from lakehouse.protocol.commit import publish, stage_files
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.history import ancestry, head_of, summary_of
from lakehouse.steps.ingest.parquet_files import ParquetFiles, WriteTarget, data_files_from_rows
from lakehouse.steps.ingest.plan import plan_range
from lakehouse.steps.ingest.position import stored_position
from lakehouse.steps.ingest.report import WriteResult
from lakehouse.steps.ingest.sealing.seal_tables import seal_all
from lakehouse.steps.ingest.sealing.statement import state
from lakehouse.steps.maintenance.expire.consumers import can_plan
from lakehouse.steps.maintenance.expire.expire import expire
from lakehouse.steps.maintenance.model.action import Action, Operation
from lakehouse.steps.maintenance.rewrite import compact
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.steps.cdc.conftest import Mirrored, changelog_of, make_mirror, upsert
from lakehouse_tests.steps.ingest.conftest import Landing, MakeLanding, thing
from lakehouse_tests.steps.ingest.conftest import landing as landing  # noqa: PLC0414 - a fixture
from lakehouse_tests.steps.maintenance.house import work_on

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]
SMALLEST = Expire(min_snapshots_to_keep=2, max_snapshots=2, at_least=1)
# Nothing is trimmed by publishing: what there is to expire is all there.
WIDE = Maintenance(
    rewrite=Rewrite(min_input_files=2, quiet_for=timedelta(0)),
    expire=Expire(max_snapshots=1000, min_snapshots_to_keep=1000),
)
REWRITE = Action(operation=Operation.REWRITE)
KEYS = 20
COMMITS = [40, pytest.param(500, marks=pytest.mark.soak)]


def _line(table: IcebergTable) -> list[int]:
    return [snapshot.snapshot_id for snapshot in ancestry(table, head_of(table))]


def _compact(
    lake: Lake,
    declarations: Declarations,
    name: str,
    session: Callable[[], AbstractContextManager[SparkSession]],
) -> None:
    work = work_on(lake.catalog, declarations, name, WIDE, session=session)
    done = compact.run(work, REWRITE)
    assert done.result == "done", done.message
    table = lake.catalog.load_table(tuple(name.split(".")))
    assert len(list(table.scan().plan_files())) == 1


@pytest.mark.parametrize("commits", COMMITS)
def test_a_mirror_goes_on_from_the_right_place(sql_lake: Lake, spark_on: SparkOn, commits: int) -> None:
    things = make_mirror(sql_lake, spark_on, changelog_of(maintenance=WIDE))
    tables, log = things.tables, "changelog.things"
    declared = {table.name: table for table in (things.feed.log.table, *tables.tables)}
    declarations = Declarations(declared, {}, {}, {log: things.feed.log}, {tables.mirror.name: tables})
    for number in range(commits // 2 - 10):
        things.feed.append([upsert(number % KEYS, number, name=f"v{number}")])
    assert things.run().statement is not None
    read = things.statement().end
    for number in range(commits // 2 - 10, commits // 2):
        things.feed.append([upsert(number % KEYS, number, name=f"v{number}")])
    assert len(_line(things.load(log))) > commits

    first = expire(sql_lake.catalog, declarations, log, SMALLEST)
    assert len(first.selection.expired) > commits - 25
    assert [holder.owner for holder in first.selection.blocked] == [tables.mirror.name]
    assert _line(things.load(log)).index(read) == 20  # ten runs that the mirror has not read
    _compact(sql_lake, declarations, log, lambda: spark_on(sql_lake.settings))
    expire(sql_lake.catalog, declarations, log, SMALLEST)
    assert read in _line(things.load(log))
    assert can_plan(sql_lake.catalog, declarations, log) == ()

    statement = things.run().statement
    assert statement is not None
    assert (statement.start, statement.changes) == (read, 10)
    expected = _newest(commits // 2)
    assert {key: row[0] for key, row in things.rows("name").items()} == expected
    last = expire(sql_lake.catalog, declarations, log, SMALLEST)
    assert last.selection.blocked == {}
    assert len(_line(things.load(log))) <= 4
    _goes_on(things, expected)
    assert can_plan(sql_lake.catalog, declarations, log) == ()


def _newest(runs: int) -> dict[int, str]:
    return {number % KEYS: f"v{number}" for number in range(runs)}


def _goes_on(things: Mirrored, expected: dict[int, str]) -> None:
    things.feed.append([upsert(7, 10_000, name="last")])
    assert things.run().statement.changes == 1  # pyright: ignore[reportOptionalMemberAccess]
    assert {key: row[0] for key, row in things.rows("name").items()} == expected | {7: "last"}
    assert things.agree().rows == KEYS


@pytest.mark.kafka
@pytest.mark.soak
@pytest.mark.parametrize("commits", COMMITS)
def test_an_ingest_goes_on_from_the_right_place(sql_lake: Lake, landing: MakeLanding, commits: int) -> None:
    stream = landing(table={"maintenance": WIDE})
    stream.send([thing(number) for number in range(commits // 2 + 5)])
    for _ in range(commits // 2):
        _ingest_one(stream)
    name = "raw.things"
    assert len(_line(stream.load(name))) > commits
    position = json.loads(_sealed(stream.load(name))["lakehouse.kafka.end"])

    first = expire(sql_lake.catalog, stream.declarations, name, SMALLEST)
    assert len(first.selection.expired) > commits - 5
    _compact(sql_lake, stream.declarations, name, lambda: stream.spark_on(stream.settings))
    second = expire(sql_lake.catalog, stream.declarations, name, SMALLEST)
    assert second.selection.snapshot_ids
    assert len(_line(stream.load(name))) <= 4
    assert json.loads(_sealed(stream.load(name))["lakehouse.kafka.end"]) == position == {"0": commits // 2}
    stream.holds()

    report = stream.ingest()
    assert report.published is not None
    assert stream.column(name, "_kafka_offset") == list(range(commits // 2 + 5))
    assert stream.column(name, "id") == list(range(commits // 2 + 5))
    stream.holds()
    expire(sql_lake.catalog, stream.declarations, name, SMALLEST)
    stream.holds()


def _ingest_one(stream: Landing) -> None:
    """What a run does with the next record, but for reading it: that would take a session for each."""
    step = stream.step()
    tables = (*stream.stream.tables, stream.stream.quarantine_table)
    bases = read_bases(stream.catalog, tables)
    previous = stored_position(stream.stream.name, bases)
    planned = plan_range(
        stream.stream.name, previous, read_topic(stream.kafka, stream.stream.topic), first={}, max_records=1
    )
    ((partition, (start, end)),) = planned.ranges.items()
    assert end == start + 1
    files = _files(stream, start, step.attempt)
    stage_files(stream.catalog, bases["raw.things"], step.attempt, files)
    tallies: Mapping[str, Mapping[int, Tally]] = {"raw.things": {partition: Tally(1, start, start * start)}}
    landed = WriteResult(files={"raw.things": files}, tallies=tallies, counts=Counts(read=1, written=1))
    publish(stream.catalog, seal_all(step, bases, state(planned, landed), {}))


def _files(stream: Landing, offset: int, attempt: Attempt) -> list[DataFile]:
    table = stream.load("raw.things")
    row = {
        **thing(offset),
        "_kafka_topic": stream.stream.topic,
        "_kafka_partition": 0,
        "_kafka_offset": offset,
        "_kafka_timestamp": datetime(2024, 1, 1, tzinfo=UTC),
    }
    data = pa.Table.from_pylist([row], schema=schema_to_pyarrow(table.schema(), include_field_ids=True))
    writer = ParquetFiles(WriteTarget.of(table.metadata, table.io.properties), f"{attempt.id}-0")
    for batch in data.to_batches():
        writer.write(batch)
    return data_files_from_rows(table.metadata, writer.finish().to_pylist())


def _sealed(table: IcebergTable) -> Mapping[str, str]:
    return next(summary for s in ancestry(table, head_of(table)) if "lakehouse.seal" in (summary := summary_of(s)))
