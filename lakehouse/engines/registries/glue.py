"""AWS Glue's schema registry, by AWS' own client; credentials come from AWS' own chain."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

from lakehouse.engines.registries.registered_schema import RegisteredSchema, no_answer
from lakehouse.errors import LakehouseError
from lakehouse.settings import GlueRegistrySettings
from lakehouse.settings.installed_package import require_extra

_Answer = TypeVar("_Answer")
_MISSING = "EntityNotFoundException"


class GlueRefuses(LakehouseError):
    """Glue does not take a schema."""


class GlueRegistry:
    """Asks the registry; what it has said of an id stays so, and is asked once."""

    def __init__(self, settings: GlueRegistrySettings) -> None:
        """Connects to nothing yet."""
        self._settings = settings
        self._known: dict[str, RegisteredSchema] = {}

    @cached_property
    def _client(self) -> Any:
        require_extra("aws", "botocore", "AWS Glue's schema registry")
        from botocore.config import Config
        from botocore.session import Session

        settings = self._settings
        seconds = settings.timeout_seconds
        config = Config(connect_timeout=seconds, read_timeout=seconds, retries={"total_max_attempts": 3})
        return Session(profile=settings.profile).create_client(
            "glue", region_name=settings.region, endpoint_url=settings.endpoint_url, config=config
        )

    def schema(self, version_id: str) -> RegisteredSchema | None:
        """A version of a schema by its UUID, or nothing where the registry has none of that id.

        Raises:
            RegistryUnavailable: there is no answer.
        """
        if version_id not in self._known:
            answer = self._ask(
                f"schema version {version_id}", lambda: self._client.get_schema_version(SchemaVersionId=version_id)
            )
            if answer is None or "SchemaDefinition" not in answer:
                return None
            self._known[version_id] = RegisteredSchema(answer["DataFormat"], answer["SchemaDefinition"])
        return self._known[version_id]

    def latest(self, name: str) -> str | None:
        """The UUID of the newest version of a schema; nothing where the registry has none of that name.

        Raises:
            RegistryUnavailable: there is no answer.
        """
        answer = self._ask(
            f"schema {name}",
            lambda: self._client.get_schema_version(
                SchemaId=self._schema_id(name), SchemaVersionNumber={"LatestVersion": True}
            ),
        )
        return None if answer is None else answer["SchemaVersionId"]

    def register(self, name: str, text: str, kind: str = "AVRO") -> str:
        """Register a version of a schema, and return its UUID; the same one where it is there already.

        Raises:
            RegistryUnavailable: there is no answer, or the schema is not compatible.
            GlueRefuses: the version is not available.
        """
        what = f"schema {name}"
        registry = {"RegistryName": self._settings.registry}
        answer = self._ask(
            what,
            lambda: self._client.register_schema_version(SchemaId=self._schema_id(name), SchemaDefinition=text),
        )
        if answer is None:
            answer = self._ask(
                what,
                lambda: self._client.create_schema(
                    RegistryId=registry,
                    SchemaName=name,
                    DataFormat=kind,
                    Compatibility="BACKWARD",
                    SchemaDefinition=text,
                ),
            )
        if answer is None:
            raise no_answer(self._where, f"registry {self._settings.registry}", "it is not there")
        status = answer.get("Status", answer.get("SchemaVersionStatus", "AVAILABLE"))
        if status == "FAILURE":
            raise GlueRefuses(
                f"AWS Glue refuses a version of schema {name}: it is not compatible with those before it.",
                remedy="change the schema, or its compatibility in Glue.",
            )
        return answer["SchemaVersionId"]

    def _schema_id(self, name: str) -> dict[str, str]:
        return {"RegistryName": self._settings.registry, "SchemaName": name}

    @property
    def _where(self) -> str:
        return f"of AWS Glue in {self._settings.region or 'the region of the environment'}"

    def _ask(self, what: str, question: Callable[[], _Answer]) -> _Answer | None:
        require_extra("aws", "botocore", "AWS Glue's schema registry")
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return question()
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code"))
            if code == _MISSING:
                return None
            raise no_answer(self._where, what, code) from None
        except BotoCoreError as error:  # its text may hold an address with a password
            raise no_answer(self._where, what, type(error).__name__) from None
