"""These bytes become these rows, or go to quarantine for these reasons: in this process, by what workers run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from lakehouse.contracts.rules import compile_rules
from lakehouse.declarations import DeclarationError, Declarations, ToNamed, iceberg_schema
from lakehouse.engines.kafka import Record
from lakehouse.engines.kafka.several_topics.topic_numbers import TopicNumbers
from lakehouse.formats.headers import Header, write_headers
from lakehouse.formats.verdict import RecordError
from lakehouse.steps.ingest.parquet_files.encoding import file_schema
from lakehouse.steps.ingest.routes.made_tables import with_tables_of
from lakehouse.steps.ingest.workers.decoder_selection.stream_decoder import stream_decoder
from lakehouse.steps.ingest.workers.record_sorter import RecordSorter


@dataclass(frozen=True)
class JudgedRecords:
    """What became of some records.

    Attributes:
        rows: table → its rows in the order of the records, without Kafka coordinates, if any.
        refused: position of a record, from 0 → why it goes to quarantine (`error_class`, `message`).
    """

    rows: dict[str, list[dict[str, Any]]]
    refused: dict[int, RecordError] = field(default_factory=dict[int, RecordError])


def judge_records(declarations: Declarations, stream: str, records: Iterable[bytes | str | Record]) -> JudgedRecords:
    """Decode, route and judge records as an ingest of the stream would; nothing is read from Kafka or written.

    Args:
        declarations: with the stream, as from `load_declarations`.
        stream: its name.
        records: their values, or whole records with keys and headers, in the order of their offsets.

    Raises:
        DeclarationError: no stream has this name.
    """
    if stream not in declarations.streams:
        known = ", ".join(sorted(declarations.streams)) or "none"
        raise DeclarationError(f"No stream is called '{stream}'.", remedy=f"there are: {known}")
    batch = _batch([_record(value) for value in records])
    route = declarations.streams[stream].route
    if isinstance(route, ToNamed):  # as if each table that may be made were
        unmade = list(_sorter(declarations, stream).unmade(batch))[: route.room]
        declarations = with_tables_of(declarations, declarations.streams[stream], unmade)
    rows, refused = _sorter(declarations, stream).sort(batch)
    by_table: dict[str, list[dict[str, Any]]] = {table: [] for table in declarations.streams[stream].tables}
    for table, part in rows:
        by_table[table] += part.to_pylist()
    return JudgedRecords(by_table, dict(sorted(refused.items())))


def _sorter(declarations: Declarations, name: str) -> RecordSorter:
    stream = declarations.streams[name]
    tables = {table: declarations.tables[table].without_coordinates() for table in stream.tables}
    schemas = {table: file_schema(iceberg_schema(declared)) for table, declared in tables.items()}
    decoder = stream_decoder(stream, declarations, schemas)
    return RecordSorter(
        topics=TopicNumbers(((stream.topic, ""),)),
        decoder=decoder.values,
        tables=decoder.tables,
        columns=decoder.columns,
        rules={table: compile_rules(declared) for table, declared in tables.items()},
    )


def _record(record: bytes | str | Record) -> Record:
    if isinstance(record, Record):
        return record
    return Record(record.encode() if isinstance(record, str) else record)


def _batch(records: Sequence[Record]) -> pa.RecordBatch:
    """As Spark's Kafka source hands records to a worker."""
    columns = {
        "key": pa.array([record.key for record in records], pa.binary()),
        "value": pa.array([record.value for record in records], pa.binary()),
        "headers": pa.array([_headers(record) for record in records], pa.string()),
        "partition": pa.array([0] * len(records), pa.int32()),
        "offset": pa.array(range(len(records)), pa.int64()),
        "timestamp": pa.array([0] * len(records), pa.timestamp("us", "UTC")),
    }
    return pa.RecordBatch.from_pydict(columns)


def _headers(record: Record) -> str | None:
    if not record.headers:
        return None
    return write_headers(Header(key, value) for key, value in record.headers)
