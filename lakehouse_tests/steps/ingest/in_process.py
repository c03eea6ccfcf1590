"""An ingest without Kafka and Spark: the workers' own task on records at hand, and the protocol as ever."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pyarrow as pa
from pyiceberg.table import Table as IcebergTable

from lakehouse.declarations import Declarations, Stream, Table, apply, plan, quarantine_table
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.topics import PartitionRange, TopicState
from lakehouse.formats.frames import RegistrySchemas
from lakehouse.proofs.audit import StreamProof, audit_stream
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit import Published, publish, stage_files
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.settings import IngestSettings, KafkaSettings
from lakehouse.steps.ingest.evolve.changes import TableChanges, wanted_changes
from lakehouse.steps.ingest.evolve.evolved_tables import as_evolved
from lakehouse.steps.ingest.gate import refused_ends, require_acceptable
from lakehouse.steps.ingest.plan import plan_range
from lakehouse.steps.ingest.position import stored_position
from lakehouse.steps.ingest.repair.acceptable_records import Reprocess, find_reprocess
from lakehouse.steps.ingest.repair.refused_records import Spans
from lakehouse.steps.ingest.repair.reprocess import reprocess
from lakehouse.steps.ingest.routes.blame import tables_to_blame
from lakehouse.steps.ingest.routes.loadable import load_tables_of
from lakehouse.steps.ingest.routes.stopping import reasons
from lakehouse.steps.ingest.step import (
    IngestStep,
    after_changes,
    seal_all,
    verdicts,
    with_named_tables,
    with_stopped,
)
from lakehouse.steps.ingest.step_statement import state
from lakehouse.steps.ingest.workers.task_report import read_report
from lakehouse.steps.ingest.workers.work import IngestWork, add_up, make_task, remove_written

Record = tuple[bytes | None, bytes | None]
"""Key and value."""
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def step_without_engines(
    catalog: LakeCatalog, stream: Stream, declarations: Declarations, attempt: Attempt
) -> IngestStep:
    """A step of which nothing is used that reaches Kafka or Spark."""
    return IngestStep(
        stream=stream,
        declarations=declarations,
        catalog=catalog,
        kafka=KafkaSettings(bootstrap_servers="127.0.0.1:1"),
        limits=IngestSettings(),
        session=nullcontext,  # type: ignore[arg-type]
        attempt=attempt,
        inform=lambda message: None,
    )


@dataclass
class InProcess:
    """A stream whose records arrive from the test itself."""

    catalog: LakeCatalog
    stream: Stream
    declarations: Declarations = field(default_factory=lambda: Declarations({}, {}, {}))
    ends: dict[int, int] = field(default_factory=dict[int, int])
    runs: int = 0
    schemas: RegistrySchemas | None = None

    def declare(self, *tables: Table, **more: object) -> None:
        """Declare the tables, or widen them, and apply that."""
        declared = (*tables, quarantine_table(self.stream, "tests"))
        for table in declared:
            apply(plan(table, self.catalog), self.catalog)
        by_name = {table.name: table for table in declared}
        self.declarations = Declarations(by_name, {self.stream.name: self.stream}, {}, **more)  # type: ignore[arg-type]

    @property
    def tables(self) -> tuple[str, ...]:
        """All, quarantine last."""
        return (*self.stream.tables, self.stream.quarantine_table)

    def step(self, verb: str = "ingest") -> IngestStep:
        """Of a run of its own."""
        self.runs += 1
        attempt = Attempt(run_id=f"run-{self.runs}", step=f"{verb}:{self.stream.name}")
        return step_without_engines(self.catalog, self.stream, self.declarations, attempt)

    def topic(self, previous: KafkaStatement | None) -> TopicState:
        """As the broker would tell of it."""
        ranges = {p: PartitionRange(0, n) for p, n in self.ends.items()}
        return TopicState(self.stream.topic, "cluster", "topic-id", ranges)

    def ingest(self, arrived: Mapping[int, Sequence[Record]], headers: str | None = None) -> None:
        """Records arrive in each partition, and one run lands them."""
        start = dict(self.ends)
        for partition, records in arrived.items():
            self.ends[partition] = self.ends.get(partition, 0) + len(records)
        self._land(self.step(), [_batch(p, start.get(p, 0), records, headers) for p, records in arrived.items()])

    def _land(self, step: IngestStep, batches: Sequence[pa.RecordBatch]) -> None:
        step = with_named_tables(step)
        self.stream, self.declarations = step.stream, step.declarations
        loaded = load_tables_of(self.catalog, self.stream, self.declarations)
        bases = loaded.bases
        previous = stored_position(self.stream.name, bases)
        planned = plan_range(self.stream.name, previous, self.topic(previous), first={}, max_records=10**9)
        step = with_stopped(step, bases, loaded.unloaded)
        work = IngestWork(
            *(planned, self.stream, self.declarations, bases, step.attempt),
            schemas=self.schemas,
            stopped=reasons(step.stopped),
            unmakeable=step.unmakeable,
        )
        reports = [
            read_report(report)
            for batch in make_task(work, set()).run(iter(batches))
            for report in batch.column("report").to_pylist()
        ]
        writers = {str(schema): text for schema, text in (self.schemas.texts if self.schemas else {}).items()}
        landed = replace(add_up(work, set(), reports), writers=writers)
        changes = TableChanges(unmade=landed.unmade) or wanted_changes(
            self.stream, as_evolved(self.declarations, bases), landed
        )
        changes = changes or TableChanges(stopped=tables_to_blame(self.stream, self.declarations, planned, landed))
        if changes:
            remove_written(work, landed)
            self._land(after_changes(step, changes), batches)
            return
        require_acceptable(self.stream, landed, "", refused_ends(planned, state(planned, landed)))
        for name, files in landed.files.items():
            stage_files(self.catalog, bases[name], step.attempt, files)
        publish(self.catalog, seal_all(step, bases, state(planned, landed), verdicts(step, landed, bases)))

    def find(self, wanted: Spans | None = None, reason: str = "") -> Reprocess:
        """What reprocessing would mean now."""
        return find_reprocess(self.step("reprocess"), read_bases(self.catalog, self.tables), wanted, reason=reason)

    def reprocess(self, wanted: Spans | None = None, reason: str = "") -> tuple[Reprocess, Published]:
        """Take records up again."""
        step, bases = self.step("reprocess"), read_bases(self.catalog, self.tables)
        reprocessing = find_reprocess(step, bases, wanted, reason=reason)
        return reprocessing, reprocess(step, bases, reprocessing)

    def load(self, name: str) -> IcebergTable:
        """Afresh."""
        return self.catalog.load_table(tuple(name.split(".")))

    def rows(self, name: str, *columns: str) -> list[dict[str, object]]:
        """Of `main`, by partition and offset."""
        table = self.load(name).scan().to_arrow()
        table = table.sort_by([("_kafka_partition", "ascending"), ("_kafka_offset", "ascending")])
        return (table.select(columns) if columns else table).to_pylist()

    def quarantined(self) -> list[tuple[int, int]]:
        """Partition and offset of what is in quarantine."""
        rows = self.rows(self.stream.quarantine_table, "_kafka_partition", "_kafka_offset")
        return [tuple(row.values()) for row in rows]  # type: ignore[misc]

    def audit(self, *, scan: bool = False) -> StreamProof:
        """As `lakehouse audit` does."""
        return audit_stream(self.catalog, self.stream.name, self.tables, scan=scan)

    def holds(self) -> StreamProof:
        """Audit, and insist that it holds, by manifests and by a scan of everything."""
        proof = self.audit()
        assert proof.holds, proof.findings
        scanned = self.audit(scan=True)
        assert scanned.holds, scanned.findings
        return proof

    def again(self) -> "InProcess":
        """Another process that works on the same."""
        return replace(self, ends=dict(self.ends), runs=self.runs + 1000)


def _batch(partition: int, start: int, records: Sequence[Record], headers: str | None) -> pa.RecordBatch:
    count = len(records)
    return pa.RecordBatch.from_arrays(
        [
            pa.array([key for key, _ in records], pa.binary()),
            pa.array([value for _, value in records], pa.binary()),
            pa.array([headers] * count, pa.string()),
            pa.array([partition] * count, pa.int32()),
            pa.array(range(start, start + count), pa.int64()),
            pa.array([BEGAN] * count, pa.timestamp("us", "UTC")),
        ],
        names=["key", "value", "headers", "partition", "offset", "timestamp"],
    )
