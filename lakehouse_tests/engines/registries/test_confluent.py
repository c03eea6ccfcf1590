"""What a real registry says of ids, subjects and references, and what a person hears where it says nothing."""

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient

from lakehouse.engines.registries import ConfluentRegistry, RegisteredSchema, RegistryUnavailable
from lakehouse.settings import RegistrySettings
from lakehouse_tests.formats.avro.writing import record

pytestmark = [pytest.mark.slow]
ONE = record(("x", "int"))


def test_what_is_registered_is_there_by_its_id_and_newest_of_its_subject(schema_registry: RegistrySettings) -> None:
    registry = ConfluentRegistry(schema_registry)
    schema_id = registry.register("confluent-value", ONE)
    assert ConfluentRegistry(schema_registry).register("confluent-value", ONE) == schema_id
    assert ConfluentRegistry(schema_registry).schema(schema_id) == RegisteredSchema("AVRO", ONE)
    assert registry.latest("confluent-value") == schema_id
    assert registry.register("confluent-value", record(("x", "int"), ("y", ["null", "int"]))) != schema_id


def test_what_is_not_there_is_nothing(schema_registry: RegistrySettings) -> None:
    registry = ConfluentRegistry(schema_registry)
    assert registry.schema(2**31 - 1) is None
    assert registry.schema("01234567-89ab-cdef-0123-456789abcdef") is None
    assert registry.latest("nobody-value") is None


def test_references_come_before_those_that_need_them(schema_registry: RegistrySettings) -> None:
    client = SchemaRegistryClient({"url": schema_registry.url})
    inner, middle = record(("x", "int"), name="Inner"), record(("inner", "Inner"), name="Middle")
    client.register_schema("inner", Schema(inner, "AVRO"))
    of_inner = SchemaReference("Inner", "inner", 1)
    client.register_schema("middle", Schema(middle, "AVRO", [of_inner]))
    outer = record(("middle", "Middle"), ("inner", "Inner"), name="Outer")
    schema_id = client.register_schema(
        "outer", Schema(outer, "AVRO", [of_inner, SchemaReference("Middle", "middle", 1)])
    )
    found = ConfluentRegistry(schema_registry).schema(schema_id)
    assert found == RegisteredSchema("AVRO", outer, (("Inner", inner), ("Middle", middle)))


def test_a_registry_that_is_down_is_named_without_its_password() -> None:
    registry = ConfluentRegistry(RegistrySettings(url="http://user:secret@127.0.0.1:1/path", timeout_seconds=1))
    with pytest.raises(RegistryUnavailable, match=r"http://127\.0\.0\.1:1/path does not say") as refusal:
        registry.schema(7)
    assert "secret" not in str(refusal.value)


def test_a_registry_that_refuses_is_not_one_that_has_nothing(schema_registry: RegistrySettings) -> None:
    client = SchemaRegistryClient({"url": schema_registry.url})
    client.register_schema("strict-value", Schema(ONE, "AVRO"))
    client.set_compatibility("strict-value", "BACKWARD")
    with pytest.raises(RegistryUnavailable, match="HTTP 409"):
        ConfluentRegistry(schema_registry).register("strict-value", record(("other", "string")))
