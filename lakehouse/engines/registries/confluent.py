"""A registry of Confluent's kind, by Confluent's own client: Confluent's, Apicurio's `ccompat`, Karapace, Redpanda."""

from collections.abc import Callable, Sequence
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from pydantic import SecretStr

from lakehouse.engines.registries.registered_schema import RegisteredSchema, RegistryUnavailable, no_answer
from lakehouse.settings import RegistrySettings

if TYPE_CHECKING:
    from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

_Answer = TypeVar("_Answer")
MOST_REFERENCES = 100
_MISSING = range(40400, 40500)
_NOBODY = "lakehouse-asks-whether-this-is-a-registry"


class _NothingUnderAddress(RegistryUnavailable):
    """A 404 that no registry says of a schema."""


class ConfluentRegistry:
    """Asks the registry; what it has said of an id stays so, and is asked once."""

    def __init__(self, settings: RegistrySettings) -> None:
        """Connects to nothing yet."""
        self._settings = settings
        self._known: dict[int | str, RegisteredSchema] = {}

    @cached_property
    def _client(self) -> "SchemaRegistryClient":
        try:
            from confluent_kafka.schema_registry import SchemaRegistryClient
        except ModuleNotFoundError as error:
            raise RegistryUnavailable(
                f"Confluent's client for schema registries is not installed ({error.name} is missing).",
                remedy="pip install 'sealed-lakehouse[registry]'.",
            ) from None
        properties: dict[str, Any] = {
            name: value.get_secret_value() if isinstance(value, SecretStr) else value
            for name, value in self._settings.properties.items()
        }
        limits = {"timeout": self._settings.timeout_seconds, "max.retries": 2, "retries.max.wait.ms": 2000}
        return SchemaRegistryClient({**properties, "url": self._settings.url, **limits})

    def schema(self, schema_id: int | str) -> RegisteredSchema | None:
        """A schema by its id, or nothing where the registry has none of that id.

        Args:
            schema_id: a number, or a UUID as text.

        Raises:
            RegistryUnavailable: there is no answer.
        """
        if schema_id in self._known:
            return self._known[schema_id]
        client = self._client
        if isinstance(schema_id, int):
            answer = self._ask(f"schema {schema_id}", lambda: client.get_schema(schema_id))
        else:
            answer = self._by_guid(client, schema_id)
        if answer is None:
            return None
        references: dict[str, str] = {}
        self._collect(answer, references)
        schema = RegisteredSchema(answer.schema_type or "AVRO", answer.schema_str or "", tuple(references.items()))
        self._known[schema_id] = schema
        return schema

    def _by_guid(self, client: "SchemaRegistryClient", guid: str) -> "Schema | None":
        """A schema by its UUID; a registry that knows no UUIDs, as Apicurio, has none: a bad header stops no stream."""
        try:
            return self._ask(f"schema {guid}", lambda: client.get_schema_by_guid(guid))
        except _NothingUnderAddress:
            self.latest(_NOBODY)  # where this address is no registry's, neither is the other
            return None

    def latest(self, subject: str) -> int | None:
        """The id of the newest version of a subject; nothing where there is no such subject.

        Raises:
            RegistryUnavailable: there is no answer.
        """
        client = self._client
        version = self._ask(f"subject {subject}", lambda: client.get_latest_version(subject))
        return None if version is None else version.schema_id

    def register(self, subject: str, text: str, kind: str = "AVRO", needed: Sequence[tuple[str, str]] = ()) -> int:
        """Register a schema under a subject, and return its id; the same one where it is there already.

        Args:
            subject: its name.
            text: of the schema.
            kind: `AVRO`, `PROTOBUF` or `JSON`.
            needed: name and text of the schemas that it refers to, each after those that it needs itself. Each is
                registered under its name.

        Raises:
            RegistryUnavailable: the registry gives no answer, or refuses, as it does where versions are incompatible.
        """
        from confluent_kafka.schema_registry import Schema, SchemaReference

        client = self._client
        references: list[SchemaReference] = []
        for name, needed_text in needed:
            needed_schema = Schema(needed_text, kind, list(references))
            what = f"subject {name}"
            self._ask(what, lambda n=name, s=needed_schema: client.register_schema(n, s))
            version = self._ask(what, lambda n=name, s=needed_schema: client.lookup_schema(n, s))
            if version is None:
                raise self._unavailable(what, "it is not there after it was registered")
            references.append(SchemaReference(name, name, version.version))
        schema = Schema(text, kind, references)
        answer = self._ask(f"subject {subject}", lambda: client.register_schema(subject, schema))
        if answer is None:
            raise self._unavailable(f"subject {subject}", "404")
        return answer

    def _collect(self, schema: "Schema", references: dict[str, str]) -> None:
        """The schemas that one refers to, depth first; in a circle, which no registry takes, each once."""
        client = self._client
        for reference in schema.references or []:
            name, subject, version = str(reference.name), str(reference.subject), int(reference.version or 1)
            if name in references or len(references) >= MOST_REFERENCES:
                continue
            references[name] = ""
            answer = self._ask(
                f"version {version} of subject {subject}",
                # A subject that was deleted since is there for those who refer to it.
                lambda s=subject, v=version: client.get_version(s, v, deleted=True),
            )
            if answer is not None:
                self._collect(answer.schema, references)
            del references[name]  # so that it comes after those that it needs
            if answer is not None:
                references[name] = answer.schema.schema_str or ""

    def _ask(self, what: str, question: Callable[[], _Answer]) -> _Answer | None:
        from confluent_kafka.schema_registry.error import SchemaRegistryError

        try:
            return question()
        except SchemaRegistryError as error:
            # A server that has nothing under this address says 404 as well, and it is no registry that says so.
            if error.error_code in _MISSING:
                return None
            refusal = self._unavailable(what, f"HTTP {error.http_status_code}: {error.error_message}")
            if error.http_status_code == HTTPStatus.NOT_FOUND:
                refusal = _NothingUnderAddress(refusal.message, remedy=refusal.remedy)
            raise refusal from None
        except Exception as error:  # noqa: BLE001 # whatever its HTTP client raises; its text may hold an address with a password
            raise self._unavailable(what, type(error).__name__) from None

    def _unavailable(self, what: str, why: str) -> RegistryUnavailable:
        parts = urlsplit(self._settings.url)
        where = f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
        return no_answer(where, what, why)
