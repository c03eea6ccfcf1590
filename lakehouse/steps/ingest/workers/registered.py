"""The driver asks the registry for the schemas that records name; workers only get the answers.

Which ids a range of a topic has is known once it was read. So a step begins with those of the last seal, and with the
newest one of the topic's subject. Where its workers meet another id, that is asked for, and the range is read again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import msgspec

from lakehouse import seal_keys
from lakehouse.declarations import Avro, Stream
from lakehouse.engines.registries import ConfluentRegistry, RegisteredSchema
from lakehouse.errors import LakehouseError
from lakehouse.formats.avro import RegistrySchemas
from lakehouse.formats.decoded import SchemaId
from lakehouse.formats.verdict import RecordError
from lakehouse.protocol.seals.base import Base
from lakehouse.settings import KafkaSettings

MOST_SCHEMAS = 1000
"""So many ids one step asks for; bytes that are no ids at all can look like any number of them."""


class NoRegistry(LakehouseError):
    """A stream whose records name their schemas, and no registry that knows these."""


class SchemaLookup:
    """Asks for the schemas of one step."""

    def __init__(self, registry: ConfluentRegistry) -> None:
        """Takes the registry to ask."""
        self._registry = registry

    @classmethod
    def of(cls, stream: Stream, kafka: KafkaSettings) -> "SchemaLookup | None":
        """For a stream whose records name their schemas; nothing for another.

        Raises:
            NoRegistry: the settings name none.
        """
        if not isinstance(stream.format, Avro) or not stream.format.registry:
            return None
        if kafka.schema_registry is None:
            raise NoRegistry(
                f"Stream {stream.name}: its records name their schemas, and the settings name no registry.",
                remedy="write schema_registry with its url into the file of the Kafka in conf/kafka/.",
            )
        return cls(ConfluentRegistry(kafka.schema_registry))

    def first(self, stream: Stream, bases: Mapping[str, Base]) -> RegistrySchemas:
        """What a step can be expected to need.

        Raises:
            RegistryUnavailable: there is no answer.
        """
        newest = {self._registry.latest(f"{topic}-value") for topic in stream.topic_names}
        return self.more(RegistrySchemas(), {*_sealed(bases), *(schema for schema in newest if schema is not None)})

    def more(self, known: RegistrySchemas, ids: Iterable[SchemaId]) -> RegistrySchemas:
        """What is known, and what the registry says of some other ids.

        Raises:
            RegistryUnavailable: there is no answer.
        """
        texts, refused = dict(known.texts), dict(known.refused)
        for schema in sorted(set(ids) - texts.keys() - refused.keys(), key=str):
            if len(texts) + len(refused) >= MOST_SCHEMAS:
                message = f"schema {schema} was not asked for: a step asks for {MOST_SCHEMAS} at most"
                refused[schema] = RecordError("unknown_schema", message)
                continue
            answer = self._registry.schema(schema)
            refusal = _refusal(schema, answer)
            if refusal is not None:
                refused[schema] = refusal
            elif answer is not None:
                texts[schema] = (*answer.references, answer.text)
        return replace(known, texts=texts, refused=refused)


def _refusal(schema: SchemaId, answer: RegisteredSchema | None) -> RecordError | None:
    if answer is None:
        return RecordError("unknown_schema", f"the registry has no schema {schema}")
    if answer.kind != "AVRO":
        return RecordError("schema_unusable", f"schema {schema} is of {answer.kind}, and the stream of Avro")
    return None


def _sealed(bases: Mapping[str, Base]) -> set[SchemaId]:
    """The ids that the newest seals name."""
    ids: set[SchemaId] = set()
    for base in bases.values():
        keys = base.sealed.seal.statement if base.sealed else {}
        named = msgspec.json.decode(keys.get(seal_keys.FORMAT_SCHEMAS, "{}"), type=dict[str, int])
        ids |= {int(name) if name.isdecimal() else name for name in named}
    return ids
