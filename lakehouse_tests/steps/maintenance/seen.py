"""A table of things that were seen, some of them twice."""

from dataclasses import dataclass
from datetime import date
from typing import Any

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
from pyiceberg.table import Table as IcebergTable
from pyspark.sql import DataFrame, SparkSession

from lakehouse.declarations import Declarations, Maintenance, Table, apply, plan
from lakehouse.iceberg.entries import partition_of
from lakehouse.protocol.commit import open_branch, publish, seal_branch
from lakehouse.protocol.commit.frames import stage_frame
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.maintenance.deduplicate import deduplicate
from lakehouse.steps.maintenance.model.action import Action, ActionOutcome, Operation
from lakehouse.steps.maintenance.model.partitions import partition_named
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.steps.maintenance.house import work_on

NAME, DAYS = "upkeep.seen", (date(2013, 1, 1), date(2013, 1, 2), date(2013, 1, 3))
Row = tuple[int, date, int | None, str]


@dataclass
class Seen:
    """A table of things that were seen, some of them twice."""

    lake: Lake
    spark_on: SparkOn
    declared: Table

    @classmethod
    def declare(cls, lake: Lake, spark_on: SparkOn, policy: Maintenance) -> "Seen":
        """Without making it."""
        schema = pandera.DataFrameSchema(
            {
                "id": pandera.Column(T.LongType(), nullable=False),
                "day": pandera.Column(T.DateType(), nullable=False),
                "version": pandera.Column(T.LongType(), nullable=True),
                "tags": pandera.Column(T.MapType(T.StringType(), T.StringType()), nullable=True),
            }
        )
        declared = Table(
            name=NAME,
            schema=schema,
            description="Of a test.",
            owner="tests",
            key=("id",),
            partitioning=("day",),
            maintenance=policy,
        )
        return cls(lake, spark_on, declared)

    @classmethod
    def create(cls, lake: Lake, spark_on: SparkOn, policy: Maintenance) -> "Seen":
        """Make it."""
        made = cls.declare(lake, spark_on, policy)
        apply(plan(made.declared, lake.catalog), lake.catalog)
        return made

    @property
    def table(self) -> IcebergTable:
        return self.lake.catalog.load_table(self.declared.identifier)

    def append(self, spark: SparkSession, *rows: Row) -> None:
        base, attempt = read_bases(self.lake.catalog, [NAME])[NAME], Attempt(run_id="run", step="ingest")
        open_branch(self.lake.catalog, base, attempt)
        stage_frame(self.frame(spark, rows), base, attempt)
        previous = base.sealed.seal if base.sealed else None
        seal = Seal.of(attempt, "write", statement={"said": "by the step"}, previous=previous)
        publish(self.lake.catalog, [seal_branch(self.lake.catalog, base, attempt, seal)])

    def frame(self, spark: SparkSession, rows: tuple[Row, ...]) -> DataFrame:
        tagged_rows = [(number, day, version, {"said": text}) for number, day, version, text in rows]
        return spark.createDataFrame(
            tagged_rows, "id long not null, day date not null, version long, tags map<string,string>"
        )

    def rows(self) -> list[Row]:
        records = self.table.scan().to_arrow().to_pylist()
        rows = [(row["id"], row["day"], row["version"], dict(row["tags"])["said"]) for row in records]
        return sorted(rows, key=lambda row: (row[0], row[1], row[2] or 0, row[3]))

    def files(self) -> dict[date, set[str]]:
        paths: dict[date, set[str]] = {day: set() for day in DAYS}
        for task in self.table.scan().plan_files():
            paths[DAYS[task.file.partition[0] - 15706]].add(task.file.file_path)
        return paths

    def action(self, *days: date) -> Action:
        """On partitions; on all of them if none is named."""
        table = self.table
        places = {partition_of(task.file) for task in table.scan().plan_files()}
        named = {DAYS[place[1][0] - 15706]: partition_named(table, self.declared, *place) for place in places}  # type: ignore[operator]
        return Action(operation=Operation.DEDUPLICATE, partitions=tuple(named[day] for day in days))

    def run(self, *days: date, **more: Any) -> ActionOutcome:
        declarations = Declarations({NAME: self.declared}, {}, {})
        work = work_on(
            self.lake.catalog,
            declarations,
            NAME,
            self.declared.maintenance,
            **{"session": lambda: self.spark_on(self.lake.settings), **more},
        )
        return deduplicate.run(work, self.action(*days))
