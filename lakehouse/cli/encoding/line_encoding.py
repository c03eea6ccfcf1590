"""What encodes the lines that `lakehouse produce` sends, and which schema it registers for them."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from lakehouse.cli.context import Context
from lakehouse.declarations.formats.protobuf_format import Protobuf
from lakehouse.errors import LakehouseError
from lakehouse.formats.encoding import LineEncoder

Encode = Callable[[bytes], bytes]


class Registry(StrEnum):
    """Whose registry schemas are registered in."""

    CONFLUENT = "confluent"
    GLUE = "glue"


class CannotEncode(LakehouseError):
    """What is to be sent cannot be encoded, or its schema cannot be registered."""


@dataclass(frozen=True)
class LineEncoding:
    """How lines become records.

    Attributes:
        avro: the file of an Avro schema,
        protobuf: or of a Protobuf schema,
        json_schema: or a JSON Schema,
        message: of Protobuf, with the name of the message type, where it has several.
        register: whether the schema is registered, and records name it.
        registry: in which; without one, in the one that the settings have.
        compress: whether records are compressed by zlib, as AWS Glue's serializers do.
    """

    avro: Path | None = None
    protobuf: Path | None = None
    json_schema: Path | None = None
    message: str = ""
    register: bool = False
    registry: Registry | None = None
    compress: bool = False

    @property
    def schema(self) -> Path | None:
        """The file of the schema."""
        return self.avro or self.protobuf or self.json_schema

    def check(self, *, file: bool) -> None:
        """Refuse switches that do not go together.

        Raises:
            CannotEncode: says which.
        """
        schemas = sum(schema is not None for schema in (self.avro, self.protobuf, self.json_schema))
        if (schemas and not file) or schemas > 1 or (not schemas and (self.register or self.message)):
            raise CannotEncode(
                "--register and --message need a schema, and a schema the --file whose lines it encodes.",
                remedy="lakehouse produce <topic> --file <file> --avro|--protobuf|--json-schema <schema> [--register].",
            )
        if (self.registry or self.compress) and not self.register:
            raise CannotEncode("--registry and --compress need --register.", remedy="add it, or leave them out.")

    def encode(self, context: Context, topic: str) -> Encode | None:
        """What makes a record of a line; nothing, where lines are sent as they are.

        Raises:
            CannotEncode: the schema is no file, or the settings name no registry.
            NotEncodable: it is no schema.
            RegistryUnavailable: the registry does not take it.
        """
        if self.schema is None:
            return None
        if not self.schema.is_file():
            raise CannotEncode(f"{self.schema} is not a file.", remedy="name the file of a schema.")
        encoder = self._encoder()
        frame = self._frame(context, topic, encoder) if self.register else _unframed
        return lambda line: frame(encoder.encode(line.decode()))

    def _encoder(self) -> LineEncoder:
        if self.avro is not None:
            from lakehouse.formats.avro.encoder import AvroEncoder

            return AvroEncoder(self.avro.read_text(encoding="utf-8"))
        if self.json_schema is not None:
            from lakehouse.formats.json_schema.encoder import JsonSchemaEncoder

            return JsonSchemaEncoder(self.json_schema.read_text(encoding="utf-8"))
        from lakehouse.formats.protobuf.compiler import compile_proto
        from lakehouse.formats.protobuf.encoder import ProtobufEncoder

        form = Protobuf(self.protobuf, self.message)
        compiled = form.descriptor_set or compile_proto(form.sources[0][0], dict(form.sources))
        return ProtobufEncoder(compiled, self.message)

    def _frame(self, context: Context, topic: str, encoder: LineEncoder) -> Encode:
        from lakehouse.formats.frames import confluent, glue
        from lakehouse.formats.protobuf.encoder import ProtobufEncoder
        from lakehouse.formats.protobuf.message_indexes import write_confluent_indexes, write_glue_rank

        protobuf = encoder if isinstance(encoder, ProtobufEncoder) else None
        if self._chosen(context) is Registry.GLUE:
            version = uuid.UUID(self._in_glue(context, topic))
            rank = write_glue_rank(protobuf.rank) if protobuf else b""
            return lambda record: glue.write_frame(version, rank + record, compress=self.compress)
        if self.compress:
            raise CannotEncode("Confluent's way compresses nothing.", remedy="leave --compress out.")
        front = confluent.write_frame(self._in_confluent(context, topic))
        front += write_confluent_indexes(protobuf.indexes) if protobuf else b""
        return lambda record: front + record

    def _chosen(self, context: Context) -> Registry:
        kafka = context.settings.kafka
        there = {Registry.CONFLUENT: kafka.schema_registry, Registry.GLUE: kafka.glue_registry}
        named = [name for name, settings in there.items() if settings is not None and self.registry in (None, name)]
        if len(named) != 1:
            raise CannotEncode(
                "--register: the settings name two registries."
                if named
                else f"--register: the settings name no registry{f' of {self.registry}' if self.registry else ''}.",
                remedy="say --registry confluent or --registry glue."
                if named
                else "write schema_registry with its url, or glue_registry, into the file of the Kafka in conf/kafka/.",
            )
        return named[0]

    def _in_confluent(self, context: Context, topic: str) -> int:
        from lakehouse.engines.registries import ConfluentRegistry

        settings = context.settings.kafka.schema_registry
        assert settings is not None  # it was chosen
        registry = ConfluentRegistry(settings)
        [(_, text), *imported], kind = self._texts()
        return registry.register(f"{topic}-value", text, kind, imported)

    def _in_glue(self, context: Context, topic: str) -> str:
        from lakehouse.engines.registries import GlueRegistry

        settings = context.settings.kafka.glue_registry
        assert settings is not None  # it was chosen
        [(_, text), *imported], kind = self._texts()
        if imported:
            raise CannotEncode(
                f"AWS Glue knows no imports, and {self.schema} has some.", remedy="write all of it into a file."
            )
        return GlueRegistry(settings).register(topic, text, kind)

    def _texts(self) -> tuple[list[tuple[str, str]], str]:
        """Name and text of the schema, then of what it needs, each after those that it needs itself; and its kind."""
        from google.protobuf.descriptor_pb2 import FileDescriptorSet

        from lakehouse.formats.protobuf.compiler import compile_proto

        if self.json_schema is not None:
            return [(self.json_schema.name, self.json_schema.read_text(encoding="utf-8"))], "JSON"
        if self.avro is not None:
            return [(self.avro.name, self.avro.read_text(encoding="utf-8"))], "AVRO"
        form = Protobuf(self.protobuf, self.message)
        if not form.sources:
            raise CannotEncode("A registry takes no descriptor set.", remedy="name the .proto file.")
        texts, name = dict(form.sources), form.sources[0][0]
        in_order = FileDescriptorSet.FromString(compile_proto(name, texts)).file
        needed = [(file.name, texts[file.name]) for file in in_order if file.name in texts and file.name != name]
        return [(name, texts[name]), *needed], "PROTOBUF"


def _unframed(record: bytes) -> bytes:
    return record
