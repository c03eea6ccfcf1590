"""A partition by a time that is no date of Python's: Iceberg knows it, Spark writes it, and nothing ends in it.

Guarded mechanisms: the partition has a name and never ends; it is left alone by name, and the others are not; a commit
that adds or replaces files of it can say so.
"""

from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestEntry, ManifestEntryStatus
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    DayTransform,
    IdentityTransform,
    Transform,
)
from pyiceberg.typedef import Record
from pyiceberg.types import DateType, IcebergType, LongType, NestedField, TimestampType
from pyspark.sql import SparkSession

from lakehouse.declarations import Declarations, Deduplicate, Maintenance, Rewrite, Table
from lakehouse.protocol.commit import Replacement, publish, seal_branch, stage_files
from lakehouse.protocol.commit.replace import stage_replacement
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.maintenance.log.history import History
from lakehouse.steps.maintenance.model.partition_filter import where
from lakehouse.steps.maintenance.model.partitions import NEVER
from lakehouse.steps.maintenance.model.preconditions import NotNameable
from lakehouse.steps.maintenance.step import CannotMeasure, MaintainStep, maintain
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.protocol.commit.rewrites import entries
from lakehouse_tests.steps.maintenance.states import decided, operations, part, state, whys

FAR, LAST = 7_853_000, 2_932_896  # a day of the year 23470, and 9999-12-31
EAGER = Maintenance(rewrite=Rewrite(min_input_files=2, quiet_for=timedelta(0)), orphans=None)
DEDUPLICATES = Maintenance(deduplicate=Deduplicate(order_by=("n desc",)))


def declared(lake: Lake) -> Table:
    columns = {"n": pandera.Column(T.LongType(), nullable=True), "ts": pandera.Column(T.TimestampType())}
    return Table(
        name=f"{lake.namespace}.a",
        schema=pandera.DataFrameSchema(columns),
        description="Of a test.",
        owner="tests",
        maintenance=EAGER,
    )


def create(lake: Lake, kind: IcebergType, transform: Transform[Any, Any]) -> str:
    schema = Schema(NestedField(1, "n", LongType(), required=False), NestedField(2, "ts", kind, required=False))
    spec = PartitionSpec(PartitionField(2, 1000, transform, "part"), spec_id=0)
    lake.catalog.create_table((lake.namespace, "a"), schema, partition_spec=spec)
    return f"{lake.namespace}.a"


def file(lake: Lake, name: str, day: int, number: int, records: int = 1) -> DataFile:
    """What a manifest says of a file; it is there, and nobody reads it."""
    location = f"{lake.load(name).location()}/data/{day}-{number}.parquet"
    with lake.load(name).io.new_output(location).create() as stream:
        stream.write(b"rows")
    made = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=location,
        file_format=FileFormat.PARQUET,
        partition=Record(day),
        record_count=records,
        file_size_in_bytes=1000,
    )
    made.spec_id = 0
    return made


def no_spark() -> AbstractContextManager[SparkSession]:
    raise AssertionError("this needs no Spark")


def step_of(lake: Lake) -> MaintainStep:
    table = declared(lake)
    return MaintainStep(
        catalog=lake.catalog,
        declarations=Declarations({table.name: table}, {}, {}),
        table=table,
        session=no_spark,
        attempt=Attempt("run", f"maintain:{table.name}"),
    )


@pytest.fixture
def far(sql_lake: Lake) -> Lake:
    """Three small files of a day after the year 9999."""
    name = create(sql_lake, TimestampType(), DayTransform())
    base, attempt = sql_lake.bases(name)[name], Attempt("run", "write")
    stage_files(sql_lake.catalog, base, attempt, [file(sql_lake, name, FAR, number) for number in range(3)])
    publish(sql_lake.catalog, [sql_lake.stage(base, attempt, [])])
    return sql_lake


@pytest.mark.parametrize(
    ("kind", "transform", "value"),
    [
        (TimestampType(), DayTransform(), FAR),
        (DateType(), IdentityTransform(), -FAR),
        (TimestampType(), IdentityTransform(), FAR * 86_400_000_000),
    ],
)
def test_it_is_not_told_to_spark(sql_lake: Lake, kind: IcebergType, transform: Transform[Any, Any], value: int) -> None:
    table = sql_lake.load(create(sql_lake, kind, transform))
    with pytest.raises(NotNameable, match="after the year 9999"):
        where(table, [(0, [value])])


def test_it_is_left_alone_by_name_and_ends_no_maintenance(far: Lake) -> None:
    report = maintain(step_of(far))
    assert report.surveyed is not None
    assert whys(report.surveyed.plan) == {"rewrite": ["refused"]}
    assert f"part={FAR}: NotNameable" in report.surveyed.plan.withheld[0].action.reasons[0]
    [row] = History.read(far.catalog, datetime.now(UTC)).rows
    assert "NotNameable" in row.withheld


def test_the_other_partitions_are_rewritten_and_deduplicated() -> None:
    odd = replace(part("part=7853000"), unnameable="a day", last_change=None, ends=NEVER)
    usual = replace(part("part=2013-01-01"), last_change=datetime(2013, 1, 1, tzinfo=UTC))
    for policy, operation in ((Maintenance(), "rewrite"), (DEDUPLICATES, "deduplicate")):
        plan = decided(state(odd, usual), policy)
        assert operations(plan) == [operation]
        assert [partition.name for partition in plan.actions[0].partitions] == ["part=2013-01-01"]
        assert whys(plan)[operation] == ["refused"]


def test_maintenance_makes_no_ingest_fail_that_adds_to_it(far: Lake) -> None:
    """What was staged before is put on top of what maintenance has published."""
    name = f"{far.namespace}.a"
    base, writer, keeper = far.bases(name)[name], Attempt("run", "write"), Attempt("run", f"maintain:{name}")
    assert base.sealed is not None
    stage_files(far.catalog, base, writer, [file(far, name, FAR, 9)])
    staged = far.stage(base, writer, [])
    publish(far.catalog, [seal_branch(far.catalog, base, keeper, Seal.repeated(base.sealed.seal, keeper))])
    publish(far.catalog, [staged])
    assert len(entries(far.load(name))) == 4


def test_files_of_it_are_replaced(far: Lake) -> None:
    name = f"{far.namespace}.a"
    base, keeper = far.bases(name)[name], Attempt("run", f"maintain:{name}")
    out, source = tuple(entries(base.table).values()), base.table.current_snapshot()
    assert source is not None
    merged = ManifestEntry.from_args(
        status=ManifestEntryStatus.ADDED, sequence_number=source.sequence_number, data_file=file(far, name, FAR, 3, 3)
    )
    replacement = Replacement(source=source.snapshot_id, out=out, into=(merged,))
    publish(far.catalog, [stage_replacement(far.catalog, base, keeper, replacement)])
    assert set(entries(far.load(name))) == {merged.data_file.file_path}


def test_a_table_that_cannot_be_looked_at_is_a_clear_error(far: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OverflowError("the value of a row")

    monkeypatch.setattr("lakehouse.steps.maintenance.survey.measure", broken)
    with pytest.raises(CannotMeasure, match="a could not be looked at: OverflowError") as error:
        maintain(step_of(far))
    assert "the value of a row" not in str(error.value)
