"""Reads records back from a stream's quarantine, in the form in which Kafka gave them."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from pyiceberg.expressions import (
    And,
    BooleanExpression,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    NotEqualTo,
    Or,
)
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import FileScanTask

from lakehouse.engines.kafka.several_topics.topic_numbers import TopicNumbers
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.tally import Tally
from lakehouse.proofs.audit.coordinates import (
    OFFSET,
    PARTITION,
    TOPIC,
    Offsets,
    coordinates,
    in_partition,
    stream_partitions,
)
from lakehouse.protocol.seals.base import Base
from lakehouse.steps.ingest.received import TOMBSTONE

TIMESTAMP = "_kafka_timestamp"
_ROWS = 10_000
_READ = ("key", "value", "headers", "error_class", TOPIC, PARTITION, OFFSET, TIMESTAMP)
_TYPES: Mapping[str, pa.DataType] = {
    "key": pa.binary(),
    "value": pa.binary(),
    "headers": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", "UTC"),
    "error_class": pa.string(),
}
Spans = Mapping[int, Sequence[tuple[int, int]]]
"""Partition → ranges of offsets, each from start up to, not including, end."""


@dataclass(frozen=True)
class RecordOffsets:
    """Coordinates of some records.

    Args:
        offsets: partition → offsets, ascending, each once.
    """

    offsets: Mapping[int, Offsets]

    @property
    def count(self) -> int:
        """How many."""
        return sum(len(offsets) for offsets in self.offsets.values())

    @property
    def tallies(self) -> dict[int, Tally]:
        """Partition → tally."""
        return {partition: Tally.of(offsets) for partition, offsets in sorted(self.offsets.items()) if len(offsets)}

    @property
    def spans(self) -> dict[int, list[tuple[int, int]]]:
        """As ranges."""
        return {partition: _spans(offsets) for partition, offsets in sorted(self.offsets.items()) if len(offsets)}

    def where(self, numbers: TopicNumbers) -> BooleanExpression:
        """The rows of these records; there must be some."""
        parts = [
            And(in_partition(numbers, partition), In(OFFSET, set(offsets.tolist())))  # pyright: ignore[reportCallIssue]
            for partition, offsets in sorted(self.offsets.items())
            if len(offsets)
        ]
        return reduce(Or, parts) if len(parts) > 1 else parts[0]

    def first(self, most: int) -> "RecordOffsets":
        """The first so many, by partition and offset."""
        taken: dict[int, Offsets] = {}
        for partition, offsets in sorted(self.offsets.items()):
            taken[partition] = offsets[: max(0, most)]
            most -= len(taken[partition])
        return RecordOffsets({partition: offsets for partition, offsets in taken.items() if len(offsets)})


def refused_places(quarantine: Base, wanted: Spans | None) -> tuple[RecordOffsets, int]:
    """Where the records of a quarantine are from, and how many rows are there of places that several share.

    Offsets are of one log each. Where a stream went on in another one, a place may be of two records; nobody could say
    which of them is taken, so neither is.

    Args:
        quarantine: the table as it was loaded.
        wanted: only these; None: all.
    """
    taken: dict[int, Offsets] = {}
    shared = 0
    tasks = _tasks(quarantine, _within(wanted, numbers_of(quarantine)))
    for partition, offsets in coordinates(quarantine.table, tasks).items():
        values, times = np.unique(offsets, return_counts=True)
        chosen = _inside(values, None if wanted is None else wanted.get(partition, ()))
        shared += int(times[chosen & (times > 1)].sum())
        if len(selected := values[chosen & (times == 1)]):
            taken[partition] = selected
    return RecordOffsets(taken), shared


def refused_records(quarantine: Base, offsets: RecordOffsets) -> Iterator[pa.RecordBatch]:
    """The records at some places as Kafka gave them, each with its error class, a piece at a time."""
    if not offsets.count:
        return
    table, numbers = quarantine.table, numbers_of(quarantine)
    where = offsets.where(numbers)
    scan = ArrowScan(table.metadata, table.io, table.schema().select(*_READ), where)
    for rows in scan.to_record_batches(_tasks(quarantine, where)):
        for start in range(0, rows.num_rows, _ROWS):
            yield _as_read(rows.slice(start, _ROWS), numbers)


def numbers_of(quarantine: Base) -> TopicNumbers:
    """What stream partitions mean by the newest seal; without one, of one topic."""
    statement = KafkaStatement.from_keys(quarantine.sealed.seal.statement) if quarantine.sealed else None
    return statement.numbers if statement else TopicNumbers((("", ""),))


def coordinates_where(quarantine: Base, where: BooleanExpression) -> pa.Table:
    """Topic, partition and offset of some rows of a quarantine."""
    table = quarantine.table
    scan = ArrowScan(table.metadata, table.io, table.schema().select(TOPIC, PARTITION, OFFSET), where)
    return scan.to_table(_tasks(quarantine, where))


def refused_after(quarantine: Base, offsets: Mapping[int, int]) -> dict[int, int]:
    """Partition → how many refused records, tombstones aside, lie after an offset of it."""
    if not offsets:
        return {}
    numbers = numbers_of(quarantine)
    parts = [
        And(in_partition(numbers, partition), GreaterThan(OFFSET, offset))  # pyright: ignore[reportCallIssue]
        for partition, offset in sorted(offsets.items())
    ]
    where = And(reduce(Or, parts) if len(parts) > 1 else parts[0], NotEqualTo("error_class", TOMBSTONE))  # pyright: ignore[reportCallIssue]
    partitions, times = np.unique(stream_partitions(numbers, coordinates_where(quarantine, where)), return_counts=True)
    return dict(zip(partitions.tolist(), times.tolist(), strict=True))


def _as_read(rows: pa.RecordBatch, numbers: TopicNumbers) -> pa.RecordBatch:
    columns: dict[str, Any] = {name: rows.column(name) for name in ("key", "value", "error_class")}
    columns["partition"] = pa.array(stream_partitions(numbers, rows))
    columns |= {"offset": rows.column(OFFSET), "timestamp": rows.column(TIMESTAMP)}
    columns["headers"] = pa.array([_headers(headers) for headers in rows.column("headers").to_pylist()], pa.string())
    arrays = [columns[name].cast(kind) for name, kind in _TYPES.items()]
    return pa.RecordBatch.from_arrays(arrays, names=list(_TYPES))


def places_of(partitions: Sequence[int], offsets: Sequence[int]) -> RecordOffsets:
    """Where some records are from."""
    partition_of_row, numbers = np.array(partitions, np.int64), np.array(offsets, np.int64)
    return RecordOffsets(
        {int(partition): np.sort(numbers[partition_of_row == partition]) for partition in np.unique(partition_of_row)}
    )


def _tasks(quarantine: Base, where: BooleanExpression | None) -> list[FileScanTask]:
    if quarantine.snapshot_id is None:
        return []
    scan = quarantine.table.scan(snapshot_id=quarantine.snapshot_id)
    return list((scan if where is None else scan.filter(where)).plan_files())


def _within(wanted: Spans | None, numbers: TopicNumbers) -> BooleanExpression | None:
    terms: list[BooleanExpression] = [
        And(in_partition(numbers, partition), GreaterThanOrEqual(OFFSET, start), LessThan(OFFSET, end))  # pyright: ignore[reportCallIssue]
        for partition, spans in (wanted or {}).items()
        for start, end in spans
    ]
    return reduce(Or, terms) if terms else None


def _inside(offsets: Offsets, spans: Sequence[tuple[int, int]] | None) -> Any:
    """Which of some offsets are wanted: files are read whole."""
    if spans is None:
        return np.ones(len(offsets), np.bool_)
    inside = np.zeros(len(offsets), np.bool_)
    for start, end in spans:
        inside |= (offsets >= start) & (offsets < end)
    return inside


def _headers(headers: Sequence[Mapping[str, Any]] | None) -> str | None:
    """As they travel to the decoders: JSON, values in Base64, and no field for one that is null."""
    if headers is None:
        return None
    entries = [
        {"key": header["key"]}
        | ({} if header["value"] is None else {"value": base64.b64encode(header["value"]).decode()})
        for header in headers
    ]
    return msgspec.json.encode(entries).decode()


def _spans(offsets: Offsets) -> list[tuple[int, int]]:
    breaks = np.flatnonzero(np.diff(offsets) != 1) + 1
    return [(int(run[0]), int(run[-1]) + 1) for run in np.split(offsets, breaks)]
