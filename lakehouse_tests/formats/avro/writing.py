"""Avro in tests: schemas in short, records by fastavro, rows by our decoder."""

import json
from io import BytesIO
from typing import Any

import fastavro
import pyarrow as pa

from lakehouse.formats.avro import AvroDecoder
from lakehouse.formats.decoded import Decoded
from lakehouse.formats.frames import SingleSchema


def record(*fields: tuple[str, Any], **more: Any) -> str:
    """A schema; a field is a name and a type, or a whole field."""
    entries = [
        {"name": name, **(kind if isinstance(kind, dict) and "default" in kind else {"type": kind})}
        for name, kind in fields
    ]
    return json.dumps({"type": "record", "name": "Order", "fields": entries} | more, separators=(",", ":"))


def encoded(schema: str, value: object) -> bytes:
    """A record in bytes."""
    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(schema)), value)
    return out.getvalue()


def decode(columns: pa.Schema, schema: str, *values: bytes | None) -> Decoded:
    """Records of one schema, in columns."""
    return AvroDecoder(columns, SingleSchema(schema)).decode(pa.array(values, pa.binary()))


def reasons(decoded: Decoded) -> dict[int, str]:
    """Row → error class."""
    return {row: error.error_class for row, error in decoded.errors.items()}


def rows(column: pa.DataType, kind: Any, *values: Any, nullable: bool = True) -> tuple[list[Any], dict[int, str]]:
    """Values of one field: what becomes of them in a column, and the error class of those that are refused."""
    schema = record(("x", kind))
    decoded = decode(pa.schema([pa.field("x", column, nullable)]), schema, *(encoded(schema, {"x": v}) for v in values))
    decoded.batch.validate(full=True)
    return decoded.batch.column("x").to_pylist(), reasons(decoded)
