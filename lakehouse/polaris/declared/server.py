"""A Polaris server as it is declared: a file of `conf/polaris/`."""

import re
from collections.abc import Iterator
from itertools import combinations
from typing import Self

from pydantic import field_validator, model_validator
from pydantic_core import PydanticCustomError

from lakehouse.polaris.declared.catalog import PolarisCatalog
from lakehouse.polaris.declared.names import SERVICE_ADMIN, PolarisName, SeenText
from lakehouse.settings.models import Section
from lakehouse.settings.models.section import Property
from lakehouse.settings.plain_secret import hidden
from lakehouse.settings.values import problem_of_key

_VERSION = re.compile(r"\d+\.\d+(\.\d+)?")


class PolarisPrincipal(Section):
    """Who logs in: a service with a client id and a secret.

    Attributes:
        roles: its principal roles.
        properties: what is kept with it.
    """

    roles: tuple[PolarisName, ...]
    properties: dict[str, SeenText] = {}


class PolarisServer(Section):
    """A Polaris server, and what is to be there: a file of `conf/polaris/`.

    Attributes:
        uri: of the server, such as `https://polaris.example`; `/api/catalog` and `/api/management/v1` follow.
        realm: the header `Polaris-Realm`.
        credential: `id:secret` of a principal that may manage, as `${env:NAME}` or `${file:/path}`.
        scope: of its token.
        oauth2_server_uri: where tokens are had, if not from Polaris itself.
        health: the address of the management port, such as `http://polaris.example:8182`.
        version: of the server as it is installed. Polaris tells it to nobody, so it is written here.
        catalogs: name → catalog.
        principals: name → principal.
    """

    uri: SeenText
    realm: str = "POLARIS"
    credential: Property
    scope: str = "PRINCIPAL_ROLE:ALL"
    oauth2_server_uri: str | None = None
    health: str | None = None
    version: str | None = None
    catalogs: dict[PolarisName, PolarisCatalog] = {}
    principals: dict[PolarisName, PolarisPrincipal] = {}

    @property
    def principal_roles(self) -> tuple[str, ...]:
        """Every principal role that is named, but those that Polaris makes by itself."""
        of_catalogs = [
            name
            for catalog in self.catalogs.values()
            for role in catalog.roles.values()
            for name in role.principal_roles
        ]
        of_principals = [name for principal in self.principals.values() for name in principal.roles]
        return tuple(sorted({*of_catalogs, *of_principals} - {SERVICE_ADMIN}))

    @field_validator("credential")
    @classmethod
    def _hides_itself(cls, value: Property) -> Property:
        return hidden(value, "credential")

    @field_validator("uri", "health", "realm", "scope", "oauth2_server_uri")
    @classmethod
    def _is_well_formed(cls, value: str | None, info: object) -> str | None:
        key = str(getattr(info, "field_name", ""))
        key = "endpoint" if key in ("uri", "health") else key
        if value is not None and (problem := problem_of_key(key, value)):
            raise PydanticCustomError("bad_value", "This value {problem}", {"problem": problem})
        return value

    @field_validator("uri")
    @classmethod
    def _is_the_server(cls, value: str) -> str:
        if "/api/" in f"{value}/":
            raise PydanticCustomError("bad_value", "Should be the server alone, without /api/catalog")
        return value.rstrip("/")

    @field_validator("version", mode="before")
    @classmethod
    def _is_a_version(cls, value: object) -> object:
        if value is not None and not (isinstance(value, str) and _VERSION.fullmatch(value)):
            raise PydanticCustomError("bad_value", 'Should be a version in quotes, such as "1.8.0"')
        return value

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        for problem in (*self._overlaps(), *self._roles_for_nothing()):
            raise PydanticCustomError("contradiction", "{problem}", {"problem": problem})
        return self

    def _overlaps(self) -> Iterator[str]:
        """Polaris refuses a catalog whose places are in another's: what is lent would open both."""
        for (first_name, first), (other, second) in combinations(self.catalogs.items(), 2):
            for a, b in ((a, b) for a in first.locations for b in second.locations):
                if f"{a}/".startswith(f"{b}/") or f"{b}/".startswith(f"{a}/"):
                    yield f"the catalogs {first_name} and {other} share a location, which Polaris refuses"

    def _roles_for_nothing(self) -> Iterator[str]:
        useful = {
            name
            for catalog in self.catalogs.values()
            for role in catalog.roles.values()
            for name in role.principal_roles
        }
        for principal, declared in self.principals.items():
            for role in declared.roles:
                if role not in useful | {SERVICE_ADMIN}:
                    yield f"the principal {principal} has the role {role}, to which no catalog's role is given"
