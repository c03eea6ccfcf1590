"""What is sent by hand is what the decoder reads."""

import pyarrow as pa
import pytest

from lakehouse.formats.avro.encoder import AvroEncoder
from lakehouse.formats.encoding import NotEncodable
from lakehouse_tests.formats.avro.writing import decode, record

SCHEMA = record(("id", "long"), ("note", ["null", "string"]))


def test_a_line_of_avros_json_encoding_is_a_record() -> None:
    encoder = AvroEncoder(SCHEMA)
    values = [encoder.encode('{"id": 1, "note": {"string": "a"}}'), encoder.encode('{"id": 2, "note": null}')]
    columns = pa.schema([("id", pa.int64()), ("note", pa.string())])
    assert decode(columns, SCHEMA, *values).batch.to_pylist() == [{"id": 1, "note": "a"}, {"id": 2, "note": None}]


@pytest.mark.parametrize("line", ["", "{", '{"id": "x", "note": null}', '{"note": null}', '{"id": 1, "note": "bare"}'])
def test_another_line_is_refused_without_its_value(line: str) -> None:
    with pytest.raises(NotEncodable, match=r"^A line is no record of the schema") as refusal:
        AvroEncoder(SCHEMA).encode(line)
    assert "bare" not in str(refusal.value)


def test_a_schema_that_is_none_is_refused() -> None:
    with pytest.raises(NotEncodable, match="no Avro schema"):
        AvroEncoder('{"type": "record"}')
