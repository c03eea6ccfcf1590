"""Which schema a record was written with: the one of the stream, or the one that the record names.

A record names it in one of Confluent's two ways: five bytes in front of the value (0, then the id as a big-endian
number), or the header `__value_schema_id` (1, then a UUID; or the same five bytes).
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute

from lakehouse.formats.avro.cursor import Batch, Longs
from lakehouse.formats.decoded import SchemaId
from lakehouse.formats.headers import read_headers
from lakehouse.formats.verdict import RecordError

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers

HEADER = "__value_schema_id"
FRAME = 5
_LAST_ID = 2**31 - 1
_SHORT = RecordError("no_schema_id", f"the value has fewer than {FRAME} bytes, so it names no schema")
_NO_MAGIC = RecordError("no_schema_id", "the value does not begin with byte 0, which stands in front of a schema id")
_NO_ID = RecordError("unknown_schema", f"the schema id is beyond {_LAST_ID}, where no registry has any")
_BAD_HEADER = RecordError("no_schema_id", f"the header {HEADER} holds neither a UUID nor a schema id")


@dataclass(frozen=True)
class SchemaGroup:
    """Records of one schema, each with so many bytes in front of its data."""

    schema: SchemaId
    rows: Longs
    skip: int


class WriterSchemas(Protocol):
    """The schemas of a stream's records."""

    def groups(self, batch: Batch, rows: Longs, headers: pa.StringArray | None) -> list[SchemaGroup]:
        """Records by their schemas; one that names none is marked."""
        ...

    def texts_of(self, schema: SchemaId) -> tuple[str, ...] | RecordError | None:
        """The texts of a schema, after those that it refers to; or why its records cannot be read.

        Nothing, where nobody has asked for it yet.
        """
        ...

    @property
    def named(self) -> bool:
        """Whether records name their schema."""
        ...


@dataclass(frozen=True)
class SingleSchema:
    """All records are of one schema and name none."""

    schema: str

    def groups(self, batch: Batch, rows: Longs, headers: pa.StringArray | None) -> list[SchemaGroup]:
        """All of them."""
        del batch, headers
        return [SchemaGroup(0, rows, 0)] if len(rows) else []

    def texts_of(self, schema: SchemaId) -> tuple[str, ...] | RecordError | None:
        """The schema."""
        del schema
        return (self.schema,)

    @property
    def named(self) -> bool:
        """No record names it."""
        return False


@dataclass(frozen=True)
class RegistrySchemas:
    """Records name their schemas by what a registry of Confluent's kind calls them.

    Attributes:
        texts: id → schema, after those that it refers to.
        refused: id → why its records cannot be read.
    """

    texts: Mapping[SchemaId, tuple[str, ...]] = field(default_factory=dict[SchemaId, tuple[str, ...]])
    refused: Mapping[SchemaId, RecordError] = field(default_factory=dict[SchemaId, RecordError])

    def groups(self, batch: Batch, rows: Longs, headers: pa.StringArray | None) -> list[SchemaGroup]:
        """By header where there is one, else by the value."""
        by_header = self._by_header(batch, rows, headers)
        if by_header:
            rows = np.setdiff1d(rows, np.concatenate([group.rows for group in by_header]))
            rows = rows[~batch.failed[rows]]
        return [*by_header, *self._by_value(batch, rows)]

    def texts_of(self, schema: SchemaId) -> tuple[str, ...] | RecordError | None:
        """As the registry has it."""
        return self.texts.get(schema) or self.refused.get(schema)

    def ids_in(self, values: pa.BinaryArray, headers: pa.StringArray | None) -> set[SchemaId]:
        """The ids that some records name, without a look at what is known of them."""
        batch = Batch(values)
        rows = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
        return {group.schema for group in self.groups(batch, rows, headers)}

    @property
    def named(self) -> bool:
        """Each record names it."""
        return True

    def _by_value(self, batch: Batch, rows: Longs) -> list[SchemaGroup]:
        cursor = batch.cursor(rows)
        long_enough = cursor.end - cursor.position >= FRAME
        if not long_enough.all():
            cursor.fail(np.flatnonzero(~long_enough), _SHORT)
            cursor = cursor.take(np.flatnonzero(long_enough))
        if not len(cursor):
            return []
        frames = cursor.bytes_of_size(FRAME)
        ids = np.ascontiguousarray(frames[:, 1:]).view(">u4").reshape(-1).astype(np.int64)
        cursor.fail(np.flatnonzero(frames[:, 0] != 0), _NO_MAGIC)
        cursor.fail(np.flatnonzero((frames[:, 0] == 0) & (ids > _LAST_ID)), _NO_ID)
        alive = cursor.alive
        return [
            SchemaGroup(int(schema), cursor.rows[alive & (ids == schema)], FRAME)
            for schema in np.unique(ids[alive]).tolist()
        ]

    def _by_header(self, batch: Batch, rows: Longs, headers: pa.StringArray | None) -> list[SchemaGroup]:
        if headers is None or headers.null_count == len(headers):
            return []
        named = pc.fill_null(pc.match_substring(headers, f'"{HEADER}"'), False).to_numpy(zero_copy_only=False)
        found: dict[SchemaId, list[int]] = {}
        for row in rows[named[rows]].tolist():
            value = next((h.value for h in reversed(read_headers(headers[row].as_py())) if h.key == HEADER), None)
            if value is None:
                continue
            schema = _of_header(value)
            if schema is None:
                batch.cursor(np.array([row])).fail(np.zeros(1, np.int64), _BAD_HEADER)
            else:
                found.setdefault(schema, []).append(row)
        return [SchemaGroup(schema, np.array(of_schema), 0) for schema, of_schema in found.items()]


def _of_header(value: bytes) -> SchemaId | None:
    if len(value) == 1 + 16 and value[0] == 1:
        return str(uuid.UUID(bytes=value[1:]))
    if len(value) == FRAME and value[0] == 0:
        schema = int.from_bytes(value[1:], "big")
        return schema if schema <= _LAST_ID else None
    return None
