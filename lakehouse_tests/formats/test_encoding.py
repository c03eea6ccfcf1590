"""Encoders of lines are one kind of thing, whatever they write."""

import pytest

from lakehouse.formats.avro.encoder import AvroEncoder
from lakehouse.formats.encoding import LineEncoder, NotEncodable
from lakehouse.formats.protobuf.encoder import ProtobufEncoder
from lakehouse_tests.formats.avro.writing import record
from lakehouse_tests.formats.protobuf.writing import compiled


@pytest.mark.parametrize(
    "encoder", [AvroEncoder(record(("x", "int"))), ProtobufEncoder(compiled("message M { int32 x = 1; }"))]
)
def test_a_line_is_refused_without_its_value(encoder: LineEncoder) -> None:
    assert encoder.encode('{"x": 1}') in (b"\x02", b"\x08\x01")
    with pytest.raises(NotEncodable) as refusal:
        encoder.encode('{"x": "secret"}')
    assert "secret" not in str(refusal.value)
