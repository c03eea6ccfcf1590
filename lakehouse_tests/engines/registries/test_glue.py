"""What AWS Glue says of versions and names, and what a person hears where it says nothing."""

import pytest

from lakehouse.engines.registries import GlueRegistry, RegisteredSchema, RegistryUnavailable
from lakehouse.settings import GlueRegistrySettings
from lakehouse_tests.fixtures.no_registry import answering
from lakehouse_tests.formats.avro.writing import record

INT_RECORD = record(("x", "int"))
NOBODY = "01234567-89ab-cdef-0123-456789abcdef"


def test_what_is_registered_is_there_by_its_id_and_newest_of_its_name(glue_registry: GlueRegistrySettings) -> None:
    registry = GlueRegistry(glue_registry)
    version = registry.register("things", INT_RECORD)
    assert GlueRegistry(glue_registry).register("things", INT_RECORD) == version
    assert GlueRegistry(glue_registry).schema(version) == RegisteredSchema("AVRO", INT_RECORD)
    assert registry.latest("things") == version
    other = registry.register("things", record(("x", "int"), ("y", ["null", "int"])))
    assert other != version
    assert registry.latest("things") == other
    protobuf = 'syntax = "proto3"; message M { int32 x = 1; }'
    assert registry.schema(registry.register("messages", protobuf, "PROTOBUF")) == RegisteredSchema(
        "PROTOBUF", protobuf
    )


def test_what_is_not_there_is_nothing(glue_registry: GlueRegistrySettings) -> None:
    assert GlueRegistry(glue_registry).schema(NOBODY) is None
    assert GlueRegistry(glue_registry).latest("nobody") is None


def test_a_registry_that_is_down_is_named_by_its_kind_of_error() -> None:
    settings = GlueRegistrySettings(
        region="eu-west-1", endpoint_url="http://user:secret@127.0.0.1:1", timeout_seconds=0.2
    )
    with pytest.raises(RegistryUnavailable, match=r"of AWS Glue in eu-west-1 does not say") as refusal:
        GlueRegistry(settings).schema(NOBODY)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("body", [b"<html>", b'{"__type": "AccessDeniedException", "Message": "no"}', b"{}"])
def test_a_server_that_is_no_registry_says_nothing_of_a_schema(monkeypatch: pytest.MonkeyPatch, body: bytes) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with answering(404, body) as url:
        settings = GlueRegistrySettings(region="eu-west-1", endpoint_url=url, timeout_seconds=5)
        for question in (GlueRegistry(settings).schema, GlueRegistry(settings).latest):
            with pytest.raises(RegistryUnavailable, match="does not say"):
                question(NOBODY)
