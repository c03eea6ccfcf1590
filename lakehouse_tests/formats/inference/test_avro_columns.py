"""Columns that are proposed for an Avro schema can be read from its records."""

import json

import pyarrow as pa

from lakehouse.declarations.columns.schemas import iceberg_schema
from lakehouse.formats.avro import parse_writer_schema
from lakehouse.formats.avro.columns import match_record
from lakehouse.formats.inference.avro_columns import columns_of_schema
from lakehouse.formats.inference.proposal import declaration_text
from lakehouse.steps.ingest.parquet_files.encoding import file_schema

SCHEMA = {
    "type": "record",
    "name": "R",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "small", "type": "int"},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "wall", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
        {"name": "kind", "type": {"type": "enum", "name": "K", "symbols": ["A"]}},
        {"name": "note", "type": ["null", "string"]},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "more", "type": {"type": "map", "values": ["null", "double"]}},
        {
            "name": "inner",
            "type": ["null", {"type": "record", "name": "I", "fields": [{"name": "f", "type": "float"}]}],
        },
        {"name": "either", "type": ["string", "long"]},
    ],
}


def test_every_proposed_column_can_be_read() -> None:
    node = parse_writer_schema(json.dumps(SCHEMA))
    columns = columns_of_schema(node)
    assert [(c.name, c.remark) for c in columns if not c.type] == [("either", "a value of string or long")]
    assert {c.name for c in columns if c.nullable} == {"note", "inner"}
    namespace: dict[str, object] = {}
    text = declaration_text("raw.things", "things", "things", columns, "a schema", "Avro(registry=True)")
    exec(compile(text, "proposed.py", "exec"), namespace)  # it is what a person would import
    table = namespace["things"]
    schema: pa.Schema = file_schema(iceberg_schema(table))  # type: ignore[arg-type]
    assert match_record(node, list(schema)).extra == ("either",)
