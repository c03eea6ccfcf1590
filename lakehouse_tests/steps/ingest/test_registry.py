"""Records that name their schemas: the driver asks for them; unknown ones are refused, and silence loses nothing."""

import uuid
from dataclasses import replace

import msgspec
import pytest
from pyspark.sql import types as T  # noqa: N812

from lakehouse import seal_keys
from lakehouse.declarations import Avro, Protobuf
from lakehouse.engines.kafka import Record, send
from lakehouse.engines.registries import ConfluentRegistry, RegistryUnavailable
from lakehouse.formats.protobuf import compile_proto
from lakehouse.formats.protobuf.encoder import ProtobufEncoder
from lakehouse.formats.protobuf.message_indexes import write_confluent_indexes, write_glue_rank
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.history import last_seal
from lakehouse.settings import GlueRegistrySettings, RegistrySettings
from lakehouse.steps.ingest.workers.decoder_selection.schema_lookup import SchemaLookup, sealed_ids
from lakehouse_tests.fixtures.glue import glue_framed
from lakehouse_tests.fixtures.no_registry import answering
from lakehouse_tests.formats.avro.writing import encoded, record
from lakehouse_tests.steps.ingest.conftest import MakeLanding

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]
OLD = record(("id", "long"))
NEW = record(("text", "string"), ("id", "int"), ("more", ["null", "int"]))


def framed(schema_id: int, value: bytes) -> bytes:
    return b"\x00" + schema_id.to_bytes(4, "big") + value


def test_each_record_is_read_by_the_schema_that_it_names(
    landing: MakeLanding, schema_registry: RegistrySettings
) -> None:
    made = landing(format=Avro(registry=True), columns={"id": T.LongType(), "text": T.StringType()})
    registry = ConfluentRegistry(schema_registry)
    old = registry.register(f"{made.stream.topic}-value", OLD)
    elsewhere = registry.register("another-subject", NEW)
    stream = replace(made, kafka=made.kafka.model_copy(update={"schema_registry": schema_registry}))
    stream.send([framed(old, encoded(OLD, {"id": 1}))])
    stream.ingest(run_id="first")

    new = encoded(NEW, {"text": "two", "id": 2, "more": 7})
    stream.send(
        [framed(elsewhere, new), framed(2**31 - 1, new), framed(old, new), b"{}", framed(old, encoded(OLD, {"id": 3}))]
    )
    with answering(404, b"<html>not here</html>", "text/html") as no_registry:
        for silent in ("http://127.0.0.1:1", no_registry):
            kafka = made.kafka.model_copy(update={"schema_registry": RegistrySettings(url=silent, timeout_seconds=1)})
            with pytest.raises(RegistryUnavailable):
                replace(made, kafka=kafka).ingest(run_id="down")
    assert stream.column("raw.things", "id") == [1]
    assert stream.quarantined() == []

    report = stream.ingest(run_id="second")
    assert stream.rows("raw.things", "id", "text")[1:] == [{"id": 2, "text": "two"}, {"id": 3, "text": None}]
    assert stream.quarantined() == [(2, "unknown_schema"), (3, "not_avro"), (4, "no_schema_id")]
    assert report.schemas == {str(old): 2, str(elsewhere): 1, str(2**31 - 1): 1}
    assert report.extra_fields == {"more": 1}
    sealed = last_seal(stream.load("raw.things"))
    assert sealed is not None
    assert msgspec.json.decode(sealed.seal.statement[seal_keys.FORMAT_SCHEMAS]) == report.schemas
    assert stream.holds().read == 6


PROTO = 'syntax = "proto3"; import "parts/text.proto"; message Other {} message Thing { int64 id = 1; Text text = 2; }'
TEXT = 'syntax = "proto3"; message Text { string text = 1; }'
GLUE_PROTO = """syntax = "proto3";
message Thing { int64 id = 1; Text text = 2; uint64 more = 3; message Text { string text = 1; } }
"""


def test_registries_of_one_topic_are_told_apart_and_their_ids_remembered(
    landing: MakeLanding, schema_registry: RegistrySettings, glue_registry: GlueRegistrySettings
) -> None:
    text = T.StructType([T.StructField("text", T.StringType())])
    made = landing(format=Protobuf(registry=True), columns={"id": T.LongType(), "text": text})
    both = {"schema_registry": schema_registry, "glue_registry": glue_registry}
    stream = replace(made, kafka=made.kafka.model_copy(update=both))
    topic = made.stream.topic
    confluent = ConfluentRegistry(schema_registry)
    schema_id = confluent.register(f"{topic}-value", PROTO, "PROTOBUF", [("parts/text.proto", TEXT)])
    unknown = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")
    compress = glue_framed(glue_registry, topic, GLUE_PROTO, "PROTOBUF", compress=True)

    thing = ProtobufEncoder(compile_proto("t.proto", {"t.proto": PROTO, "parts/text.proto": TEXT}), "Thing")
    of_glue = ProtobufEncoder(compile_proto("g.proto", {"g.proto": GLUE_PROTO}), "Thing")
    value = [thing.encode(f'{{"id": {number}, "text": {{"text": "t"}}}}') for number in range(3)]
    second = write_confluent_indexes(thing.indexes)
    bomb = compress(b"\0" * (1 << 20))
    headers = [("__value_schema_id", framed(schema_id, second))]
    nobody = [("__value_schema_id", b"\x01" + unknown.bytes + second)]
    sent = [
        Record(framed(schema_id, second + value[0]), partition=0),
        Record(value[1], partition=0, headers=headers),
        Record(compress(write_glue_rank(of_glue.rank) + of_glue.encode('{"id": 2, "more": 9}')), partition=0),
        *(Record(broken, partition=0) for broken in (bomb, framed(schema_id, second + value[2])[:-1], b"\x04", None)),
        Record(value[1], partition=0, headers=nobody),
    ]
    send(stream.kafka, topic, sent)
    report = stream.ingest(run_id="first")
    assert stream.rows("raw.things", "id", "text") == [
        {"id": 0, "text": {"text": "t"}},
        {"id": 1, "text": {"text": "t"}},
        {"id": 2, "text": None},
    ]
    assert stream.quarantined() == [
        (3, "bad_compression"),
        (4, "not_protobuf"),
        (5, "no_schema_id"),
        (6, "tombstone"),
        (7, "unknown_schema"),
    ]
    assert report.schemas == {str(schema_id): 3, compress.id: 1, str(unknown): 1}
    assert report.extra_fields == {"more": 1}

    send(stream.kafka, topic, [Record(None, partition=0)])
    stream.ingest(run_id="without-a-schema")
    bases = read_bases(stream.catalog, ("raw.things",))
    assert set(sealed_ids(bases)) == {schema_id, str(unknown), compress.id}
    lookup = SchemaLookup.of(stream.stream, stream.kafka)
    assert lookup is not None
    assert set(lookup.first(stream.stream, bases).schemas) == {schema_id, compress.id}
    assert stream.holds().read == 9
