"""A registry of Confluent's kind, by Confluent's own client: Confluent's, Apicurio's `ccompat`, Karapace, Redpanda."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from pydantic import SecretStr

from lakehouse.errors import LakehouseError
from lakehouse.settings import RegistrySettings

if TYPE_CHECKING:
    from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

_Answer = TypeVar("_Answer")
MOST_REFERENCES = 100
_NOT_FOUND = 404


class RegistryUnavailable(LakehouseError):
    """The registry gives no answer, or not to us; nothing was published."""


@dataclass(frozen=True)
class RegisteredSchema:
    """A schema as the registry has it.

    Attributes:
        kind: `AVRO`, `PROTOBUF` or `JSON`.
        text: of the schema.
        references: texts of the schemas that it refers to, each after those that it needs itself.
    """

    kind: str
    text: str
    references: tuple[str, ...] = ()


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
            answer = self._ask(f"schema {schema_id}", lambda: client.get_schema_by_guid(schema_id))
        if answer is None:
            return None
        references: dict[tuple[str, int], str] = {}
        self._collect(answer, references)
        schema = RegisteredSchema(answer.schema_type or "AVRO", answer.schema_str or "", tuple(references.values()))
        self._known[schema_id] = schema
        return schema

    def latest(self, subject: str) -> int | None:
        """The id of the newest version of a subject; nothing where there is no such subject.

        Raises:
            RegistryUnavailable: there is no answer.
        """
        client = self._client
        version = self._ask(f"subject {subject}", lambda: client.get_latest_version(subject))
        return None if version is None else version.schema_id

    def register(self, subject: str, text: str) -> int:
        """Register an Avro schema under a subject, and return its id; the same one where it is there already.

        Raises:
            RegistryUnavailable: the registry gives no answer, or refuses, as it does where versions are incompatible.
        """
        from confluent_kafka.schema_registry import Schema

        client = self._client
        answer = self._ask(f"subject {subject}", lambda: client.register_schema(subject, Schema(text, "AVRO")))
        if answer is None:
            raise self._unavailable(f"subject {subject}", "404")
        return answer

    def _collect(self, schema: "Schema", references: dict[tuple[str, int], str]) -> None:
        """The schemas that one refers to, depth first; in a circle, which no registry takes, each once."""
        client = self._client
        for reference in schema.references or []:
            subject, version = str(reference.subject), int(reference.version or 1)
            if (subject, version) in references or len(references) >= MOST_REFERENCES:
                continue
            references[subject, version] = ""
            answer = self._ask(
                f"version {version} of subject {subject}", lambda s=subject, v=version: client.get_version(s, v)
            )
            if answer is None:
                continue
            self._collect(answer.schema, references)
            del references[subject, version]  # so that it comes after those that it needs
            references[subject, version] = answer.schema.schema_str or ""

    def _ask(self, what: str, question: Callable[[], _Answer]) -> _Answer | None:
        from confluent_kafka.schema_registry.error import SchemaRegistryError

        try:
            return question()
        except SchemaRegistryError as error:
            if error.http_status_code == _NOT_FOUND:
                return None
            raise self._unavailable(what, f"HTTP {error.http_status_code}: {error.error_message}") from None
        except Exception as error:  # noqa: BLE001 # whatever its HTTP client raises; its text may hold an address with a password
            raise self._unavailable(what, type(error).__name__) from None

    def _unavailable(self, what: str, why: str) -> RegistryUnavailable:
        parts = urlsplit(self._settings.url)
        where = f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
        return RegistryUnavailable(
            f"The schema registry {where} does not say what {what} is ({why}).",
            remedy="see whether it runs and lets you in, then run again: nothing was published, and nothing is lost.",
        )
