"""The way of AWS Glue's serializers: 3, then 0 or 5 (compressed by zlib), then the UUID of a version of a schema."""

import uuid
import zlib

import numpy as np
import pyarrow as pa

from lakehouse.formats.frames.framed import Bytes, Rows, SchemaGroup
from lakehouse.formats.verdict import RecordError

MAGIC, PLAIN, COMPRESSED = 3, 0, 5
FRAME = 2 + 16
PREFIX = "glue:"
"""In front of a UUID, where ids of several registries stand side by side."""

MOST_BYTES = 16 << 20
"""No record may have more, inflated."""
MOST_TIMES = 200
SMALL = 64 << 10
"""Nor more than `MOST_TIMES` as many as it had before, beyond these: what has is made to exhaust memory."""
PIECE_BYTES = 64 << 20
"""After so many inflated bytes, what is inflated by then is decoded first."""

_SHORT = RecordError("no_schema_id", f"the value has fewer than {FRAME} bytes, so it names no schema of AWS Glue")
_NO_COMPRESSION = RecordError("no_schema_id", "the second byte, after Glue's 3, is neither 0 nor 5")
_DAMAGED = RecordError("bad_compression", "the bytes behind the schema id are no whole zlib stream")


def by_value(first: Bytes, lengths: Rows, rows: Rows, errors: dict[int, RecordError]) -> list[SchemaGroup]:
    """Groups of records that begin with byte 3.

    Args:
        first: the first bytes of each record, 18 at least,
        lengths: and how long it is.
        rows: which begin with byte 3.
        errors: takes those that name no schema.
    """
    short = lengths[rows] < FRAME
    strange = (first[rows, 1] != PLAIN) & (first[rows, 1] != COMPRESSED)
    errors.update(dict.fromkeys(rows[short].tolist(), _SHORT))
    errors.update(dict.fromkeys(rows[strange & ~short].tolist(), _NO_COMPRESSION))
    good = rows[~short & ~strange]
    if not len(good):
        return []
    ids, codes = np.unique(first[good, 2:FRAME], axis=0, return_inverse=True)
    return [
        SchemaGroup(f"{PREFIX}{uuid.UUID(bytes=name.tobytes())}", good[codes.reshape(-1) == code], FRAME)
        for code, name in enumerate(ids)
    ]


def inflated(values: pa.BinaryArray, first: Bytes, errors: dict[int, RecordError]) -> pa.BinaryArray:
    """The records with Glue's frame uncompressed, each behind its frame.

    Args:
        values: the records.
        first: the first bytes of each, two at least.
        errors: takes those that are no zlib stream, or too large.

    Returns:
        As many of them as have `PIECE_BYTES` together, one at least.
    """
    compressed = np.flatnonzero((first[:, 0] == MAGIC) & (first[:, 1] == COMPRESSED))
    if not len(compressed):
        return values
    records: list[bytes | None] = values.to_pylist()
    total = 0
    for row in compressed.tolist():
        if total >= PIECE_BYTES:
            del records[row:]
            break
        record = records[row] or b""
        if len(record) < FRAME:
            continue
        content = _inflate(record[FRAME:])
        if isinstance(content, RecordError):
            errors[row] = content
            content = b""
        records[row] = record[:FRAME] + content
        total += len(content)
    return pa.array(records, pa.binary())


def _inflate(content: bytes) -> bytes | RecordError:
    limit = min(MOST_BYTES, max(SMALL, MOST_TIMES * len(content)))
    stream = zlib.decompressobj()
    try:
        whole = stream.decompress(content, limit + 1)
    except zlib.error:
        return _DAMAGED
    if len(whole) > limit:
        return RecordError("bad_compression", f"inflated, the record has more than {limit:,} bytes")
    if not stream.eof or stream.unused_data:
        return _DAMAGED
    return whole


def write_frame(version: uuid.UUID, content: bytes, *, compress: bool = False) -> bytes:
    """A record with what stands in front of it."""
    return (
        bytes([MAGIC, COMPRESSED if compress else PLAIN])
        + version.bytes
        + (zlib.compress(content) if compress else content)
    )
