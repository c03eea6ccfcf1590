"""The driver asks registries for the schemas that records name; workers only get the answers.

Which ids a range of a topic has is known once it was read. So a step begins with those of the last seals, and with the
newest one of the topic's subject. Where its workers meet another id, that is asked for, and the range is read again.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import msgspec

from lakehouse import seal_keys
from lakehouse.declarations import Avro, JsonSchema, Mixed, Stream, names_schema
from lakehouse.engines.registries import ConfluentRegistry, GlueRegistry, RegisteredSchema
from lakehouse.errors import LakehouseError
from lakehouse.formats.decoded import SchemaId
from lakehouse.formats.frames import RegistrySchemas, SchemaKind, WriterSchema
from lakehouse.formats.frames.glue import PREFIX
from lakehouse.formats.protobuf import compile_proto
from lakehouse.formats.schema_errors import SchemaUnusable
from lakehouse.formats.verdict import RecordError
from lakehouse.protocol.seals.base import Base
from lakehouse.settings import KafkaSettings

MOST_SCHEMAS = 1000
"""So many ids one step asks for; bytes that are no ids at all can look like any number of them."""
MOST_REMEMBERED = 50
"""So many ids a seal carries on from the one before; the newest first."""
_KINDS = {"AVRO": "Avro", "PROTOBUF": "Protobuf", "JSON": "JSON Schema"}


class NoRegistry(LakehouseError):
    """A stream whose records name their schemas, and no registry that knows these."""


class SchemaLookup:
    """Asks for the schemas of one step."""

    def __init__(
        self,
        kinds: Collection[SchemaKind],
        confluent: ConfluentRegistry | None = None,
        glue: GlueRegistry | None = None,
    ) -> None:
        """Takes what a stream's records are written in, and the registries to ask."""
        self._kinds: tuple[SchemaKind, ...] = tuple(kinds)
        self._confluent, self._glue = confluent, glue

    @classmethod
    def of(cls, stream: Stream, kafka: KafkaSettings) -> "SchemaLookup | None":
        """For a stream whose records name their schemas; nothing for another.

        Raises:
            NoRegistry: the settings name none.
        """
        if not names_schema(stream.format):
            return None
        if kafka.schema_registry is None and kafka.glue_registry is None:
            raise NoRegistry(
                f"Stream {stream.name}: its records name their schemas, and the settings name no registry.",
                remedy="write schema_registry with its url, or glue_registry, into the file of the Kafka in "
                "conf/kafka/.",
            )
        return cls(
            _kinds(stream.format),
            ConfluentRegistry(kafka.schema_registry) if kafka.schema_registry else None,
            GlueRegistry(kafka.glue_registry) if kafka.glue_registry else None,
        )

    @property
    def nothing(self) -> RegistrySchemas:
        """What is known before anything was asked: how the registries' ids look in records."""
        return RegistrySchemas(confluent=self._confluent is not None, glue=self._glue is not None)

    def first(self, stream: Stream, bases: Mapping[str, Base]) -> RegistrySchemas:
        """What a step can be expected to need.

        Raises:
            RegistryUnavailable: there is no answer.
        """
        ids = set(sealed_ids(bases))
        for topic in stream.topic_names:
            if self._confluent and (newest := self._confluent.latest(f"{topic}-value")) is not None:
                ids.add(newest)
            if self._glue and (version := self._glue.latest(topic)) is not None:
                ids.add(f"{PREFIX}{version}")
        return self.more(self.nothing, ids)

    def more(self, known: RegistrySchemas, ids: Iterable[SchemaId]) -> RegistrySchemas:
        """What is known, and what the registries say of some other ids.

        Raises:
            RegistryUnavailable: there is no answer.
        """
        schemas, refused = dict(known.schemas), dict(known.refused)
        for schema in sorted(set(ids) - schemas.keys() - refused.keys(), key=str):
            if len(schemas) + len(refused) >= MOST_SCHEMAS:
                message = f"schema {schema} was not asked for: a step asks for {MOST_SCHEMAS} at most"
                refused[schema] = RecordError("unknown_schema", message)
                continue
            writer = self._writer(schema, self._ask(schema))
            if isinstance(writer, RecordError):
                refused[schema] = writer
            else:
                schemas[schema] = writer
        return replace(known, schemas=schemas, refused=refused)

    def _ask(self, schema: SchemaId) -> RegisteredSchema | None:
        if isinstance(schema, str) and schema.startswith(PREFIX):
            return self._glue.schema(schema.removeprefix(PREFIX)) if self._glue else None
        return self._confluent.schema(schema) if self._confluent else None

    def _writer(self, schema: SchemaId, answer: RegisteredSchema | None) -> WriterSchema | RecordError:
        if answer is None:
            return RecordError("unknown_schema", f"the registry has no schema {schema}")
        kind: SchemaKind | None = next((kind for kind in self._kinds if kind == answer.kind), None)
        if kind is None:
            own = " and ".join(_KINDS[kind] for kind in self._kinds)
            kinds = f"{_KINDS.get(answer.kind, answer.kind)}, and the stream of {own}"
            return RecordError("schema_unusable", f"schema {schema} is of {kinds}")
        compiled = b""
        if kind == "PROTOBUF":
            name = "schema.proto"
            try:
                compiled = compile_proto(name, {**dict(answer.references), name: answer.text})
            except SchemaUnusable as refusal:
                return RecordError("schema_unusable", f"schema {schema}: {refusal.message}")
        return WriterSchema(answer.text, answer.references, compiled, kind)


def _kinds(form: object) -> list[SchemaKind]:
    return [schema_kind(part) for part in (form.framed if isinstance(form, Mixed) else (form,))]


def schema_kind(form: object) -> SchemaKind:
    """What the schemas of a format are written in, as registries say it."""
    return "AVRO" if isinstance(form, Avro) else "JSON" if isinstance(form, JsonSchema) else "PROTOBUF"


def sealed_ids(bases: Mapping[str, Base]) -> list[SchemaId]:
    """The ids that the newest seals name, those of their own records first."""
    ids: dict[SchemaId, None] = {}
    for key, kind in ((seal_keys.FORMAT_SCHEMAS, dict[str, int]), (seal_keys.FORMAT_KNOWN_SCHEMAS, list[str])):
        for base in bases.values():
            keys = base.sealed.seal.statement if base.sealed else {}
            named: Iterable[str] = msgspec.json.decode(keys[key], type=kind) if key in keys else ()
            ids.update(dict.fromkeys(int(name) if name.isdecimal() else name for name in named))
    return list(ids)


def remembered_ids(bases: Mapping[str, Base], met: Iterable[str]) -> list[str]:
    """What a seal carries on, so that a run without records, or of one schema alone, forgets no other.

    Args:
        bases: with the newest seals.
        met: the ids of this run's records.
    """
    names = dict.fromkeys([*met, *(str(schema) for schema in sealed_ids(bases))])
    return list(names)[:MOST_REMEMBERED]
