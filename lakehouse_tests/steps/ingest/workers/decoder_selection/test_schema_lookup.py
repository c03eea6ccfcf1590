"""A step asks for the schemas that it can expect, and for those that its workers met; an answer may be a refusal."""

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from lakehouse.declarations import Avro, Stream, ToTable
from lakehouse.engines.registries import ConfluentRegistry, GlueRegistry
from lakehouse.formats.frames import RegistrySchemas, WriterSchema
from lakehouse.settings import GlueRegistrySettings, KafkaSettings, RegistrySettings
from lakehouse.steps.ingest.workers.decoder_selection import schema_lookup
from lakehouse.steps.ingest.workers.decoder_selection.schema_lookup import (
    MOST_REMEMBERED,
    NoRegistry,
    SchemaLookup,
    remembered_ids,
)
from lakehouse_tests.formats.avro.writing import record

INT_RECORD = record(("x", "int"))
STREAM = Stream(name="s", topic="lookup", route=ToTable("a.b"), format=Avro(registry=True))


def test_a_stream_whose_records_name_no_schema_asks_for_none() -> None:
    assert (
        SchemaLookup.of(Stream(name="s", topic="t", route=ToTable("a.b")), KafkaSettings(bootstrap_servers="b:1"))
        is None
    )


def test_records_that_name_their_schema_need_a_registry() -> None:
    with pytest.raises(NoRegistry, match="Stream s: its records name their schemas, and the settings name no registry"):
        SchemaLookup.of(STREAM, KafkaSettings(bootstrap_servers="b:1"))


@pytest.mark.slow
def test_what_the_registry_says_is_a_schema_or_the_reason_of_its_records(schema_registry: RegistrySettings) -> None:
    client = SchemaRegistryClient({"url": schema_registry.url})
    avro = client.register_schema("lookup-value", Schema(INT_RECORD, "AVRO"))
    protobuf = client.register_schema(
        "lookup-protobuf", Schema('syntax = "proto3"; message M { int32 x = 1; }', "PROTOBUF")
    )
    lookup = SchemaLookup(["AVRO"], ConfluentRegistry(schema_registry))
    assert lookup.first(STREAM, {}) == RegistrySchemas({avro: WriterSchema(INT_RECORD)})
    more = lookup.more(lookup.first(STREAM, {}), [protobuf, 2**31 - 1])
    assert more.schemas == {avro: WriterSchema(INT_RECORD)}
    classes = {schema: error.error_class for schema, error in more.refused.items()}
    assert classes == {protobuf: "schema_unusable", 2**31 - 1: "unknown_schema"}


@pytest.mark.slow
def test_a_flood_of_ids_is_not_asked_for(schema_registry: RegistrySettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_lookup, "MOST_SCHEMAS", 2)
    known = SchemaLookup(["AVRO"], ConfluentRegistry(schema_registry)).more(
        RegistrySchemas(), range(1_000_000, 1_000_005)
    )
    messages = [error.message for error in known.refused.values()]
    assert [message.startswith("the registry has no schema") for message in messages] == [True] * 2 + [False] * 3
    assert messages[-1] == "schema 1000004 was not asked for: a step asks for 2 at most"


def test_glue_alone_is_asked_for_its_own_ids(glue_registry: GlueRegistrySettings) -> None:
    kafka = KafkaSettings(bootstrap_servers="b:1", glue_registry=glue_registry)
    lookup = SchemaLookup.of(STREAM, kafka)
    assert lookup is not None
    assert lookup.first(STREAM, {}) == RegistrySchemas(confluent=False, glue=True)
    version = GlueRegistry(glue_registry).register("lookup", INT_RECORD)
    known = lookup.first(STREAM, {})
    assert known.schemas == {f"glue:{version}": WriterSchema(INT_RECORD)}
    more = lookup.more(known, [7, "glue:01234567-89ab-cdef-0123-456789abcdef"])
    assert [error.error_class for error in more.refused.values()] == ["unknown_schema"] * 2


def test_a_schema_that_does_not_compile_refuses_its_records_and_no_others(glue_registry: GlueRegistrySettings) -> None:
    registry = GlueRegistry(glue_registry)
    good = registry.register("good", 'syntax = "proto3"; message M { int32 x = 1; }', "PROTOBUF")
    bad = registry.register("bad", 'syntax = "proto3"; import "missing.proto"; message M {}', "PROTOBUF")
    lookup = SchemaLookup(["PROTOBUF"], glue=registry)
    known = lookup.more(lookup.nothing, [f"glue:{good}", f"glue:{bad}"])
    assert list(known.schemas) == [f"glue:{good}"]
    assert known.refused[f"glue:{bad}"].error_class == "schema_unusable"
    assert "missing.proto" in known.refused[f"glue:{bad}"].message


def test_a_seal_carries_on_what_its_records_did_not_name() -> None:
    assert remembered_ids({}, ["7", "glue:a"]) == ["7", "glue:a"]
    assert len(remembered_ids({}, map(str, range(2 * MOST_REMEMBERED)))) == MOST_REMEMBERED
