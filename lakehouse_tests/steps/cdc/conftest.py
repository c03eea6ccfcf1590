"""A changelog whose rows are appended as an ingest would, and mirrors of it: small enough to look at every row."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pandera.pyspark as pandera
import pyarrow as pa
import pyspark.sql.types as T  # noqa: N812
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.table import Table as IcebergTable
from pyspark.sql import SparkSession

from lakehouse.declarations import Changelog, Mirror, MirrorTables, apply, plan
from lakehouse.engines.kafka.statement import Counts, KafkaStatement
from lakehouse.engines.kafka.tally import Tally
from lakehouse.engines.kafka.topics import PartitionRange, TopicState
from lakehouse.orchestration.resources.staging import stage_arrow
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit import publish, seal_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.history import head_of, last_seal
from lakehouse.protocol.seals.seal import Seal
from lakehouse.settings import CatalogSettings
from lakehouse.steps.cdc.report import MirrorReport
from lakehouse.steps.cdc.statement import MirrorStatement
from lakehouse.steps.cdc.step import MirrorStep, mirror
from lakehouse.steps.ingest.repair.loss import plan_loss
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import HANDFUL, SparkOn

BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
ROW: dict[str, Any] = {"id": pandera.Column(T.LongType(), nullable=False), "name": T.StringType(), "size": T.LongType()}
Change = dict[str, Any]


def moment(seconds: float) -> datetime:
    """A source time."""
    return BEGIN + timedelta(seconds=seconds)


def change(operation: str, key: Mapping[str, Any] | int | None, position: int | None, **more: Any) -> Change:
    """A change; `after` and other parts by name, the source time follows the position."""
    return {
        "operation": operation,
        "key": {"id": key} if isinstance(key, int) else key,
        "position": None if position is None else {"epoch": 0, "commit": position, "sequence": 0},
        "source_time": None if position is None else moment(position),
        **more,
    }


def upsert(number: int, position: int, operation: str = "update", **columns: Any) -> Change:
    """An insert or update of row `number`; `extra=` and `unavailable=` are the change's own."""
    own = {name: columns.pop(name) for name in ("extra", "unavailable", "source_time", "partition") if name in columns}
    return change(operation, number, position, after={"id": number, **columns}, **own)


def delete(number: int, position: int, **more: Any) -> Change:
    """A delete of row `number`."""
    return change("delete", number, position, **more)


def changelog_of(columns: Mapping[str, Any] = ROW, **more: Any) -> Changelog:
    """Declare a changelog; a bare type is a nullable column of it."""
    pandera_columns = {
        n: pandera.Column(c, nullable=True) if isinstance(c, T.DataType) else c for n, c in columns.items()
    }
    return Changelog(
        **{
            "name": "changelog.things",
            "topic": "things",
            "row": pandera.DataFrameSchema(pandera_columns),
            "key": ("id",),
            "description": "Things.",
            "owner": "tests",
            **more,
        }
    )


@dataclass
class Feed:
    """A changelog and what appends to it."""

    catalog: LakeCatalog
    log: Changelog
    offsets: dict[int, int] = field(default_factory=lambda: {0: 0})
    refused: list[Change] = field(default_factory=list[Change])

    def declare(self, log: Changelog, *, applied: bool = True) -> "Feed":
        """The same with another declaration."""
        if applied:
            apply(plan(log.table, self.catalog), self.catalog)
        self.log = log
        return self

    def append(self, changes: Iterable[Change] = (), *, run_id: str = "ingest") -> int:
        """One run of an ingest: rows and a seal; returns the seal's snapshot. A change that is `refused` only waits."""
        start = dict(self.offsets)
        rows: list[Change] = []
        for change in changes:
            row = dict(change)
            partition, refused = row.pop("partition", 0), row.pop("refused", False)
            offset = self.offsets.get(partition, 0)
            self.offsets[partition] = offset + 1
            row |= {
                "_kafka_topic": self.log.topic,
                "_kafka_partition": partition,
                "_kafka_offset": offset,
                "_kafka_timestamp": row.get("source_time") or BEGIN,
            }
            (self.refused if refused else rows).append(row)
        return self._publish("ingest", rows, start, run_id)

    def reprocess(self) -> int:
        """What was refused comes from the quarantine, where it was in Kafka."""
        rows, self.refused = self.refused, []
        return self._publish("reprocess", rows, dict(self.offsets), "reprocess")

    def begin_anew(self) -> None:
        """The topic was deleted and made again; a person accepts that, and its offsets begin at 0."""
        base = read_bases(self.catalog, [self.log.name])[self.log.name]
        assert base.sealed
        previous = KafkaStatement.from_keys(base.sealed.seal.statement)
        assert previous
        topic = TopicState(previous.topic, previous.cluster_id, f"{previous.topic_id} anew", {0: PartitionRange(0, 3)})
        loss = plan_loss("things", previous, topic, new_epoch=True)
        attempt = Attempt(run_id="epoch", step="accept-loss:things")
        seal = Seal.of(attempt, loss.kind, statement=loss.statement.to_keys(), previous=base.sealed.seal)
        publish(self.catalog, [seal_branch(self.catalog, base, attempt, seal)])
        self.offsets = {0: 0}

    def _publish(self, kind: str, rows: list[Change], start: Mapping[int, int], run_id: str) -> int:
        name = self.log.name
        base = read_bases(self.catalog, [name])[name]
        attempt = Attempt(run_id=run_id, step=f"{kind}:things")
        if rows:
            schema = schema_to_pyarrow(base.table.schema(), include_field_ids=False)
            stage_arrow(self.catalog, pa.Table.from_pylist(rows, schema=schema), base, attempt, replacing=False)
        previous = base.sealed.seal if base.sealed else None
        tallies: dict[str, dict[int, Tally]] = {name: {}}
        for row in rows:
            here = tallies[name].get(row["_kafka_partition"], Tally())
            n = row["_kafka_offset"]
            tallies[name][row["_kafka_partition"]] = here + Tally(1, n, n * n)
        statement = KafkaStatement(
            "cluster",
            self.log.topic,
            "topic",
            {p: start.get(p, 0) for p in self.offsets},
            dict(self.offsets),
            tallies,
            counts=Counts(read=len(rows), written=len(rows)),
            reprocessed=tallies if kind == "reprocess" else {},
        ).after(KafkaStatement.from_keys(previous.statement) if previous else None)
        keys = statement.to_keys() | {"changes.operations": _operations(name, rows)}
        seal = Seal.of(attempt, kind, statement=keys, previous=previous)
        return publish(self.catalog, [seal_branch(self.catalog, base, attempt, seal)]).snapshots[name]


def _operations(name: str, rows: Iterable[Change]) -> str:
    return json.dumps({name: Counter(row["operation"] for row in rows)})


@dataclass
class Mirrored:
    """A mirror of a feed, with what runs it."""

    feed: Feed
    tables: MirrorTables
    settings: CatalogSettings
    spark_on: SparkOn
    messages: list[str] = field(default_factory=list[str])

    def declare(self, **mirror_declaration: Any) -> "Mirrored":
        """The same with another declaration of the mirror, or of the changelog (by `Feed.declare`)."""
        declared = replace(self.tables.mirror, changelog=self.feed.log, **mirror_declaration)
        return replace(self, tables=MirrorTables(declared, self.feed.log))

    def step(self, *, run_id: str = "run", **more: Any) -> MirrorStep:
        """A step of this mirror."""
        return MirrorStep(
            tables=self.tables,
            catalog=self.feed.catalog,
            session=lambda: self.spark_on(self.settings),
            attempt=Attempt(run_id=run_id, step=f"mirror:{self.tables.mirror.name}"),
            inform=self.messages.append,
            **more,
        )

    def run(self, *, run_id: str = "run", **more: Any) -> MirrorReport:
        """One run."""
        return mirror(self.step(run_id=run_id, **more))

    def apply(self, changes: Iterable[Change], **more: Any) -> MirrorReport:
        """Append, and run."""
        self.feed.append(changes)
        return self.run(**more)

    def load(self, name: str = "") -> IcebergTable:
        """A table afresh; the mirror if no name is told."""
        return self.feed.catalog.load_table(tuple((name or self.tables.mirror.name).split(".")))

    def rows(self, *columns: str) -> dict[Any, tuple[Any, ...]]:
        """The mirror's rows by key; a key that is there twice is an error."""
        names = columns or tuple(
            c.name for c in self.tables.changelog.columns if c.name not in self.tables.changelog.key
        )
        key = self.tables.changelog.key
        records = self.load().scan().to_arrow().to_pylist()
        keys = [row[key[0]] if len(key) == 1 else tuple(row[name] for name in key) for row in records]
        assert len(set(keys)) == len(keys), f"a key is there twice: {keys}"
        return dict(sorted((k, tuple(row[n] for n in names)) for k, row in zip(keys, records, strict=True)))

    def tombstones(self) -> list[int]:
        """Keys in the ledger."""
        return sorted(self.load(self.tables.mirror.tombstones_name).scan().to_arrow()["id"].to_pylist())

    def quarantined(self) -> list[tuple[str, int]]:
        """Reason and offset of what is in quarantine."""
        rows = self.load(self.tables.mirror.quarantine_table).scan().to_arrow().to_pylist()
        return sorted((row["reason"], row["offset"]) for row in rows)

    def statement(self, name: str = "") -> MirrorStatement:
        """What a table's newest seal says; the mirror's if no name is told."""
        sealed = last_seal(self.load(name))
        assert sealed
        statement = MirrorStatement.from_keys(sealed.seal.statement)
        assert statement
        return statement

    def agree(self) -> MirrorStatement:
        """All tables carry one statement, and its rows are those that are there."""
        statements = [self.statement(table.name) for table in self.tables.tables]
        assert statements[0] == statements[1] == statements[2]
        assert statements[0].rows == len(self.load().scan().to_arrow())
        return statements[0]

    def heads(self) -> dict[str, int | None]:
        """Where `main` is, table by table."""
        return {table.name: head_of(self.load(table.name)) for table in self.tables.tables}

    def sql(self, *statements: str) -> None:
        """Statements in a session of their own."""
        with self.spark_on(self.settings) as spark:
            for statement in statements:
                spark.sql(statement).collect()

    def spark(self, ask: Callable[[SparkSession], Any]) -> Any:
        """Ask a session of its own."""
        with self.spark_on(self.settings) as spark:
            return ask(spark)


def compact(name: str) -> str:
    """Rewrite all files of a table, as maintenance does."""
    return f"CALL lake.system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))"


MakeMirror = Callable[..., Mirrored]


def make_mirror(lake: Lake, spark_on: SparkOn, log: Changelog | None = None, **mirror_declaration: Any) -> Mirrored:
    """Declare a changelog and a mirror of it, and create their tables."""
    declared = log or changelog_of()
    feed = Feed(lake.catalog, declared)
    tables = MirrorTables(Mirror(**{"name": "mirror.things", "changelog": declared, **mirror_declaration}), declared)
    for table in (declared.table, *tables.tables):
        apply(plan(table, lake.catalog), lake.catalog)
    return Mirrored(feed, tables, lake.settings, spark_on)


@pytest.fixture
def mirrored(sql_lake: Lake, spark_on: SparkOn) -> MakeMirror:
    """`mirrored(log=None, **mirror)`: a fresh changelog and a mirror of it, on the embedded catalog."""
    return lambda log=None, **declaration: make_mirror(sql_lake, spark_on, log, **declaration)


@pytest.fixture(scope="module")
def quick(spark: SparkSession) -> SparkSession:
    """A session of its own, which takes over no setting: one task reads a handful of rows."""
    session = spark.newSession()
    own = {"spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "1"}
    for key, value in (HANDFUL | own).items():
        session.conf.set(key, value)
    return session
