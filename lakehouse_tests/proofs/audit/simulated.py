"""A stream of two tables and a quarantine, ingested without Kafka and Spark: all but the reading is the product's."""

import itertools
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pandera.pyspark as pandera
import pyarrow as pa
import pyspark.sql.types as T  # noqa: N812
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from lakehouse.declarations import ByField, Declarations, Stream, apply, plan, quarantine_table
from lakehouse.engines.kafka.statement import Counts
from lakehouse.engines.kafka.tally import Tally
from lakehouse.engines.kafka.topics import PartitionRange, TopicState
from lakehouse.proofs.audit import StreamProof, audit_stream
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit import Staged, publish, stage_files
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.ingest_step import IngestStep
from lakehouse.steps.ingest.parquet_files import ParquetFiles, WriteTarget, data_files_from_rows
from lakehouse.steps.ingest.plan import IngestPlan, plan_range
from lakehouse.steps.ingest.position import stored_position
from lakehouse.steps.ingest.report import WriteResult
from lakehouse.steps.ingest.sealing.seal_tables import seal_all
from lakehouse.steps.ingest.sealing.statement import state
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.steps.ingest.in_process import step_without_engines

A, B, QUARANTINE = "raw.a", "raw.b", "quarantine.events"
Route = Callable[[int, int], str | None]
"""Partition and offset → table, or None where the log has no record (a transaction's marker)."""


def by_turns(partition: int, offset: int) -> str:
    """Every third record goes to B, every tenth to quarantine: no file is dense."""
    return QUARANTINE if offset % 10 == 9 else B if offset % 3 == 0 else A


def to_a(partition: int, offset: int) -> str:
    """All to one table: files are dense."""
    return A


@dataclass
class SimulatedStream:
    """Tables of a stream, and a topic that exists only as numbers."""

    catalog: LakeCatalog
    properties: Mapping[str, str] = field(default_factory=dict[str, str])
    ends: dict[int, int] = field(default_factory=lambda: {0: 0, 1: 0})
    earliest: dict[int, int] = field(default_factory=dict[int, int])
    topic_id: str = "topic-id"
    out: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        things = {"id": pandera.Column(T.LongType(), nullable=False), "text": T.StringType()}
        self.stream = Stream(name="events", topic="events", route=ByField("kind", {"a": A, "b": B}))
        declared = [declare(things, name=name).with_coordinates() for name in (A, B)]
        declared.append(quarantine_table(self.stream, "tests"))
        self.declarations = Declarations({t.name: t for t in declared}, {"events": self.stream}, {})
        for table in declared:
            made = apply(plan(table, self.catalog), self.catalog)
            if self.properties:
                made.transaction().set_properties(dict(self.properties)).commit_transaction()
        self._runs = itertools.count(1)

    @property
    def tables(self) -> tuple[str, ...]:
        """All that are in the stream, quarantine last."""
        return tuple(name for name in (A, B, QUARANTINE) if name not in self.out)

    def load(self, name: str) -> Table:
        """Afresh."""
        return self.catalog.load_table(tuple(name.split(".")))

    def topic(self) -> TopicState:
        """As the broker would tell of it."""
        ranges = {p: PartitionRange(self.earliest.get(p, 0), end) for p, end in self.ends.items()}
        return TopicState("events", "cluster-id", self.topic_id, ranges)

    def step(self, run_id: str = "") -> IngestStep:
        """The next run's step; Kafka and Spark are not reached by what is used of it here."""
        attempt = Attempt(run_id=run_id or f"run-{next(self._runs)}", step="ingest:events")
        return step_without_engines(self.catalog, self.stream, self.declarations, attempt)

    def ingest(self, arrived: Mapping[int, int], route: Route = by_turns) -> str:
        """So many records arrive in each partition and are ingested by one run; returns its id."""
        staged = self.stage(arrived, route)
        publish(self.catalog, staged)
        return staged[0].attempt.run_id

    def stage(self, arrived: Mapping[int, int], route: Route = by_turns) -> list[Staged]:
        """So many records arrive in each partition; one run reads all that is there, up to its publish."""
        for partition, count in arrived.items():
            self.ends[partition] = self.ends.get(partition, 0) + count
        step = self.step()
        bases = read_bases(self.catalog, self.tables)
        previous = stored_position("events", bases)
        planned = plan_range("events", previous, self.topic(), first={}, max_records=10**9)
        landed = self._land(planned, route, step)
        for name, files in landed.files.items():
            stage_files(self.catalog, bases[name], step.attempt, files)
        return seal_all(step, bases, state(planned, landed), {})

    def _land(self, planned: IngestPlan, route: Route, step: IngestStep) -> WriteResult:
        files: dict[str, list[DataFile]] = {}
        tallies: dict[str, dict[int, Tally]] = {}
        for partition, (start, end) in planned.ranges.items():
            chosen: dict[str, list[int]] = {}
            for offset in range(start, end):
                if (table := route(partition, offset)) is not None:
                    chosen.setdefault(table, []).append(offset)
            for table, offsets in chosen.items():
                places = [(partition, o) for o in offsets]
                files.setdefault(table, []).extend(self.files(table, places, prefix=f"{step.attempt.id}-{partition}"))
                tallies.setdefault(table, {})[partition] = sum((Tally(1, o, o * o) for o in offsets), Tally())
        count = {table: sum(t.count for t in by_p.values()) for table, by_p in tallies.items()}
        quarantined = count.pop(QUARANTINE, 0)
        written = sum(count.values())
        return WriteResult(
            files=files,
            tallies=tallies,
            counts=Counts(read=written + quarantined, written=written, quarantined=quarantined),
        )

    def files(self, name: str, places: Sequence[tuple[int, int]], *, prefix: str = "") -> list[DataFile]:
        """Write rows of a table as the workers do, without adding them; a file of nobody's attempt has no prefix."""
        table = self.load(name)
        writer = ParquetFiles(WriteTarget.of(table.metadata, table.io.properties), prefix or uuid.uuid4().hex)
        for batch in rows(name, places).to_batches():
            writer.write(batch)
        return data_files_from_rows(table.metadata, writer.finish().to_pylist())

    def live_files(self, name: str) -> list[DataFile]:
        """Data files of `main`."""
        return [task.file for task in self.load(name).scan().plan_files()]

    def places(self, file: DataFile) -> list[tuple[int, int]]:
        """Partition and offset of each row of a data file."""
        table = pa.parquet.read_table(file.file_path.removeprefix("file://"), columns=[PARTITION, OFFSET])
        return list(zip(table[PARTITION].to_pylist(), table[OFFSET].to_pylist(), strict=True))

    def replace(self, name: str, out: Iterable[DataFile], places: Sequence[tuple[int, int]]) -> None:
        """Put other rows in place of whole files, as a commit from outside the protocol."""
        with self.load(name).transaction() as transaction, transaction.update_snapshot().overwrite() as overwrite:
            for file in out:
                overwrite.delete_data_file(file)
            for file in self.files(name, places) if places else ():
                overwrite.append_data_file(file)

    def add(self, name: str, file: DataFile) -> None:
        """List a data file in a table, with PyIceberg, as anybody could."""
        with self.load(name).transaction() as transaction, transaction.update_snapshot().fast_append() as append:
            append.append_data_file(file)

    def append(self, name: str, places: Sequence[tuple[int, int]]) -> None:
        """Append rows with PyIceberg, as anybody could."""
        table = self.load(name)
        table.append(rows(name, places).cast(table.schema().as_arrow()))

    def audit(self, *, scan: bool = False) -> StreamProof:
        """As `lakehouse audit` does."""
        return audit_stream(self.catalog, "events", self.tables, scan=scan)


PARTITION, OFFSET = "_kafka_partition", "_kafka_offset"
_COORDINATES: dict[str, Callable[[int, int], Any]] = {
    "_kafka_topic": lambda p, o: "events",
    PARTITION: lambda p, o: p,
    OFFSET: lambda p, o: o,
    "_kafka_timestamp": lambda p, o: datetime(2013, 1, 1, tzinfo=UTC),
}


def rows(name: str, places: Sequence[tuple[int, int]]) -> pa.Table:
    """Rows of a table for some partitions and offsets."""
    own: dict[str, Callable[[int, int], Any]] = (
        {
            "key": lambda p, o: None,
            "value": lambda p, o: b"broken",
            "headers": lambda p, o: None,
            "error_class": lambda p, o: "not_json",
            "error_message": lambda p, o: "broken",
            "run_id": lambda p, o: "run",
        }
        if name == QUARANTINE
        else {"id": lambda p, o: o, "text": lambda p, o: f"{p}/{o}"}
    )
    columns = {column: [make(p, o) for p, o in places] for column, make in (own | _COORDINATES).items()}
    types = {
        PARTITION: pa.int32(),
        OFFSET: pa.int64(),
        "_kafka_timestamp": pa.timestamp("us", "UTC"),
        "key": pa.binary(),
    }
    return pa.table({column: pa.array(values, types.get(column)) for column, values in columns.items()})
