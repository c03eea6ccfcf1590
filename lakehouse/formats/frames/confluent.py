"""Confluent's two ways of naming a schema.

Five bytes in front of the value (0, then the id as a big-endian number), or the header `__value_schema_id` (1, then a
UUID; or the same five bytes). Of Protobuf, either goes on with which message of the schema it is.
"""

import uuid
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from lakehouse.formats.decoded import SchemaId
from lakehouse.formats.frames.framed import Bytes, Rows, SchemaGroup
from lakehouse.formats.headers import read_headers
from lakehouse.formats.verdict import RecordError

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers

HEADER = "__value_schema_id"
FRAME = 5
LAST_ID = 2**31 - 1
SHORT = RecordError("no_schema_id", f"the value has fewer than {FRAME} bytes, so it names no schema")
NO_ID = RecordError("unknown_schema", f"the schema id is beyond {LAST_ID}, where no registry has any")
_BAD_HEADER = RecordError("no_schema_id", f"the header {HEADER} holds neither a UUID nor a schema id")


def by_value(first: Bytes, lengths: Rows, rows: Rows, errors: dict[int, RecordError]) -> list[SchemaGroup]:
    """Groups of records that begin with byte 0.

    Args:
        first: the first bytes of each record, five at least,
        lengths: and how long it is.
        rows: which begin with byte 0, or have no byte.
        errors: takes those that name no schema.
    """
    ids = np.ascontiguousarray(first[rows, 1:FRAME]).view(">u4").reshape(-1).astype(np.int64)
    short, beyond = lengths[rows] < FRAME, ids > LAST_ID
    errors.update(dict.fromkeys(rows[short].tolist(), SHORT))
    errors.update(dict.fromkeys(rows[beyond & ~short].tolist(), NO_ID))
    good = ~short & ~beyond
    return [
        SchemaGroup(schema, rows[good & (ids == schema)], FRAME)
        for schema in np.unique(ids[good]).tolist()  # a few, mostly one
    ]


def by_header(headers: pa.StringArray | None, rows: Rows, errors: dict[int, RecordError]) -> list[SchemaGroup]:
    """Groups of records with the header; of several of that name the last counts.

    Args:
        headers: of each record, as JSON.
        rows: which records.
        errors: takes those whose header names no schema.
    """
    if headers is None or headers.null_count == len(headers):
        return []
    named = pc.fill_null(pc.match_substring(headers, f'"{HEADER}"'), False).to_numpy(zero_copy_only=False)
    rows_of: dict[tuple[SchemaId, bytes], list[int]] = {}
    for row in rows[named[rows]].tolist():
        value = next((h.value for h in reversed(read_headers(headers[row].as_py())) if h.key == HEADER), None)
        if value is None:
            continue
        named_schema = _of_header(value)
        if named_schema is None:
            errors[row] = _BAD_HEADER
        else:
            rows_of.setdefault(named_schema, []).append(row)
    return [SchemaGroup(schema, np.array(rows), 0, suffix) for (schema, suffix), rows in rows_of.items()]


def _of_header(value: bytes) -> tuple[SchemaId, bytes] | None:
    if len(value) >= 1 + 16 and value[0] == 1:
        return str(uuid.UUID(bytes=value[1:17])), value[17:]
    if len(value) >= FRAME and value[0] == 0:
        schema = int.from_bytes(value[1:FRAME], "big")
        return (schema, value[FRAME:]) if schema <= LAST_ID else None
    return None


def write_frame(schema_id: int) -> bytes:
    """What stands in front of a record."""
    return b"\x00" + schema_id.to_bytes(4, "big")
