"""Both tables of a workload on their way: from PostgreSQL through Debezium and Kafka to changelogs and mirrors."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812

from lakehouse.declarations import Changelog, Debezium, Declarations, Mirror, Stream, apply, load_declarations, plan
from lakehouse.declarations.mirror import Deletes
from lakehouse.protocol.catalog import LakeCatalog, open_catalog
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.settings import CatalogSettings, IngestSettings, KafkaSettings
from lakehouse.steps.cdc.report import MirrorReport
from lakehouse.steps.cdc.step import MirrorStep, mirror
from lakehouse.steps.cdc.verify.verify import check_fold
from lakehouse.steps.ingest.report import IngestReport
from lakehouse.steps.ingest.step import IngestStep, ingest
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.steps.cdc.source_tables import SourceTable, lines, orders, text

TYPES: dict[str, T.DataType] = {
    "text": T.StringType(),
    "numeric(12,2)": T.DecimalType(12, 2),
    "numeric(38,10)": T.DecimalType(38, 10),
    "double precision": T.DoubleType(),
    "boolean": T.BooleanType(),
    "date": T.DateType(),
    "timestamp": T.TimestampNTZType(),
    "timestamptz": T.TimestampType(),
    "bytea": T.BinaryType(),
    "integer": T.IntegerType(),
}
DECLARED = """
from lakehouse_tests.steps.cdc.shop import declared

orders = declared("orders", prefix={prefix!r}, extra={extra!r}, deletes="hard")
lines = declared("lines", prefix={prefix!r}, extra={extra!r}, deletes="soft")
"""


def declared(name: str, *, prefix: str, extra: bool, deletes: Deletes) -> Mirror:
    """A mirror of one of the workload's tables, with its changelog; `extra` is declared only after it was added."""
    table = {"orders": orders, "lines": lines}[name]()
    if extra and name == "orders":
        table.columns["extra"] = ("text", text)
    columns = {key: pandera.Column(T.LongType(), nullable=False) for key in table.key}
    columns |= {column: pandera.Column(TYPES[kind], nullable=True) for column, (kind, _) in table.columns.items()}
    log = Changelog(
        name=f"changelog.{name}",
        topic=f"{prefix}.{prefix}.{name}",
        row=pandera.DataFrameSchema(columns),
        key=tuple(table.key),
        description=f"Rows of {name}.",
        owner="tests",
        format=Debezium(),
        max_quarantine_share=0,
    )
    return Mirror(name=f"mirror.{name}", changelog=log, deletes=deletes, partitioning=(f"bucket(4, {log.key[0]})",))


class Shop:
    """What the user declares, and runs of it."""

    template = DECLARED

    def __init__(
        self, prefix: str, folder: Path, kafka: KafkaSettings, settings: CatalogSettings, spark_on: SparkOn
    ) -> None:
        self.catalog: LakeCatalog = open_catalog(settings)
        self._prefix = prefix
        self._folder = folder
        self._kafka = kafka
        self._settings = settings
        self._spark_on = spark_on
        self._runs = 0
        self.declarations = self.declare(extra=False)

    def declare(self, *, extra: bool) -> Declarations:
        """Write the declarations and apply them."""
        self._folder.mkdir(exist_ok=True)
        (self._folder / "shop.py").write_text(self.template.format(prefix=self._prefix, extra=extra), encoding="utf-8")
        self.declarations = load_declarations([self._folder])
        for table in self.declarations.tables.values():
            apply(plan(table, self.catalog), self.catalog)
        return self.declarations

    def ingest(self) -> list[IngestReport]:
        """One run of each stream."""
        return [ingest(self.ingest_step(stream)) for stream in self.declarations.streams.values()]

    def ingest_step(self, stream: Stream, kind: str = "ingest") -> IngestStep:
        """The next run of a stream."""
        return IngestStep(
            stream=stream,
            declarations=self.declarations,
            catalog=self.catalog,
            kafka=self._kafka,
            limits=IngestSettings(min_partitions=1),
            session=lambda: self._spark_on(self._settings),
            attempt=self._attempt(f"{kind}:{stream.name}"),
        )

    def mirror(self, *, rebuild: bool = False) -> list[MirrorReport]:
        """One run of each mirror."""
        return [
            mirror(
                MirrorStep(
                    tables=tables,
                    catalog=self.catalog,
                    session=lambda: self._spark_on(self._settings),
                    attempt=self._attempt(f"mirror:{name}"),
                    rebuild=rebuild,
                )
            )
            for name, tables in self.declarations.mirrors.items()
        ]

    def rows(self, table: SourceTable) -> list[dict[str, Any]]:
        """The mirror's rows that are there, ordered by key, in the columns of the source that are declared."""
        tables = self.declarations.mirrors[f"mirror.{table.name}"]
        names = [column.name for column in tables.changelog.columns]
        stored = self.load(tables.mirror.name)
        live = [row for row in stored if not row.get("_cdc_deleted")]
        rows = [{name: row[name] for name in names} for row in live]
        return sorted(rows, key=lambda row: tuple(row[name] for name in table.key))

    def quarantined(self) -> list[dict[str, Any]]:
        """What neither changelogs nor mirrors could take."""
        names: Sequence[str] = [name for name in self.declarations.tables if name.startswith("quarantine.")]
        return [row for name in names for row in self.load(name)]

    def require_folds(self) -> None:
        """Insist on the product's own proof."""
        for tables in self.declarations.mirrors.values():
            proof = check_fold(self.catalog, tables)
            assert proof.holds, (proof.findings, proof.examples)

    def load(self, name: str) -> list[dict[str, Any]]:
        """The rows of a table, as they are now."""
        return self.catalog.load_table(tuple(name.split("."))).scan().to_arrow().to_pylist()

    def _attempt(self, step: str) -> Attempt:
        self._runs += 1
        return Attempt(run_id=f"run-{self._runs}", step=step)
