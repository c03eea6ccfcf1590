"""What one ingest did, in numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyiceberg.manifest import DataFile

from lakehouse.declarations import Stream, Table
from lakehouse.engines.kafka.statement import COPIES, NO_TABLES, Counts, KafkaStatement, Tallies
from lakehouse.formats.decoded import SchemaId
from lakehouse.formats.evolution.wanted import Wanted
from lakehouse.protocol.commit import Published
from lakehouse.steps.ingest.plan import IngestPlan
from lakehouse.steps.ingest.position_mirror import PositionMirror
from lakehouse.steps.ingest.received import Stretch


@dataclass(frozen=True)
class WriteResult:
    """What the workers wrote, before anything is committed.

    Args:
        files: table → data files to add.
        spooled: table → Parquet files that Spark's own writer still has to write into the table.
        tallies: table → partition → tally of the offsets written there.
        errors: error class → number of quarantined records.
        columns: error class → column → number of quarantined records whose error names it.
        warnings: table → rule → number of rows that break it and were let through.
        operations: changelog → operation → rows, of a stream of changes.
        arrivals: minute since the epoch (of Kafka's timestamp) → records.
        duplicates: table → places (`partition`, `offset`) of rows to leave out where Spark writes files anew.
        dropped: declared rule → table → records that it has dropped; their offsets are in `tallies` under `DROPPED`.
        schemas: id of a schema → records that name it, of a stream whose records do.
        extra: field that the table does not have → records of a schema with it.
        refused: table → records that it would not take, by its decoder or its rules.
        unmade: table that records name and that is not there yet → records.
        unresolved: ids of schemas that nobody has asked the registry for yet.
        wanted: table whose columns follow its records → what these have.
        writers: id of a schema → its text, after those that it refers to.
        received: partition → what arrived, task by task.
    """

    files: Mapping[str, list[DataFile]]
    tallies: Tallies
    counts: Counts
    spooled: Mapping[str, list[str]] = field(default_factory=dict[str, list[str]])
    errors: Mapping[str, int] = field(default_factory=dict[str, int])
    columns: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, dict[str, int]])
    warnings: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, dict[str, int]])
    operations: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, dict[str, int]])
    arrivals: Mapping[int, int] = field(default_factory=dict[int, int])
    duplicates: Mapping[str, pa.Table] = field(default_factory=dict[str, pa.Table])
    dropped: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, dict[str, int]])
    schemas: Mapping[str, int] = field(default_factory=dict[str, int])
    extra: Mapping[str, int] = field(default_factory=dict[str, int])
    refused: Mapping[str, int] = field(default_factory=dict[str, int])
    unmade: Mapping[str, int] = field(default_factory=dict[str, int])
    unresolved: frozenset[SchemaId] = frozenset()
    wanted: Mapping[str, Wanted] = field(default_factory=dict[str, Wanted])
    writers: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    received: Mapping[int, list[Stretch]] = field(default_factory=dict[int, list[Stretch]])

    @classmethod
    def nothing(cls) -> "WriteResult":
        """A step without records: just a position to seal."""
        return cls({}, {}, Counts())


@dataclass(frozen=True)
class IngestReport:
    """The outcome of one step.

    Args:
        rows: table → rows added by this step, quarantine included.
        lag: offsets still unread when the step ended.
        quarantine_share: broken records (tombstones aside) among those read.
        without_record: partition → planned offsets that brought no record, where there are any.
        dropped: declared rule → table → records that it has dropped.
        schemas: id of a schema → records that name it.
        extra_fields: field that the table does not have → records of a schema with it.
        evolved: table → how its columns were changed before its records were written.
        stopped: table that takes no records until its declaration changes → why.
        tables: all of the step, with the columns that they have by now.
        because: why that can be, a key of `WITHOUT_RECORD`.
        published: None where there was nothing to do.
        mirror: what became of the position's mirror in a consumer group, where one is wanted.
    """

    stream: str
    topic: str
    ranges: dict[int, tuple[int, int]]
    rows: dict[str, int]
    counts: Counts
    total_counts: Counts
    lag: int
    errors: dict[str, int]
    warnings: dict[str, dict[str, int]]
    arrivals: dict[int, int]
    published: Published | None
    seconds: float
    without_record: dict[int, int] = field(default_factory=dict[int, int])
    because: str = ""
    schemas: dict[str, int] = field(default_factory=dict[str, int])
    extra_fields: dict[str, int] = field(default_factory=dict[str, int])
    evolved: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    stopped: Mapping[str, str] = field(default_factory=dict[str, str])
    tables: Mapping[str, Table] = field(default_factory=dict[str, Table])
    dropped: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, dict[str, int]])
    mirror: PositionMirror | None = None

    @property
    def quarantine_share(self) -> float:
        """Broken records, tombstones aside, among those read."""
        return (self.counts.quarantined - self.counts.tombstones) / self.counts.read if self.counts.read else 0.0

    @classmethod
    def idle(cls, stream: Stream, plan: IngestPlan, seconds: float) -> "IngestReport":
        """Nothing to do."""
        total = plan.previous.total_counts if plan.previous else Counts()
        return cls(stream.name, stream.topic, {}, {}, Counts(), total, 0, {}, {}, {}, None, seconds)

    @classmethod
    def of(
        cls,
        stream: Stream,
        plan: IngestPlan,
        landed: WriteResult,
        statement: KafkaStatement,
        published: Published,
        seconds: float,
        mirror: PositionMirror | None = None,
    ) -> "IngestReport":
        """Something was published."""
        return cls(
            stream=stream.name,
            topic=stream.topic,
            ranges=plan.ranges,
            rows={
                table: sum(tally.count for tally in by_partition.values())
                for table, by_partition in landed.tallies.items()
                if table not in NO_TABLES and table != COPIES
            },
            counts=landed.counts,
            total_counts=statement.total_counts,
            lag=plan.lag_after,
            errors=dict(landed.errors),
            warnings={table: dict(rules) for table, rules in landed.warnings.items()},
            arrivals=dict(landed.arrivals),
            published=published,
            seconds=seconds,
            without_record=dict(statement.without_record or {}),
            because=statement.because,
            schemas=dict(landed.schemas),
            extra_fields=dict(landed.extra),
            dropped=landed.dropped,
            mirror=mirror,
        )
