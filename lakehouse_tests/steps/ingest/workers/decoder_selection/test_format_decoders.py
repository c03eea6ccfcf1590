"""The format of a stream decides what reads the columns of a table."""

import pyarrow as pa
import pytest

from lakehouse.declarations import Avro, JsonSchema, Mixed, Protobuf, Raw, Stream, ToTable
from lakehouse.formats.avro import AvroDecoder
from lakehouse.formats.json import JsonDecoder
from lakehouse.formats.json_schema import JsonSchemaDecoder
from lakehouse.formats.mixed import MixedDecoder
from lakehouse.formats.protobuf import ProtobufDecoder
from lakehouse.formats.raw import RawDecoder
from lakehouse.steps.ingest.workers.decoder_selection.format_decoders import ReadFormat, format_decoder, table_decoder

COLUMNS = pa.schema([pa.field("id", pa.int64())])


@pytest.mark.parametrize(
    ("form", "decoder"),
    [
        (Raw(), RawDecoder),
        (Avro(registry=True), AvroDecoder),
        (Protobuf(registry=True), ProtobufDecoder),
        (JsonSchema(registry=True), JsonSchemaDecoder),
        (Mixed("json", Avro(registry=True)), MixedDecoder),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_format_has_its_decoder(form: Raw | Avro | Protobuf | JsonSchema | Mixed, decoder: type) -> None:
    assert type(format_decoder(form, None)(COLUMNS, {})) is decoder
    stream = Stream(name="orders", topic="orders", route=ToTable("shop.orders"), format=form)
    assert type(table_decoder(stream, COLUMNS, {}, None)) is decoder


def test_a_stream_without_a_format_of_its_own_is_json() -> None:
    stream = Stream(name="orders", topic="orders", route=ToTable("shop.orders"))
    assert type(table_decoder(stream, COLUMNS, {}, None)) is JsonDecoder


def test_a_decoder_that_takes_no_headers_is_asked_without_them() -> None:
    values = pa.array([b'{"id": 7}', b"{"], pa.binary())
    decoded = ReadFormat(JsonDecoder(COLUMNS))(values, pa.array([None, None], pa.string()))
    assert decoded.batch.slice(0, 1).to_pylist() == [{"id": 7}]
    assert len(decoded.errors) == 1
