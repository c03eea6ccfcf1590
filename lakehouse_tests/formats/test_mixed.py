"""Wire formats of one topic are told apart record by record, each read as its own decoder would alone."""

import pickle
import uuid

import pyarrow as pa
import pytest

from lakehouse.formats.avro import AvroDecoder
from lakehouse.formats.frames import RegistrySchemas, WriterSchema, glue
from lakehouse.formats.frames.confluent import write_frame
from lakehouse.formats.headers import Header, write_headers
from lakehouse.formats.json import JsonDecoder
from lakehouse.formats.json_schema import JsonSchemaDecoder
from lakehouse.formats.mixed import MixedDecoder
from lakehouse.formats.protobuf import ProtobufDecoder, compile_proto
from lakehouse.formats.protobuf.encoder import ProtobufEncoder
from lakehouse.formats.verdict import RecordError
from lakehouse.steps.ingest.workers.decoder_selection.format_decoders import ReadFormat
from lakehouse_tests.formats.avro.writing import encoded, record

COLUMNS = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("text", pa.string())])
AVRO = record(("id", "long"), ("text", ["null", "string"]), ("more", "int"))
PROTO = 'syntax = "proto3"; message Thing { int64 id = 1; optional string text = 2; }'
VERSION = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")
COMPILED = compile_proto("t.proto", {"t.proto": PROTO})
SCHEMAS = RegistrySchemas(
    {
        1: WriterSchema(AVRO),
        2: WriterSchema(PROTO, compiled=COMPILED, kind="PROTOBUF"),
        f"{glue.PREFIX}{VERSION}": WriterSchema(AVRO),
        4: WriterSchema('{"properties": {"id": {"minimum": 1}}}', kind="JSON"),
    },
    {5: RecordError("unknown_schema", "the registry has no schema 5")},
    glue=True,
)


def decoder(*, text: bool = True) -> MixedDecoder:
    made = MixedDecoder(
        COLUMNS,
        SCHEMAS,
        {
            "AVRO": ReadFormat(AvroDecoder(COLUMNS, SCHEMAS)),
            "PROTOBUF": ReadFormat(ProtobufDecoder(COLUMNS, SCHEMAS)),
            "JSON": ReadFormat(JsonSchemaDecoder(COLUMNS, SCHEMAS)),
        },
        ReadFormat(JsonDecoder(COLUMNS)) if text else None,
    )
    return pickle.loads(pickle.dumps(made))  # as it travels to workers


def avro(number: int) -> bytes:
    return encoded(AVRO, {"id": number, "text": "t", "more": 1})


VALUES = [
    b'{"id": 0, "text": "json"}',
    write_frame(1) + avro(1),
    glue.write_frame(VERSION, avro(2), compress=True),
    write_frame(2) + b"\x00" + ProtobufEncoder(COMPILED).encode('{"id": 3}'),
    b'{"id": "no"}',
    None,
    write_frame(1) + avro(6)[:-1],
    write_frame(7) + b"x",
    write_frame(5) + b"x",
    avro(9),  # named by its header
    write_frame(4) + b'{"id": 10}',
    write_frame(4) + b'{"id": 0}',
    b"\x00",
    b"\xff",
    b'{"id": 14}',
]


def test_each_record_is_read_by_its_own_format() -> None:
    headers = [None] * len(VALUES)
    headers[9] = write_headers([Header("__value_schema_id", write_frame(1))])  # type: ignore[call-overload]
    decoded = decoder().decode(pa.array(VALUES, pa.binary()), pa.array(headers, pa.string()))
    rows = {n: tuple(row.values()) for n, row in enumerate(decoded.batch.to_pylist()) if n not in decoded.errors}
    assert rows == {0: (0, "json"), 1: (1, "t"), 2: (2, "t"), 3: (3, None), 9: (9, "t"), 10: (10, None), 14: (14, None)}
    assert {n: error.error_class for n, error in decoded.errors.items()} == {
        4: "wrong_type",
        5: "tombstone",
        6: "not_avro",
        7: "unknown_schema",
        8: "unknown_schema",
        11: "breaks_schema",
        12: "no_schema_id",
        13: "not_json",
    }
    assert decoded.observed.unresolved == {7}
    names = {"1": 3, f"{glue.PREFIX}{VERSION}": 1, "2": 1, "7": 1, "5": 1, "4": 2}
    assert dict(decoded.observed.schemas) == names
    assert dict(decoded.observed.extra) == {"more": 4}


def test_without_a_format_of_text_what_names_no_schema_is_refused() -> None:
    decoded = decoder(text=False).decode(pa.array(VALUES[:2], pa.binary()))
    assert {n: error.error_class for n, error in decoded.errors.items()} == {0: "no_schema_id"}
    assert decoded.batch.to_pylist()[1] == {"id": 1, "text": "t"}


@pytest.mark.parametrize("values", [[], [None], [b'{"id": 1}']])
def test_one_format_alone_is_a_mixture_as_well(values: list[bytes | None]) -> None:
    decoded = decoder().decode(pa.array(values, pa.binary()))
    assert decoded.batch.num_rows == len(values)
    assert decoded.batch.schema == COLUMNS
