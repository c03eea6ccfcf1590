"""A step asks for the schemas that it can expect, and for those that its workers met; an answer may be a refusal."""

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from lakehouse.declarations import Avro, Stream, ToTable
from lakehouse.engines.registries import ConfluentRegistry
from lakehouse.formats.avro import RegistrySchemas
from lakehouse.settings import KafkaSettings, RegistrySettings
from lakehouse.steps.ingest.workers import registered
from lakehouse.steps.ingest.workers.registered import NoRegistry, SchemaLookup
from lakehouse_tests.formats.avro.writing import record

ONE = record(("x", "int"))
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
    avro = client.register_schema("lookup-value", Schema(ONE, "AVRO"))
    protobuf = client.register_schema(
        "lookup-protobuf", Schema('syntax = "proto3"; message M { int32 x = 1; }', "PROTOBUF")
    )
    lookup = SchemaLookup(ConfluentRegistry(schema_registry))
    assert lookup.first(STREAM, {}) == RegistrySchemas({avro: (ONE,)})
    more = lookup.more(lookup.first(STREAM, {}), [protobuf, 2**31 - 1])
    assert more.texts == {avro: (ONE,)}
    classes = {schema: error.error_class for schema, error in more.refused.items()}
    assert classes == {protobuf: "schema_unusable", 2**31 - 1: "unknown_schema"}


@pytest.mark.slow
def test_a_flood_of_ids_is_not_asked_for(schema_registry: RegistrySettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registered, "MOST_SCHEMAS", 2)
    known = SchemaLookup(ConfluentRegistry(schema_registry)).more(RegistrySchemas(), range(1_000_000, 1_000_005))
    messages = [error.message for error in known.refused.values()]
    assert [message.startswith("the registry has no schema") for message in messages] == [True] * 2 + [False] * 3
    assert messages[-1] == "schema 1000004 was not asked for: a step asks for 2 at most"
