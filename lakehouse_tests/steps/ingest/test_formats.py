"""Records of every format land with their proof: rows, or quarantine with the reason, and what no table has is told."""

import json
from pathlib import Path

import msgspec
import pandera.pyspark as pa
import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse import seal_keys
from lakehouse.declarations import Avro, ByField, JsonSchema, Protobuf, Raw, Stream, ToTable
from lakehouse.formats.headers import Header, write_headers
from lakehouse.formats.protobuf import compile_proto
from lakehouse.formats.protobuf.encoder import ProtobufEncoder
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.history import last_seal
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.formats.avro.writing import encoded, record
from lakehouse_tests.steps.ingest.in_process import InProcess

SCHEMA = record(("kind", "string"), ("id", "long"), ("extra", ["null", "int"]))


@pytest.fixture
def avro(tmp_path: Path) -> Avro:
    file = tmp_path / "things.avsc"
    file.write_text(SCHEMA, encoding="utf-8")
    return Avro(file)


def of(kind: str, number: int) -> bytes:
    return encoded(SCHEMA, {"kind": kind, "id": number, "extra": 1})


def test_avro_lands_in_one_table_with_the_key_as_a_column(sql_lake: Lake, avro: Avro) -> None:
    made = InProcess(
        open_catalog(sql_lake.settings), Stream(name="things", topic="t", route=ToTable("raw.things"), format=avro)
    )
    key = pa.Column(T.StringType(), nullable=True, metadata={"record": "key"})
    made.declare(declare({"record_key": key, "id": T.LongType()}).with_coordinates())
    made.ingest(
        {0: [(b"k1", of("a", 1)), (None, of("a", 2)), (b"k3", of("a", 3)[:-1]), (b"\xff", of("a", 4)), (b"k5", None)]}
    )
    assert made.rows("raw.things", "record_key", "id") == [{"record_key": "k1", "id": 1}, {"record_key": None, "id": 2}]
    refused = made.rows("quarantine.things", "error_class", "_kafka_offset")
    assert [tuple(row.values()) for row in refused] == [("not_avro", 2), ("wrong_type", 3), ("tombstone", 4)]
    sealed = last_seal(made.load("raw.things"))
    assert sealed is not None
    assert msgspec.json.decode(sealed.seal.statement[seal_keys.FORMAT_EXTRA_FIELDS]) == {"kind": 4, "extra": 4}
    made.holds()


def test_avro_goes_where_its_field_says(sql_lake: Lake, avro: Avro) -> None:
    route = ByField("kind", {"a": "raw.a", "b": "raw.b"})
    made = InProcess(open_catalog(sql_lake.settings), Stream(name="things", topic="t", route=route, format=avro))
    made.declare(*(declare({"id": T.LongType()}, name).with_coordinates() for name in route.tables))
    made.ingest({0: [(None, of("b", 1)), (None, of("a", 2)), (None, of("c", 3)), (None, of("b", 4))]})
    assert [made.rows(name, "id") for name in ("raw.a", "raw.b")] == [[{"id": 2}], [{"id": 1}, {"id": 4}]]
    assert made.quarantined() == [(0, 2)]
    made.holds()


def test_raw_records_are_kept_as_they_are(sql_lake: Lake) -> None:
    made = InProcess(
        open_catalog(sql_lake.settings), Stream(name="things", topic="t", route=ToTable("raw.things"), format=Raw())
    )
    entry = T.StructType([T.StructField("key", T.StringType()), T.StructField("value", T.BinaryType())])
    columns = {"key": T.BinaryType(), "value": T.BinaryType(), "headers": T.ArrayType(entry)}
    made.declare(declare(columns).with_coordinates())
    made.ingest({0: [(b"k", b"\xff\x00"), (None, None)]}, headers=write_headers([Header("h", b"\x01"), Header("n")]))
    headers = [{"key": "h", "value": b"\x01"}, {"key": "n", "value": None}]
    expected = [(b"k", b"\xff\x00"), (None, None)]
    assert made.rows("raw.things", "key", "value", "headers") == [
        {"key": key, "value": value, "headers": headers} for key, value in expected
    ]
    assert made.quarantined() == []
    made.holds()


def test_json_goes_where_its_field_says_as_far_as_it_is_valid(sql_lake: Lake, tmp_path: Path) -> None:
    file = tmp_path / "thing.schema.json"
    file.write_text('{"properties": {"id": {"minimum": 1}}}', encoding="utf-8")
    route = ByField("kind", {"a": "raw.a", "b": "raw.b"})
    made = InProcess(open_catalog(sql_lake.settings), Stream(name="j", topic="t", route=route, format=JsonSchema(file)))
    made.declare(*(declare({"id": T.LongType()}, name).with_coordinates() for name in route.tables))
    lines = [{"kind": "b", "id": 1, "more": 1}, {"kind": "a", "id": 2}, {"kind": "a", "id": 0}, {"kind": "c", "id": 3}]
    made.ingest({0: [(None, json.dumps(line).encode()) for line in lines] + [(None, b"{")]})
    assert [made.rows(name, "id") for name in ("raw.a", "raw.b")] == [[{"id": 2}], [{"id": 1}]]
    refused = made.rows("quarantine.j", "error_class", "_kafka_offset")
    assert [tuple(row.values()) for row in refused] == [("breaks_schema", 2), ("unknown_route", 3), ("not_json", 4)]
    made.holds()


PROTO = """syntax = "proto3";
message Thing { string kind = 1; int64 id = 2; map<string, string> notes = 3; optional string extra = 4; }
"""


def test_protobuf_goes_where_its_field_says(sql_lake: Lake, tmp_path: Path) -> None:
    file = tmp_path / "thing.proto"
    file.write_text(PROTO, encoding="utf-8")
    route = ByField("kind", {"a": "raw.a", "b": "raw.b"})
    made = InProcess(open_catalog(sql_lake.settings), Stream(name="p", topic="t", route=route, format=Protobuf(file)))
    notes = T.MapType(T.StringType(), T.StringType())
    made.declare(
        declare({"id": T.LongType(), "notes": notes}, "raw.a").with_coordinates(),
        declare({"id": T.LongType()}, "raw.b").with_coordinates(),
    )
    encode = ProtobufEncoder(compile_proto("thing.proto", {"thing.proto": PROTO})).encode
    lines = ['{"kind": "a", "id": 1, "notes": {"k": "v"}}', '{"kind": "b", "id": 2, "extra": "x"}', '{"id": 3}']
    made.ingest({0: [*((None, encode(line)) for line in lines), (None, b"\xff"), (None, None)]})
    assert made.rows("raw.a", "id", "notes") == [{"id": 1, "notes": [("k", "v")]}]
    assert made.rows("raw.b", "id") == [{"id": 2}]
    refused = made.rows("quarantine.p", "error_class", "_kafka_offset")
    assert [tuple(row.values()) for row in refused] == [("unknown_route", 2), ("not_protobuf", 3), ("tombstone", 4)]
    sealed = last_seal(made.load("raw.a"))
    assert sealed is not None
    assert msgspec.json.decode(sealed.seal.statement[seal_keys.FORMAT_EXTRA_FIELDS]) == {"extra": 2, "notes": 1}
    made.holds()
