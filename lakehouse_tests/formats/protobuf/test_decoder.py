"""Messages become rows, each by itself; what cannot be one has its reason, and what no column has is counted."""

import datetime as dt
import pickle
import uuid
from decimal import Decimal

import pyarrow as pa
import pytest

from lakehouse.formats.frames import RegistrySchemas, WriterSchema
from lakehouse.formats.headers import Header, write_headers
from lakehouse.formats.protobuf import ProtobufDecoder
from lakehouse_tests.formats.protobuf.writing import compiled, decode, encoded, reasons

SCHEMA = compiled(
    """import "google/protobuf/timestamp.proto";
    message M {
      enum Method { CARD = 0; CASH = 1; }
      message Line { string what = 1; optional int32 count = 2; M again = 3; }
      int64 id = 1; uint64 number = 2; google.protobuf.Timestamp paid_at = 3; Method method = 4;
      repeated Line lines = 5; map<int32, string> notes = 6;
      oneof by { string card = 7; bool cash = 8; }
    }
    message N { string text = 1; int64 id = 2; }"""
)
COLUMNS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("number", pa.decimal128(20, 0)),
        pa.field("paid_at", pa.timestamp("us", "UTC")),
        pa.field("method", pa.string()),
        pa.field("lines", pa.list_(pa.struct([pa.field("what", pa.string()), pa.field("count", pa.int32())]))),
        pa.field("notes", pa.map_(pa.int32(), pa.string())),
        pa.field("card", pa.string()),
        pa.field("cash", pa.bool_()),
        pa.field("later", pa.string()),
    ]
)
FULL = {
    "id": 7,
    "number": 2**64 - 1,
    "paidAt": "2026-01-02T03:04:05.123456789Z",
    "method": "CASH",
    "lines": [{"what": "a", "count": 0}, {"what": "b"}],
    "notes": {2: "two", 1: "one"},
    "cash": True,
}
ROW = {
    "id": 7,
    "number": Decimal(2**64 - 1),
    "paid_at": dt.datetime(2026, 1, 2, 3, 4, 5, 123456, dt.UTC),
    "method": "CASH",
    "lines": [{"what": "a", "count": 0}, {"what": "b", "count": None}],
    "notes": [(1, "one"), (2, "two")],
    "card": None,
    "cash": True,
    "later": None,
}
EMPTY = {"id": 0, "number": Decimal(0), "paid_at": None, "method": "CARD", "lines": [], "notes": []} | dict.fromkeys(
    ("card", "cash", "later")
)


def test_a_damaged_message_or_a_null_is_refused_alone() -> None:
    good = encoded(SCHEMA, FULL)
    decoded = decode(COLUMNS, SCHEMA, good, good[:-1], b"", None, b"\xff" * 12, good)
    assert reasons(decoded) == {1: "not_protobuf", 3: "tombstone", 4: "not_protobuf"}
    rows = decoded.batch.to_pylist()
    assert [rows[0], rows[2], rows[5]] == [ROW, EMPTY, ROW]
    assert decoded.errors[1].message == "the bytes are no M"


def test_what_no_column_has_is_counted_whether_the_schema_knows_it_or_not() -> None:
    wide = compiled("message M { int64 id = 1; message L { int32 x = 1; int32 y = 2; } L l = 2; string more = 3; }")
    narrow = compiled("message M { int64 id = 1; message L { int32 x = 1; } L l = 2; }")
    value = encoded(wide, {"id": 1, "l": {"x": 2, "y": 3}, "more": "x"})
    columns = pa.schema([("id", pa.int64()), ("l", pa.struct([("x", pa.int32())]))])
    assert decode(columns, wide, value, b"").observed.extra == {"l.y": 2, "more": 2}
    assert decode(columns, narrow, value, b"", value).observed.extra == {"#3": 2, "l.#2": 2}


def test_of_proto2_defaults_count_and_required_fields_are_insisted_on() -> None:
    schema = compiled(
        """syntax = "proto2";
        message M {
          required int32 id = 1; optional int32 with = 2 [default = 7]; optional int32 without = 3;
          enum E { A = 1; B = 2; } optional E e = 4; optional string s = 5;
          optional group G = 6 { optional int32 x = 1; }
          optional M inner = 7; extensions 100 to 200;
        }
        extend M { optional int32 beyond = 100; }"""
    )
    columns = pa.schema(
        [
            ("id", pa.int32()),
            ("with", pa.int32()),
            ("without", pa.int32()),
            ("e", pa.string()),
            ("s", pa.string()),
            ("g", pa.struct([("x", pa.int32())])),
        ]
    )
    values = [
        b"\x08\x05",  # id
        b"",
        b"\x08\x05\x20\x09\xa0\x06\x01",  # e = 9, which has no name; the extension
        b"\x08\x05\x2a\x01\xff",  # s is no UTF-8
        b"\x08\x05\x33\x08\x03\x34",  # the group
        b"\x08\x05\x3a\x00",  # inner lacks its id
    ]
    decoded = decode(columns, schema, *values)
    nulls = {"without": None, "e": None, "s": None, "g": None}
    assert reasons(decoded) == {1: "missing_field", 3: "wrong_type", 5: "missing_field"}
    assert [decoded.errors[1].message, decoded.errors[5].message] == [
        "`id`: required, but missing",
        "`inner.id`: required, but missing",
    ]
    rows = decoded.batch.to_pylist()
    plain = {"id": 5, "with": 7, **nulls}
    assert [rows[0], rows[2], rows[4]] == [plain, plain, plain | {"g": {"x": 3}}]
    assert decoded.observed.extra == {"inner": 6, "e #": 1, "[beyond]": 1}


def test_a_required_column_insists_on_what_can_be_absent() -> None:
    schema = compiled("message M { optional int32 x = 1; message I { optional int32 y = 1; } repeated I list = 2; }")
    item = pa.struct([pa.field("y", pa.int32(), nullable=False)])
    columns = pa.schema([pa.field("x", pa.int32(), nullable=False), pa.field("list", pa.list_(item))])
    whole, empty = encoded(schema, {"x": 0, "list": [{"y": 1}]}), encoded(schema, {"x": 1, "list": [{"y": 1}, {}]})
    decoded = decode(columns, schema, whole, b"", empty, whole)
    assert {row: error.message for row, error in decoded.errors.items()} == {
        1: "`x` is required, but missing",
        2: "`list[].y` is required, but missing",
    }
    assert decoded.batch.to_pylist()[3] == {"x": 0, "list": [{"y": 1}]}


def test_types_that_hold_themselves_are_read_as_deep_as_the_table_goes() -> None:
    schema = compiled("message M { int32 x = 1; M next = 2; }")
    inner = pa.struct([("x", pa.int32()), ("next", pa.struct([("x", pa.int32())]))])
    value = encoded(schema, {"x": 1, "next": {"x": 2, "next": {"x": 3, "next": {"x": 4}}}})
    decoded = decode(pa.schema([("x", pa.int32()), ("next", inner)]), schema, value, b"")
    assert decoded.batch.to_pylist()[0] == {"x": 1, "next": {"x": 2, "next": {"x": 3}}}
    assert decoded.observed.extra == {"next.next.next": 2}
    deep = b""
    for _ in range(150):
        length = bytes([len(deep)]) if len(deep) < 128 else bytes([len(deep) & 0x7F | 0x80, len(deep) >> 7])
        deep = b"\x12" + length + deep
    assert reasons(decode(pa.schema([("x", pa.int32())]), schema, deep, value)) == {0: "not_protobuf"}


def test_a_column_that_the_type_cannot_fill_refuses_its_records_and_says_why() -> None:
    decoded = decode(pa.schema([("id", pa.string())]), SCHEMA, b"", b"")
    assert {error.message for error in decoded.errors.values()} == {"`id`: the writer has int64, which is no string"}
    required = decode(pa.schema([pa.field("later", pa.string(), nullable=False)]), SCHEMA, b"")
    assert reasons(required) == {0: "missing_field"}


GUID = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")
NESTED = b"\x04\x00\x02"  # two indexes: 0, then 1: behind the entry of the map, which the compiler puts first
REGISTRY = RegistrySchemas(
    {
        7: WriterSchema(compiled=SCHEMA, kind="PROTOBUF"),
        str(GUID): WriterSchema(compiled=SCHEMA, kind="PROTOBUF"),
        f"glue:{GUID}": WriterSchema(compiled=SCHEMA, kind="PROTOBUF"),
    },
    glue=True,
)
TWO = pa.schema([("id", pa.int64()), ("text", pa.string())])
N = encoded(SCHEMA, {"text": "n", "id": 3}, "N")


@pytest.mark.parametrize(
    ("value", "header", "row"),
    [
        (b"\x00\x00\x00\x00\x07\x00" + encoded(SCHEMA, {"id": 5}), None, {"id": 5, "text": None}),
        (b"\x00\x00\x00\x00\x07\x02\x00" + encoded(SCHEMA, {"id": 5}), None, {"id": 5, "text": None}),
        (b"\x00\x00\x00\x00\x07\x02\x02" + N, None, {"id": 3, "text": "n"}),
        (N, b"\x01" + GUID.bytes + b"\x02\x02", {"id": 3, "text": "n"}),
        (N, b"\x00\x00\x00\x00\x07\x02\x02", {"id": 3, "text": "n"}),
        (b"\x03\x00" + GUID.bytes + b"\x03" + N, None, {"id": 3, "text": "n"}),
        (b"\x00\x00\x00\x00\x07\x00", None, {"id": 0, "text": None}),
    ],
    ids=["first", "first-written-out", "second", "header", "id-in-header", "glue", "empty"],
)
def test_a_record_says_which_message_it_is(value: bytes, header: bytes | None, row: dict[str, object]) -> None:
    decoder: ProtobufDecoder = pickle.loads(pickle.dumps(ProtobufDecoder(TWO, REGISTRY)))
    headers = pa.array([write_headers([Header("__value_schema_id", header)]) if header else None], pa.string())
    decoded = decoder.decode(pa.array([value], pa.binary()), headers)
    assert decoded.errors == {}
    assert decoded.batch.to_pylist() == [row]


@pytest.mark.parametrize(
    ("value", "header", "reason"),
    [
        (b"\x00\x00\x00\x00\x07", None, "no_schema_id"),
        (b"\x00\x00\x00\x00\x07\x01", None, "no_schema_id"),
        (b"\x00\x00\x00\x00\x07\x08\x00", None, "no_schema_id"),
        (b"\x00\x00\x00\x00\x07\xff\xff\xff\xff\xff\xff", None, "no_schema_id"),
        (b"\x00\x00\x00\x00\x07\x02\x08", None, "schema_unusable"),
        (b"\x00\x00\x00\x00\x08\x00", None, "unknown_schema"),
        (b"\x00\x80\x00\x00\x00\x00", None, "unknown_schema"),
        (N, b"\x01" + GUID.bytes, "no_schema_id"),
        (N, b"\x01" + GUID.bytes + b"\x02\x02\x02", "no_schema_id"),
        (b"\x03\x00" + GUID.bytes, None, "no_schema_id"),
        (b"\x03\x00" + GUID.bytes + b"\x7f", None, "schema_unusable"),
    ],
)
def test_one_that_does_not_is_refused_alone(value: bytes, header: bytes | None, reason: str) -> None:
    good = b"\x00\x00\x00\x00\x07\x02\x02" + N
    headers = pa.array([None, write_headers([Header("__value_schema_id", header)]) if header else None], pa.string())
    decoded = ProtobufDecoder(TWO, REGISTRY).decode(pa.array([good, value], pa.binary()), headers)
    assert reasons(decoded) == {1: reason}
    assert decoded.batch.to_pylist()[0] == {"id": 3, "text": "n"}
    assert decoded.observed.unresolved == ({8} if value[4:5] == b"\x08" else set())
