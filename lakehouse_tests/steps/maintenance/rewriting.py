"""A table of events that Spark has written in small files, and what rewrites it."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
from pyiceberg.manifest import ManifestEntry
from pyiceberg.table import Table as IcebergTable
from pyspark.sql import DataFrame, SparkSession

from lakehouse.declarations import Declarations, Maintenance, Rewrite, Table, apply, plan
from lakehouse.protocol.commit import Staged, open_branch, publish, seal_branch
from lakehouse.protocol.commit.frames import stage_frame
from lakehouse.protocol.commit.stage import branch_table
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base, read_bases
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.maintenance.model.action import Action, ActionOutcome, MaintenanceWork, Operation
from lakehouse.steps.maintenance.model.partitions import partition_named
from lakehouse.steps.maintenance.model.state import MeasuredState, Partition
from lakehouse.steps.maintenance.rewrite import compact
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.protocol.commit.rewrites import entries

NAME = "upkeep.events"
COLUMNS: dict[str, T.DataType] = {
    "id": T.LongType(),
    "name": T.StringType(),
    "day": T.DateType(),
    "seen_at": T.TimestampType(),
    "price": T.DecimalType(9, 2),
    "tags": T.ArrayType(T.StringType()),
    "more": T.MapType(T.StringType(), T.LongType()),
}
BEGIN = datetime(2013, 1, 1, tzinfo=UTC)
ALWAYS = Maintenance(rewrite=Rewrite(min_input_files=2, quiet_for=timedelta(0)))


def rows(numbers: Iterable[int]) -> list[tuple[Any, ...]]:
    """Rows of two days, with nulls and nested values here and there."""
    return [
        (
            n,
            None if n % 7 == 0 else f"it's \\{n}",
            (BEGIN + timedelta(days=n % 2)).date(),
            BEGIN + timedelta(days=n % 2, seconds=n),
            None,
            None if n % 3 == 0 else [str(n), None],
            {"n": n} if n % 2 else {},
        )
        for n in numbers
    ]


def declared_events(**more: Any) -> Table:
    """The declaration."""
    schema = pandera.DataFrameSchema({n: pandera.Column(t, nullable=True) for n, t in COLUMNS.items()})
    own: dict[str, Any] = {"partitioning": ("day",), "maintenance": ALWAYS}
    return Table(name=NAME, schema=schema, description="Of a test.", owner="tests", **own | more)


@dataclass
class Events:
    """The table, and what is done to it."""

    lake: Lake
    spark_on: SparkOn
    declared: Table
    messages: list[str] = field(default_factory=list[str])

    @classmethod
    def create(
        cls,
        lake: Lake,
        spark_on: SparkOn,
        *,
        partitioning: Sequence[str] = ("day",),
        sort_order: Sequence[str] = (),
        maintenance: Maintenance = ALWAYS,
        **properties: str,
    ) -> "Events":
        """Declare and create it; underscores in the names of properties are dots or dashes as Iceberg has them."""
        declared = declared_events(
            partitioning=tuple(partitioning),
            sort_order=tuple(sort_order),
            maintenance=maintenance,
            properties=properties,
        )
        if lake.catalog.table_exists(declared.identifier):  # another test's, in the REST catalog that they share
            lake.catalog.drop_table(declared.identifier)
        apply(plan(declared, lake.catalog), lake.catalog)
        return cls(lake, spark_on, declared)

    @property
    def base(self) -> Base:
        """Afresh."""
        return read_bases(self.lake.catalog, [NAME])[NAME]

    @property
    def table(self) -> IcebergTable:
        """Afresh."""
        return self.base.table

    def append(self, spark: SparkSession, *batches: Iterable[int]) -> None:
        """A step for each batch."""
        for numbers in batches:
            publish(self.lake.catalog, [self.stage(self.frame(spark, numbers))])

    def frame(self, spark: SparkSession, numbers: Iterable[int]) -> DataFrame:
        """Rows."""
        return spark.createDataFrame(rows(numbers), T.StructType([T.StructField(n, t) for n, t in COLUMNS.items()]))

    def stage(self, frame: DataFrame, **statement: str) -> Staged:
        """A step that appends a frame, up to its seal."""
        base, attempt = self.base, Attempt(run_id="run", step="ingest", runtime_date="2013-01-01")
        open_branch(self.lake.catalog, base, attempt)
        stage_frame(frame.coalesce(1), base, attempt)
        return self.seal(base, attempt, **statement)

    def change(self, spark: SparkSession, statement: str) -> Staged:
        """A step that changes rows by a statement about `{branch}`, up to its seal."""
        base, attempt = self.base, Attempt(run_id="run", step="ingest", runtime_date="2013-01-01")
        open_branch(self.lake.catalog, base, attempt)
        spark.conf.set("spark.sql.iceberg.snapshot-property.lakehouse.attempt", attempt.id)
        spark.sql(statement.format(branch=branch_table(base, attempt)))
        spark.conf.unset("spark.sql.iceberg.snapshot-property.lakehouse.attempt")
        return self.seal(base, attempt)

    def seal(self, base: Base, attempt: Attempt, **statement: str) -> Staged:
        """The seal of a step."""
        previous = base.sealed.seal if base.sealed else None
        return seal_branch(
            self.lake.catalog, base, attempt, Seal.of(attempt, "write", statement=statement, previous=previous)
        )

    def rows(self) -> list[tuple[Any, ...]]:
        """What a reader sees, by PyIceberg."""
        rows = self.table.scan().to_arrow().sort_by("id").to_pylist()
        return [tuple(dict(v) if n == "more" else v for n, v in row.items()) for row in rows]

    def entries(self) -> list[ManifestEntry]:
        """Live files."""
        return list(entries(self.table).values())

    def partitions(self) -> dict[str, Partition]:
        """By name."""
        table = self.table
        files = [e.data_file for e in self.entries()]
        named = [partition_named(table, self.declared, f.spec_id, [*f.partition]) for f in files]
        return {partition.name: partition for partition in named}

    def work(
        self, session: Callable[[], AbstractContextManager[SparkSession]] | None = None, **more: Any
    ) -> MaintenanceWork:
        """What an operation is given."""
        base = self.base
        return replace(
            MaintenanceWork(
                catalog=self.lake.catalog,
                declarations=Declarations(tables={NAME: self.declared}, streams={}, files={}),
                declared=self.declared,
                base=base,
                state=MeasuredState(
                    table=NAME, uuid=base.uuid, snapshot_id=base.snapshot_id, measured_at=datetime.now(UTC)
                ),
                policy=self.declared.maintenance,
                attempt=Attempt(run_id="upkeep", step=f"maintain:{NAME}"),
                session=session or (lambda: self.spark_on(self.lake.settings)),
                inform=self.messages.append,
            ),
            **more,
        )

    def compact(self, *names: str, **more: Any) -> ActionOutcome:
        """Rewrite partitions by name, all of them if none is named."""
        known = self.partitions()
        action = Action(operation=Operation.REWRITE, partitions=tuple(known[name] for name in names))
        return compact.run(self.work(**more), action)
