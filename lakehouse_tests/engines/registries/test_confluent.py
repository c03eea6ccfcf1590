"""What a real registry says of ids, subjects and references, and what a person hears where it says nothing."""

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient

from lakehouse.engines.registries import ConfluentRegistry, RegisteredSchema, RegistryUnavailable
from lakehouse.settings import RegistrySettings
from lakehouse_tests.fixtures.no_registry import answering
from lakehouse_tests.formats.avro.writing import record

INT_RECORD = record(("x", "int"))


@pytest.mark.slow
def test_what_is_registered_is_there_by_its_id_and_newest_of_its_subject(schema_registry: RegistrySettings) -> None:
    registry = ConfluentRegistry(schema_registry)
    schema_id = registry.register("confluent-value", INT_RECORD)
    assert ConfluentRegistry(schema_registry).register("confluent-value", INT_RECORD) == schema_id
    assert ConfluentRegistry(schema_registry).schema(schema_id) == RegisteredSchema("AVRO", INT_RECORD)
    assert registry.latest("confluent-value") == schema_id
    assert registry.register("confluent-value", record(("x", "int"), ("y", ["null", "int"]))) != schema_id


@pytest.mark.slow
def test_what_is_not_there_is_nothing(schema_registry: RegistrySettings) -> None:
    registry = ConfluentRegistry(schema_registry)
    assert registry.schema(2**31 - 1) is None
    assert registry.schema("01234567-89ab-cdef-0123-456789abcdef") is None
    assert registry.latest("nobody-value") is None


@pytest.mark.slow
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
    schema = ConfluentRegistry(schema_registry).schema(schema_id)
    assert schema == RegisteredSchema("AVRO", outer, (("Inner", inner), ("Middle", middle)))


def test_a_registry_that_is_down_is_named_without_its_password() -> None:
    registry = ConfluentRegistry(RegistrySettings(url="http://user:secret@127.0.0.1:1/path", timeout_seconds=1))
    with pytest.raises(RegistryUnavailable, match=r"http://127\.0\.0\.1:1/path does not say") as refusal:
        registry.schema(7)
    assert "secret" not in str(refusal.value)


@pytest.mark.slow
def test_a_registry_that_refuses_is_not_one_that_has_nothing(schema_registry: RegistrySettings) -> None:
    client = SchemaRegistryClient({"url": schema_registry.url})
    client.register_schema("strict-value", Schema(INT_RECORD, "AVRO"))
    client.set_compatibility("strict-value", "BACKWARD")
    with pytest.raises(RegistryUnavailable, match="HTTP 409"):
        ConfluentRegistry(schema_registry).register("strict-value", record(("other", "string")))


NOT_REGISTRIES = {
    "a page": (404, b"<html>not here</html>", "text/html"),
    "another service": (404, b'{"error_code": 404, "message": "HTTP 404 Not Found"}', "application/json"),
    "an API gateway": (404, b'{"message": "no Route matched"}', "application/json"),
    "a registry of Apicurio under another path": (404, b'{"error_code": 0, "message": "?"}', "application/json"),
    "a login": (401, b'{"error_code": 40101, "message": "who are you"}', "application/json"),
    "a list": (200, b"[]", "application/json"),
    "no JSON": (200, b"hello", "text/plain"),
}


@pytest.mark.parametrize("answer", NOT_REGISTRIES.values(), ids=NOT_REGISTRIES)
def test_a_server_that_is_no_registry_says_nothing_of_a_schema(answer: tuple[int, bytes, str]) -> None:
    with answering(*answer) as url:
        registry = ConfluentRegistry(RegistrySettings(url=url, timeout_seconds=5))
        for question in (lambda: registry.schema(7), lambda: registry.latest("things-value")):
            with pytest.raises(RegistryUnavailable, match=f"{url} does not say"):
                question()


GUID = "01234567-89ab-cdef-0123-456789abcdef"
NOBODY = {"/subjects/": (404, b'{"error_code": 40401, "message": "not found"}')}


def test_a_registry_may_call_schemas_by_uuids() -> None:
    schema = b'{"schema": "\\"int\\""}'
    with answering(404, b'{"error_code": 40403, "message": "?"}', but={f"/schemas/guids/{GUID}": (200, schema)}) as url:
        registry = ConfluentRegistry(RegistrySettings(url=url, timeout_seconds=5))
        assert registry.schema(GUID) == RegisteredSchema("AVRO", '"int"')
        assert registry.schema(GUID.replace("0", "f")) is None


def test_a_registry_that_knows_no_uuids_has_none_and_another_server_says_nothing() -> None:
    with answering(404, b"", but=NOBODY) as url:
        assert ConfluentRegistry(RegistrySettings(url=url, timeout_seconds=5)).schema(GUID) is None
    with answering(404, b"") as url, pytest.raises(RegistryUnavailable):
        ConfluentRegistry(RegistrySettings(url=url, timeout_seconds=5)).schema(GUID)


@pytest.mark.parametrize("code", [40401, 40402, 40403])
def test_only_what_a_registry_says_is_missing_is_missing(code: int) -> None:
    with answering(404, b'{"error_code": %d, "message": "not found"}' % code) as url:
        registry = ConfluentRegistry(RegistrySettings(url=url, timeout_seconds=5))
        assert registry.schema(7) is None
        assert registry.latest("things-value") is None
