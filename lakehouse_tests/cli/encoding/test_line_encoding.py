"""Which switches go together, and in which registry a schema ends."""

import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from lakehouse.cli.encoding.line_encoding import CannotEncode, LineEncoding, Registry
from lakehouse.engines.registries import ConfluentRegistry, GlueRegistry, RegisteredSchema
from lakehouse.formats.encoding import NotEncodable
from lakehouse.formats.frames import RegistrySchemas, glue
from lakehouse.settings import GlueRegistrySettings, KafkaSettings, RegistrySettings

TEXT = 'syntax = "proto3"; import "part.proto"; message Other {} message M { int32 x = 1; }'


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    (tmp_path / "part.proto").write_text('syntax = "proto3"; message Part {}', encoding="utf-8")
    path = tmp_path / "m.proto"
    path.write_text(TEXT, encoding="utf-8")
    return path


def context(**registries: object) -> Any:
    kafka = KafkaSettings(bootstrap_servers="b:1").model_copy(update=registries)
    return SimpleNamespace(settings=SimpleNamespace(kafka=kafka))


def test_lines_are_encoded_and_not_framed_where_nothing_is_registered(schema: Path) -> None:
    encode = LineEncoding(protobuf=schema, message="M").encode(context(), "t")
    assert encode is not None
    assert encode(b'{"x": 1}') == b"\x08\x01"
    assert LineEncoding().encode(context(), "t") is None


def test_a_valid_line_is_sent_as_it_is_and_its_schema_registered(
    tmp_path: Path, glue_registry: GlueRegistrySettings
) -> None:
    schema = tmp_path / "m.schema.json"
    schema.write_text('{"required": ["x"]}', encoding="utf-8")
    encode = LineEncoding(json_schema=schema).encode(context(), "t")
    assert encode is not None
    assert encode(b'{ "x": 1}') == b'{ "x": 1}'
    with pytest.raises(NotEncodable, match='"x" is a required property'):
        encode(b"{}")
    registered = LineEncoding(json_schema=schema, register=True).encode(context(glue_registry=glue_registry), "json")
    assert registered is not None
    version = GlueRegistry(glue_registry).latest("json")
    assert registered(b'{"x":1}') == glue.write_frame(uuid.UUID(version), b'{"x":1}')
    assert GlueRegistry(glue_registry).schema(str(version)) == RegisteredSchema("JSON", '{"required": ["x"]}')


def test_a_registry_is_chosen_where_there_are_two_and_named_where_there_is_none(schema: Path) -> None:
    both = context(schema_registry=RegistrySettings(url="http://r"), glue_registry=GlueRegistrySettings())
    with pytest.raises(CannotEncode, match="the settings name two registries"):
        LineEncoding(protobuf=schema, message="M", register=True).encode(both, "t")
    with pytest.raises(CannotEncode, match="the settings name no registry of glue"):
        LineEncoding(protobuf=schema, message="M", register=True, registry=Registry.GLUE).encode(context(), "t")
    with pytest.raises(CannotEncode, match="Confluent's way compresses nothing"):
        LineEncoding(protobuf=schema, message="M", register=True, registry=Registry.CONFLUENT, compress=True).encode(
            both, "t"
        )


def test_glue_takes_a_schema_without_imports(schema: Path, glue_registry: GlueRegistrySettings) -> None:
    settings = context(glue_registry=glue_registry)
    encoding = LineEncoding(protobuf=schema, message="M", register=True, compress=True)
    with pytest.raises(CannotEncode, match="AWS Glue knows no imports"):
        encoding.encode(settings, "t")
    schema.write_text(TEXT.replace('import "part.proto"; ', ""), encoding="utf-8")
    encode = encoding.encode(settings, "t")
    assert encode is not None
    record = encode(b'{"x": 1}')
    version = GlueRegistry(glue_registry).latest("t")
    assert record[:18] == b"\x03\x05" + uuid.UUID(version).bytes
    framed = RegistrySchemas(confluent=False, glue=True).framed(pa.array([record], pa.binary()), None)
    assert framed.values[0].as_py()[glue.FRAME :] == b"\x00\x08\x01"  # M is before Other by its name


@pytest.mark.slow
def test_confluents_registry_takes_imports_as_references(schema: Path, schema_registry: RegistrySettings) -> None:
    settings = context(schema_registry=schema_registry)
    encode = LineEncoding(protobuf=schema, message="M", register=True).encode(settings, "encoders")
    assert encode is not None
    record = encode(b'{"x": 1}')
    registered = ConfluentRegistry(schema_registry).schema(int.from_bytes(record[1:5], "big"))
    assert registered is not None
    assert [name for name, _ in registered.references] == ["part.proto"]
    assert record[5:] == b"\x02\x02\x08\x01"
