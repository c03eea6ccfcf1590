"""What is sent by hand is what the decoder reads, and where its type is in the schema."""

import pyarrow as pa
import pytest

from lakehouse.formats.encoding import NotEncodable
from lakehouse.formats.protobuf import MessageTypes
from lakehouse.formats.protobuf.encoder import ProtobufEncoder
from lakehouse_tests.formats.protobuf.writing import compiled, decode

SCHEMA = compiled(
    """import "google/protobuf/timestamp.proto";
    message Other {} message M { message A {} message I { int64 x = 1; google.protobuf.Timestamp at = 2; } }"""
)


def test_a_line_of_protobufs_json_is_a_message() -> None:
    value = ProtobufEncoder(SCHEMA, "M.I").encode('{"x": "5", "at": "2026-01-02T03:04:05Z"}')
    columns = pa.schema([("x", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
    [row] = decode(columns, SCHEMA, value, name="M.I").batch.to_pylist()
    assert (row["x"], row["at"].isoformat()) == (5, "2026-01-02T03:04:05+00:00")


@pytest.mark.parametrize("name", ["Other", "M", "M.A", "M.I"])
def test_the_type_says_where_it_is(name: str) -> None:
    encoder = ProtobufEncoder(SCHEMA, name)
    types = MessageTypes(SCHEMA)
    by_indexes, by_rank = types.by_indexes(encoder.indexes), types.by_rank(encoder.rank)
    assert by_indexes is not None
    assert by_rank is not None
    assert by_indexes.full_name == by_rank.full_name == name


@pytest.mark.parametrize("line", ["", "{", "[]", '{"y": 1}', '{"x": "one"}', '{"x": 1.5}'])
def test_another_line_is_refused(line: str) -> None:
    with pytest.raises(NotEncodable, match=r"^A line is no M\.I"):
        ProtobufEncoder(SCHEMA, "M.I").encode(line)


def test_a_type_that_is_not_there_is_named() -> None:
    with pytest.raises(NotEncodable, match="no message type Q"):
        ProtobufEncoder(SCHEMA, "Q")
    with pytest.raises(NotEncodable, match=r"has 2 message types \(Other, M\)"):
        ProtobufEncoder(SCHEMA)
