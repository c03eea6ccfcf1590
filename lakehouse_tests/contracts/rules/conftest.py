"""Sessions of either platform, and tables small enough to break every rule by hand."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandera.pyspark as pandera
import pyarrow as pa
import pyspark.sql.types as T  # noqa: N812
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.table import Table as IcebergTable
from pyspark.sql import SparkSession

from lakehouse.contracts.rules.stored import ContractReport, judge_snapshot
from lakehouse.declarations import Table, apply, plan
from lakehouse.engines.spark import spark_session
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.seals.history import head_of
from lakehouse.settings import CatalogSettings, Settings
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn


@pytest.fixture(params=["classic", pytest.param("connect", marks=pytest.mark.soak)])
def either(request: pytest.FixtureRequest) -> SparkOn:
    """Sessions of classic Spark, then of Connect."""
    if request.param == "classic":
        return request.getfixturevalue("spark_on")
    settings: Settings = request.getfixturevalue("connect_settings")
    return lambda catalog: spark_session(settings.model_copy(update={"catalog": catalog}), app_name="quality")


@pytest.fixture
def either_session(either: SparkOn, sql_lake: Lake) -> Iterator[SparkSession]:
    """One session of either platform."""
    with either(sql_lake.settings) as session:
        yield session


def declare(columns: Mapping[str, Any], name: str = "raw.things", **more: Any) -> Table:
    """Declare a table; a bare type is a nullable column."""
    pandera_columns = {
        n: pandera.Column(c, nullable=True) if isinstance(c, T.DataType) else c for n, c in columns.items()
    }
    schema = pandera.DataFrameSchema(pandera_columns)
    return Table(**{"name": name, "schema": schema, "description": "Things.", "owner": "tests", **more})


@dataclass
class Contracted:
    """A declared table, what is in it, and what Spark was asked."""

    catalog: LakeCatalog
    settings: CatalogSettings
    spark_on: SparkOn
    declared: Table
    sessions: int = 0
    jobs: list[int] = field(default_factory=list[int])

    def load(self) -> IcebergTable:
        """The table afresh."""
        return self.catalog.load_table(self.declared.identifier)

    @property
    def head(self) -> int:
        """Its snapshot."""
        head = head_of(self.load())
        assert head is not None
        return head

    def append(self, rows: Sequence[Mapping[str, Any]]) -> int:
        """Add rows as PyIceberg does, which counts no NaN; returns the snapshot."""
        table = self.load()
        table.append(
            pa.Table.from_pylist(list(rows), schema=schema_to_pyarrow(table.schema(), include_field_ids=False))
        )
        return self.head

    def sql(self, statement: str) -> int:
        """Run SQL; returns the snapshot."""
        with self.spark_on(self.settings) as spark:
            spark.sql(statement).collect()
        return self.head

    @contextmanager
    def session(self) -> Generator[SparkSession]:
        """What a judgement asks for; counts sessions and, on classic, the jobs of each."""
        self.sessions += 1
        with self.spark_on(self.settings) as spark:
            if "connect" in type(spark).__module__:
                yield spark
                return
            group = f"judgement {id(self)} {self.sessions}"
            spark.sparkContext.setJobGroup(group, group)
            try:
                yield spark
                self.jobs.append(len(spark.sparkContext.statusTracker().getJobIdsForGroup(group)))
            finally:
                spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]

    def judge(self, snapshot_id: int | None = None, *, since: int | None = None) -> ContractReport:
        """Judge the head, or another snapshot."""
        return judge_snapshot(self.declared, self.load(), snapshot_id or self.head, self.session, since=since)

    def without_data(self, folder: Path) -> None:
        """Remove every data file, so that nobody can have read one."""
        files = list(folder.rglob("data/**/*.parquet"))
        assert files
        for file in files:
            file.unlink()


MakeContract = Callable[..., Contracted]


def make_contract(lake: Lake, spark_on: SparkOn, columns: Mapping[str, Any], **more: Any) -> Contracted:
    """Declare and create a table."""
    made = Contracted(lake.catalog, lake.settings, spark_on, declare(columns, **more))
    apply(plan(made.declared, lake.catalog), lake.catalog)
    return made


@pytest.fixture
def contract(sql_lake: Lake, spark_on: SparkOn) -> MakeContract:
    """`contract(columns, **table)`: a fresh table, on classic Spark."""
    return lambda columns, **more: make_contract(sql_lake, spark_on, columns, **more)


@pytest.fixture
def either_contract(sql_lake: Lake, either: SparkOn) -> MakeContract:
    """The same on either platform."""
    return lambda columns, **more: make_contract(sql_lake, either, columns, **more)


def broken_rules(report: ContractReport) -> dict[str, tuple[int, str]]:
    """Rule → rows that break it, and from where that is known."""
    return {verdict.name: (verdict.broken, verdict.answered_by) for verdict in report.verdicts}
