"""Where tables live: a file of `conf/catalogs/`."""

from collections.abc import Iterator
from typing import Literal, Self

from pydantic import ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from lakehouse.settings.catalogs.keys import KEYS, STORAGE_KEYS, Storage, keys_of
from lakehouse.settings.catalogs.storage import storage_of
from lakehouse.settings.database_address import require_database_address
from lakehouse.settings.models.section import Property, Section
from lakehouse.settings.plain_secret import hidden
from lakehouse.settings.secret import revealed
from lakehouse.settings.values import is_readable, problem_of_key, problem_of_name, problem_of_property

_ONE_BY_ONE = (
    "P2 does not hold: AWS Glue changes one table at a time, so a reader may see half a step. P1 holds: each table's "
    "seal says what it still needs, and the next run completes it."
)


class CatalogSettings(Section):
    """Where tables live: a file of `conf/catalogs/`. What it says becomes Spark's and PyIceberg's configuration.

    Attributes:
        name: the catalog's name, as the SQL catalog stores it with each table; Spark calls every catalog `lake`.
        type: `sql` (SQLite or PostgreSQL), `rest`, or `glue` (AWS Glue Data Catalog, where tables of one step change
            one after another).
        uri: a SQLAlchemy address, or the REST catalog's URL; of Glue only where it is not AWS' own. Spark's JDBC form
            is derived from it. References to secrets are allowed in it:
            `postgresql+psycopg://lake:${env:LAKE_PASSWORD}@host/lake`.
        warehouse: where new tables are put, an address without `#` and `?`; a REST catalog may take a name here.
        storage: where the tables' files are: `s3`, `gcs` or `adls`. Where the warehouse is an address it is known by
            that; a REST catalog whose warehouse is a name needs it, for Spark's FileIO and JARs.
        access: how clients reach the files of a REST catalog's tables: `vended` (the catalog lends credentials),
            `remote-signing` (it signs requests) or `static` (keys under `properties`). Where nothing is said, PyIceberg
            asks for vended credentials, and Spark does not.
        realm: Polaris' realm, the header `Polaris-Realm`. With it the warehouse is the name of a Polaris catalog.
        scope: of the token, such as `PRINCIPAL_ROLE:ALL`.
        oauth2_server_uri: where tokens are had, if not from the catalog itself.
        region: of the bucket in S3.
        endpoint: of a store that is not the cloud's own.
        path_style: whether buckets are a part of the path, as most stores want it that are not AWS' own.
        project: the Google Cloud project.
        account: the storage account in Azure.
        properties: further PyIceberg properties; `credential: ${env:NAME}` (`id:secret`) is the client's login.
    """

    name: str = "lake"
    type: Literal["sql", "rest", "glue"]
    uri: Property = ""
    warehouse: str
    storage: Storage | None = None
    access: Literal["vended", "remote-signing", "static"] | None = None
    realm: str | None = None
    scope: str | None = None
    oauth2_server_uri: str | None = None
    region: str | None = None
    endpoint: str | None = None
    path_style: bool | None = None
    project: str | None = None
    account: str | None = None
    properties: dict[str, Property] = {}

    @property
    def address(self) -> str:
        """The address in the clear; secrets are looked up here, so keep it out of messages.

        Raises:
            SettingsError: it is no address of a database, of a SQL catalog.
        """
        address = revealed(self.uri)
        if self.type == "sql":
            require_database_address(address, self.name)
        return address

    @property
    def reservation(self) -> str:
        """What every report says of a catalog that does not change the tables of one step together; empty of others."""
        return _ONE_BY_ONE if self.type == "glue" else ""

    @property
    def file_storage(self) -> Storage | None:
        """Where the tables' files are, as the file says it or as the warehouse's address has it."""
        return self.storage or storage_of(self.warehouse)

    @field_validator("uri")
    @classmethod
    def _hides_its_password(cls, value: Property, info: ValidationInfo) -> Property:
        problem_of = problem_of_key if info.data.get("type") in ("rest", "glue") else problem_of_property
        if value and isinstance(value, str) and (problem := problem_of("uri", value)):
            raise _refused("This value", problem)
        return hidden(value, "uri")

    @field_validator("properties")
    @classmethod
    def _hide_secrets(cls, value: dict[str, Property]) -> dict[str, Property]:
        for key, item in value.items():
            if isinstance(item, str) and (problem := problem_of_property(key, item)):
                raise _refused(f"The property {key}", problem)
        return {key: hidden(item, key) for key, item in value.items()}

    @field_validator("warehouse")
    @classmethod
    def _is_read_whole(cls, value: str) -> str:
        """PyIceberg takes what follows for no part of the path: every file of a table would have one and the same."""
        if ":/" in value and set("#?") & set(value):
            raise PydanticCustomError(
                "path_is_cut", "An address with # or ? is read only up to there; name a folder (or a home) without them"
            )
        if problem := problem_of_key("warehouse", value):
            raise _refused("This value", problem)
        if not is_readable(value):
            raise _refused("This value", "is no address; write scheme://bucket/folder")
        return value

    @field_validator("realm", "scope", "oauth2_server_uri", "region", "endpoint", "project", "account")
    @classmethod
    def _is_well_formed(cls, value: str | None, info: object) -> str | None:
        key = str(getattr(info, "field_name", ""))
        if value is not None and (problem := problem_of_key(key, value)):
            raise _refused("This value", problem)
        return value

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        for problem in (*self._twice_or_elsewhere(), *self._not_of_its_type(), *self._not_of_its_access()):
            raise PydanticCustomError("contradiction", "{problem}", {"problem": problem})
        return self

    def _twice_or_elsewhere(self) -> Iterator[str]:
        storage, known = self.file_storage, storage_of(self.warehouse)
        if self.storage and known and self.storage != known:
            yield f"storage is {self.storage}, but the warehouse's address is one of {known}; remove the key storage"
        usable = {key.setting for key in keys_of(storage)}
        for key in KEYS:
            if key.setting == "storage" or getattr(self, key.setting) is None:
                continue
            if key.setting not in usable:
                yield f"{key.setting} is of {key.storages[0]}, and the files are in {storage or 'no such storage'}"
            elif key.python in self.properties and (not key.storages or storage in key.storages):
                yield f"{key.setting} and the property {key.python} say the same twice; remove the property"

    def _not_of_its_type(self) -> Iterator[str]:
        if self.type == "glue":
            if self.file_storage != "s3":
                yield "warehouse of a Glue catalog is an address in S3; write s3://bucket/folder"
        elif not self.uri:
            yield f"uri is missing, the address of a catalog of type {self.type}; add the key"
        if self.type == "rest":
            return
        kind = "AWS Glue" if self.type == "glue" else "a database"
        if self.access in ("vended", "remote-signing"):
            yield f"access: {self.access} is of a REST catalog, and {kind} lends no credentials; remove the key"
        for key in ("realm", "scope", "oauth2_server_uri"):
            if getattr(self, key) is not None:
                yield f"{key} is of a REST catalog, and this one is {kind}; remove the key"

    def _not_of_its_access(self) -> Iterator[str]:
        if self.access == "vended":
            for key in STORAGE_KEYS:
                if key in self.properties:
                    yield f"with access: vended clients hold no keys: remove the property {key}, or say access: static"
        if self.realm is not None:
            if self.access == "remote-signing":
                yield "Polaris signs no requests; write access: vended"
            if problem := problem_of_name(self.warehouse):
                yield f"warehouse, the name of a Polaris catalog, {problem}"


def _refused(what: str, problem: str) -> PydanticCustomError:
    return PydanticCustomError("bad_value", "{what} {problem}", {"what": what, "problem": problem})
