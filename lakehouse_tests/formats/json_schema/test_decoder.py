"""Records are rows as far as their schema and the table agree; each is judged by the schema that it names."""

import json
import pickle
from typing import Any

import pyarrow as pa

from lakehouse.formats.frames import RegistrySchemas, SingleSchema, WriterSchema
from lakehouse.formats.json_schema import JsonSchemaDecoder
from lakehouse.formats.verdict import RecordError

COLUMNS = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("on", pa.date32())])
POSITIVE = json.dumps({"properties": {"id": {"minimum": 1}}, "required": ["on"]})


def binary(*records: Any) -> pa.Array:
    return pa.array([r if r is None or isinstance(r, bytes) else json.dumps(r).encode() for r in records], pa.binary())


def test_a_record_is_a_row_where_schema_and_table_take_it() -> None:
    decoder = pickle.loads(pickle.dumps(JsonSchemaDecoder(COLUMNS, SingleSchema(POSITIVE, kind="JSON"))))
    day = "2026-01-01"
    decoded = decoder.decode(
        binary({"id": 1, "on": day, "more": 1}, {"id": 0, "on": day}, {"id": 1}, {"id": 1, "on": "x"}, b"{", None, [])
    )
    assert {row: error.error_class for row, error in decoded.errors.items()} == {
        1: "breaks_schema",
        2: "breaks_schema",
        3: "wrong_type",
        4: "not_json",
        5: "tombstone",
        6: "not_an_object",
    }
    assert decoded.batch.slice(0, 1).to_pylist()[0]["id"] == 1
    assert decoded.observed.extra == {"more": 1}
    assert decoded.observed.schemas == {}
    assert JsonSchemaDecoder(COLUMNS, SingleSchema("true")).decode(binary()).batch.schema == COLUMNS


def test_each_record_is_judged_by_the_schema_that_it_names() -> None:
    known = RegistrySchemas(
        {
            7: WriterSchema(POSITIVE, kind="JSON"),
            8: WriterSchema('{"$ref": "#"}', kind="JSON"),
            9: WriterSchema("true"),
        },
        {10: RecordError("unknown_schema", "the registry has no schema 10")},
    )
    record = {"id": -1, "on": "2026-01-01"}
    framed = [b"\0" + schema.to_bytes(4, "big") + json.dumps(record).encode() for schema in (7, 8, 9, 10, 11)]
    decoded = JsonSchemaDecoder(COLUMNS, known).decode(binary(*framed, b"{}", framed[2][:-1]))
    assert {row: error.error_class for row, error in decoded.errors.items()} == {
        0: "breaks_schema",
        1: "schema_unusable",
        3: "unknown_schema",
        4: "unknown_schema",
        5: "no_schema_id",
        6: "not_json",
    }
    assert decoded.errors[1].message.startswith("schema 8: it refers to itself without end")
    assert decoded.observed.unresolved == {11}
    assert decoded.observed.schemas == {"7": 1, "8": 1, "9": 2, "10": 1, "11": 1}
    assert decoded.batch.column("id").to_pylist()[2] == -1
