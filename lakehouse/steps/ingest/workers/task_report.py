"""What a task tells of its work, as it travels from Spark's Python workers to the driver: one row with bytes."""

import msgspec
import pyarrow as pa

from lakehouse.formats.decoded import Observed
from lakehouse.formats.evolution.wanted import Wanted
from lakehouse.steps.ingest.received import Stretch

REPORT_SCHEMA = "report binary"
_BATCH = pa.schema([pa.field("report", pa.binary())])


class TaskReport(msgspec.Struct):
    """What one task wrote and counted.

    Attributes:
        files: table → Arrow IPC bytes of the rows that tell of its files.
        tallies: table → partition → count, sum and sum of squares of the offsets written, in decimal.
        columns: error class → column → records.
        operations: changelog → operation → rows; only of streams of changes.
        dropped: declared rule → table → records that it has dropped.
        arrivals: minute since the epoch → records.
        schemas: id of a schema → records that name it.
        extra: field that the table does not have → records of a schema with it.
        refused: table → records that it would not take, by its decoder or its rules.
        unmade: table that records name and that is not there yet → records.
        unresolved: ids of schemas that nobody has asked the registry for yet.
        wanted: table whose columns follow its records → what these have.
        received: partition → what arrived, also where it was not written.
    """

    files: dict[str, bytes] = msgspec.field(default_factory=dict)
    tallies: dict[str, dict[int, tuple[str, str, str]]] = msgspec.field(default_factory=dict)
    errors: dict[str, int] = msgspec.field(default_factory=dict)
    columns: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)
    warnings: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)
    operations: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)
    dropped: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)
    arrivals: dict[int, int] = msgspec.field(default_factory=dict)
    received: dict[int, list[Stretch]] = msgspec.field(default_factory=dict)
    schemas: dict[str, int] = msgspec.field(default_factory=dict)
    extra: dict[str, int] = msgspec.field(default_factory=dict)
    refused: dict[str, int] = msgspec.field(default_factory=dict)
    unmade: dict[str, int] = msgspec.field(default_factory=dict)
    unresolved: list[int | str] = msgspec.field(default_factory=list)
    wanted: dict[str, Wanted] = msgspec.field(default_factory=dict)
    read: int = 0
    bytes: int = 0

    def note(self, observed: Observed) -> None:
        """Add what a decoder has seen of some more records."""
        seen = (
            (self.schemas, observed.schemas),
            (self.extra, observed.extra),
            (self.refused, observed.refused),
            (self.unmade, observed.unmade),
        )
        for counts, more in seen:
            for name, times in more.items():
                counts[name] = counts.get(name, 0) + times
        self.unresolved = sorted({*self.unresolved, *observed.unresolved}, key=str)
        for table, wanted in observed.wanted.items():
            self.wanted.setdefault(table, Wanted()).merge(wanted)

    def to_batch(self) -> pa.RecordBatch:
        """The row that a task yields."""
        return pa.RecordBatch.from_arrays([pa.array([msgspec.msgpack.encode(self)], pa.binary())], schema=_BATCH)


def read_report(encoded: bytes) -> TaskReport:
    """The report that a task has yielded."""
    return msgspec.msgpack.decode(encoded, type=TaskReport, strict=False)


def ipc_bytes(batch: pa.RecordBatch) -> bytes:
    """A batch as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return sink.getvalue().to_pybytes()
