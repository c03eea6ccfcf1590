"""A stream from a real topic to real tables through real Spark, small enough to look at every row."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812
import pytest
from pyiceberg.table import Table as IcebergTable

from lakehouse.declarations import ByField, Declarations, Route, Stream, Table, ToTable, apply, plan, quarantine_table
from lakehouse.engines.kafka import Record, send
from lakehouse.proofs.audit import StreamProof, audit_stream
from lakehouse.protocol.catalog import LakeCatalog, open_catalog
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.settings import CatalogSettings, IngestSettings, KafkaSettings
from lakehouse.steps.ingest.report import IngestReport
from lakehouse.steps.ingest.step import IngestStep, ingest
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.broker import TopicFactory
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn

THINGS = {"id": pandera.Column(T.LongType(), nullable=False), "text": T.StringType()}


def thing(number: int, **more: Any) -> dict[str, Any]:
    """A record that fits `THINGS`."""
    return {"id": number, "text": f"thing {number}", **more}


def records(values: Iterable[Any], *, partition: int = 0) -> list[Record]:
    """To one partition: objects as JSON, bytes and None as they are."""
    return [
        Record(value if value is None or isinstance(value, bytes) else json.dumps(value).encode(), partition=partition)
        for value in values
    ]


@dataclass
class Landing:
    """One stream with its tables, topic and catalog."""

    stream: Stream
    declarations: Declarations
    catalog: LakeCatalog
    kafka: KafkaSettings
    settings: CatalogSettings
    spark_on: SparkOn

    def declare(self, stream: Stream, *tables: Table) -> "Landing":
        """The same with another declaration of the stream, or more tables; they are applied."""
        declared = [table.with_coordinates() for table in tables] or list(self.declarations.tables.values())
        by_name = {table.name: table for table in (*declared, quarantine_table(stream, "tests"))}
        for table in by_name.values():
            apply(plan(table, self.catalog), self.catalog)
        return replace(self, stream=stream, declarations=Declarations(by_name, {stream.name: stream}, {}))

    def send(self, values: Iterable[Any], *, partition: int = 0) -> None:
        """Put values in the topic."""
        send(self.kafka, self.stream.topic, records(values, partition=partition))

    def step(self, *, run_id: str = "run", **limits: Any) -> IngestStep:
        """A step of this stream."""
        return IngestStep(
            stream=self.stream,
            declarations=self.declarations,
            catalog=self.catalog,
            kafka=self.kafka,
            limits=IngestSettings(**{"min_partitions": 1, **limits}),
            session=lambda: self.spark_on(self.settings),
            attempt=Attempt(run_id=run_id, step=f"ingest:{self.stream.name}"),
        )

    def ingest(self, *, run_id: str = "run", **limits: Any) -> IngestReport:
        """One run."""
        return ingest(self.step(run_id=run_id, **limits))

    def load(self, name: str) -> IcebergTable:
        """A table afresh."""
        return self.catalog.load_table(tuple(name.split(".")))

    def rows(self, name: str, *columns: str) -> list[dict[str, Any]]:
        """Rows of `main` by partition and offset."""
        table = (
            self.load(name)
            .scan()
            .to_arrow()
            .sort_by([("_kafka_partition", "ascending"), ("_kafka_offset", "ascending")])
        )
        return (table.select(columns) if columns else table).to_pylist()

    def column(self, name: str, column: str) -> list[Any]:
        """One column of a table by partition and offset."""
        return [row[column] for row in self.rows(name, column)]

    def quarantined(self) -> list[tuple[int, str]]:
        """Offset and error class of what is in quarantine."""
        return [(row["_kafka_offset"], row["error_class"]) for row in self.rows(self.stream.quarantine_table)]

    def audit(self) -> StreamProof:
        """As `lakehouse audit` does."""
        return audit_stream(self.catalog, self.stream.name, (*self.stream.tables, self.stream.quarantine_table))

    def holds(self) -> StreamProof:
        """Audit, and insist that it holds, by manifests and by a scan of everything."""
        proof = self.audit()
        assert proof.holds, proof.findings
        scanned = audit_stream(self.catalog, self.stream.name, tuple(self.declarations.tables), scan=True)
        assert scanned.holds, scanned.findings
        return proof


MakeLanding = Callable[..., Landing]


@pytest.fixture
def landing(sql_lake: Lake, broker: KafkaSettings, topic: TopicFactory, spark_on: SparkOn) -> MakeLanding:
    """`landing(partitions=1, route=…, columns=…, **stream)`: a stream with a fresh topic and fresh tables."""

    def make(
        *,
        partitions: int = 1,
        columns: Mapping[str, Any] = THINGS,
        route: Route | None = None,
        table: Mapping[str, Any] | None = None,
        config: Mapping[str, str] | None = None,
        **stream: Any,
    ) -> Landing:
        name = topic(partitions, config=config)
        chosen = route or ToTable("raw.things")
        declared = Stream(name="things", topic=name, route=chosen, **{"max_quarantine_share": 1.0, **stream})
        tables = [declare(dict(columns), name=target, **(table or {})) for target in chosen.tables]
        catalog = open_catalog(sql_lake.settings)
        empty = Landing(declared, Declarations({}, {}, {}), catalog, broker, sql_lake.settings, spark_on)
        return empty.declare(declared, *tables)

    return make


BY_KIND = ByField("kind", {"a": "raw.a", "b": "raw.b"})
