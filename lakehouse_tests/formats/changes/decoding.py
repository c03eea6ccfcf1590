"""A short way from messages to rows of changelogs."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pandera.pyspark as pandera
import pyarrow as pa
import pyspark.sql.types as T  # noqa: N812

from lakehouse.declarations import Changelog, iceberg_schema
from lakehouse.formats.changes import ChangeDecoder, ChangeTable
from lakehouse.steps.ingest.parquet_files.encoding import file_schema

THINGS: dict[str, T.DataType] = {"id": T.LongType(), "text": T.StringType()}


def changelog(columns: Mapping[str, T.DataType] = THINGS, **more: Any) -> Changelog:
    """A changelog of these columns."""
    row = pandera.DataFrameSchema({name: pandera.Column(kind, nullable=True) for name, kind in columns.items()})
    given = {"name": "cdc.things", "key": ("id",), "topic": "things", "description": "a thing", "owner": "tests"}
    return Changelog(**{**given, "row": row, **more})


@lru_cache(maxsize=32)  # a declaration is hashed by what it is, not by what it says
def decoder_of(*logs: Changelog) -> ChangeDecoder:
    """The decoder of a stream with these changelogs."""
    tables = {
        log.name: ChangeTable.of(log, file_schema(iceberg_schema(log.table.without_coordinates())), [log.source])
        for log in logs
    }
    return ChangeDecoder(logs[0].format, tables)


USUAL = changelog()


@dataclass
class Outcome:
    """What became of messages, by their number."""

    rows: dict[int, dict[str, Any]]
    tables: dict[int, str]
    errors: dict[int, tuple[str, str]]

    def only(self) -> dict[str, Any]:
        """The one row, where there is no error."""
        assert not self.errors, self.errors
        (row,) = self.rows.values()
        return row

    def error(self) -> str:
        """The class of the one error, where there is no row."""
        assert not self.rows, self.rows
        ((error_class, _),) = self.errors.values()
        return error_class


def decode(
    messages: Sequence[Any],
    *logs: Changelog,
    keys: Sequence[Any] | None = None,
    headers: Sequence[Mapping[str, Any] | None] | None = None,
) -> Outcome:
    """Decodes; values, keys and headers' values are objects, or bytes as they are."""
    decoder = decoder_of(*(logs or (USUAL,)))
    routed = decoder.decode(
        pa.array([as_bytes(message) for message in messages], pa.binary()),
        None if keys is None else pa.array([as_bytes(key) for key in keys], pa.binary()),
        None if headers is None else pa.array([as_text(some) for some in headers], pa.string()),
        pa.array(range(100, 100 + len(messages)), pa.int64()),
    )
    rows: dict[int, dict[str, Any]] = {}
    tables: dict[int, str] = {}
    for table, part in routed.parts.items():
        for number, row in zip(part.rows.tolist(), part.batch.to_pylist(), strict=True):
            assert number not in rows
            rows[number], tables[number] = row, table
    errors = {number: (error.error_class, error.message) for number, error in routed.errors.items()}
    assert sorted([*rows, *errors]) == list(range(len(messages)))
    return Outcome(rows, tables, errors)


def as_bytes(value: Any) -> bytes | None:
    return value if value is None or isinstance(value, bytes) else json.dumps(value).encode()


def as_text(headers: Mapping[str, Any] | None) -> str | None:
    """As Spark has headers in JSON: values in Base64."""
    if headers is None:
        return None
    coded = {name: base64.b64encode(as_bytes(value) or b"").decode() for name, value in headers.items()}
    return json.dumps([{"key": name, "value": value} for name, value in coded.items()])


SOURCE = {
    "connector": "postgresql",
    "db": "shop",
    "schema": "public",
    "table": "things",
    "sequence": '["100","200"]',
    "lsn": 200,
    "txId": 7,
    "ts_ms": 1_767_225_600_000,
    "ts_us": 1_767_225_600_000_123,
}


def debezium(operation: Any, after: Any = None, *, before: Any = None, **source: Any) -> dict[str, Any]:
    """A message of the PostgreSQL connector."""
    return {"before": before, "after": after, "source": {**SOURCE, **source}, "op": operation, "ts_ms": 1}


def wrapped(payload: Any, schema: Any = None) -> dict[str, Any]:
    """As Kafka Connect writes something beside its schema."""
    return {"schema": schema or {"type": "struct"}, "payload": payload}


def position(row: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Epoch, commit position, position within."""
    return tuple(row["position"].values()) if row["position"] else None
