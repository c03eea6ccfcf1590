"""Each record is a row or has its reason, whatever stands beside it."""

import pickle

import pyarrow as pa
import pytest

from lakehouse.formats.avro import AvroDecoder
from lakehouse.formats.frames import RegistrySchemas, SingleSchema, WriterSchema
from lakehouse_tests.formats.avro.writing import decode, encoded, reasons, record

SCHEMA = record(("id", "long"), ("note", ["null", "string"]))
COLUMNS = pa.schema([pa.field("note", pa.string()), pa.field("id", pa.int64(), nullable=False)])
GOOD = encoded(SCHEMA, {"id": 300, "note": "é"})


def test_fields_go_to_the_columns_of_their_name() -> None:
    decoded = decode(COLUMNS, SCHEMA, GOOD, encoded(SCHEMA, {"id": -1, "note": None}))
    assert decoded.batch.to_pylist() == [{"note": "é", "id": 300}, {"note": None, "id": -1}]
    assert decoded.batch.schema == COLUMNS


def test_no_records_are_a_batch_without_rows() -> None:
    assert decode(COLUMNS, SCHEMA).batch.num_rows == 0


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "tombstone"),
        (b"", "not_avro"),
        (GOOD[:-1], "not_avro"),
        (GOOD + b"\x00", "not_avro"),
        (b"\xff" * 12, "not_avro"),
        (b"\x00\x04", "not_avro"),
        (b"\x00\x02\x03\xff\xff", "not_avro"),
        (b"\x00\x02\x02\xff", "wrong_type"),
    ],
    ids=["tombstone", "empty", "cut", "longer", "long-number", "no-branch", "negative-length", "no-utf-8"],
)
def test_a_bad_record_has_its_reason_and_hurts_no_other(value: bytes | None, reason: str) -> None:
    decoded = decode(COLUMNS, SCHEMA, GOOD, value, GOOD)
    assert reasons(decoded) == {1: reason}
    assert [decoded.batch.to_pylist()[row]["id"] for row in (0, 2)] == [300, 300]


def test_a_string_cannot_reach_into_the_next_record() -> None:
    reaching = b"\x00\x02" + bytes([2 * (len(GOOD) + 1)])
    assert reasons(decode(COLUMNS, SCHEMA, reaching, GOOD)) == {0: "not_avro"}


def test_records_of_a_schema_that_cannot_be_a_row_are_refused_with_the_field() -> None:
    of_text = record(("id", "string"))
    decoded = decode(COLUMNS, of_text, encoded(of_text, {"id": "7"}))
    assert decoded.errors[0].error_class == "wrong_type"
    assert decoded.errors[0].message == "`id`: the writer has string, which is no int64"


def test_fields_that_the_table_does_not_have_are_counted() -> None:
    wide = record(("id", "long"), ("more", "string"), ("note", "string"))
    value = encoded(wide, {"id": 1, "more": "secret", "note": "n"})
    decoded = decode(COLUMNS, wide, value, value)
    assert decoded.batch.to_pylist() == [{"note": "n", "id": 1}] * 2
    assert dict(decoded.observed.extra) == {"more": 2}


def test_a_schema_that_cannot_be_read_with_refuses_its_records_and_not_the_batch() -> None:
    recursive = record(("id", "long"), ("next", ["null", "Order"]))
    assert reasons(decode(COLUMNS, recursive, GOOD)) == {0: "schema_unusable"}


def test_records_of_many_schemas_are_each_read_by_their_own() -> None:
    older = record(("id", "int"))
    decoder = AvroDecoder(COLUMNS, RegistrySchemas({7: WriterSchema(SCHEMA), 300: WriterSchema(older)}))
    values = [
        b"\x00\x00\x00\x00\x07" + GOOD,
        b"\x00\x00\x00\x01\x2c" + encoded(older, {"id": 5}),
        b"\x00\x00\x00\x00\x09",
    ]
    decoded = pickle.loads(pickle.dumps(decoder)).decode(pa.array(values, pa.binary()))
    assert decoded.batch.to_pylist()[:2] == [{"note": "é", "id": 300}, {"note": None, "id": 5}]
    assert reasons(decoded) == {2: "unknown_schema"}
    assert (decoded.observed.schemas, decoded.observed.unresolved) == ({"7": 1, "300": 1, "9": 1}, {9})


def test_the_readers_defaults_and_aliases_count_where_the_writer_lacks_a_field() -> None:
    writer = record(("number", "long"))
    reader = record(
        ("id", {"type": "long", "default": 0, "aliases": ["number"]}), ("note", {"type": "string", "default": "none"})
    )
    decoder = AvroDecoder(COLUMNS, SingleSchema(writer), reader=reader)
    assert decoder.decode(pa.array([encoded(writer, {"number": 4})])).batch.to_pylist() == [{"note": "none", "id": 4}]


def test_an_alias_of_a_column_is_what_records_call_it() -> None:
    decoder = AvroDecoder(
        COLUMNS, SingleSchema(record(("Order-Id", "long")).replace("Order-Id", "order_id")), {"id": "order_id"}
    )
    assert decoder.decode(pa.array([b"\x08"])).batch.column("id").to_pylist() == [4]
