"""A catalog of Polaris as it is declared: where its tables are, its namespaces, and who may do what in it."""

from collections.abc import Iterator, Mapping
from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from lakehouse.polaris.declared.names import CATALOG_ADMIN, NamespaceName, PolarisName, SeenText, TableName
from lakehouse.polaris.declared.privileges import Level, Task, problem_of_privilege
from lakehouse.polaris.declared.storage import CatalogStorage, problem_of_location
from lakehouse.settings.models import Section


class RolePrivileges(Section):
    """Privileges beside those of a task.

    Attributes:
        catalog: on the whole catalog.
        namespaces: namespace → privileges on it and on all that is in it.
        tables: `namespace.table` → privileges on it; the table has to be there.
    """

    catalog: tuple[str, ...] = ()
    namespaces: dict[NamespaceName, tuple[str, ...]] = {}
    tables: dict[TableName, tuple[str, ...]] = {}

    def problems(self) -> Iterator[str]:
        """Every privilege that Polaris does not have where it is named."""
        named: dict[Level, Mapping[str, tuple[str, ...]]] = {
            "catalog": {"": self.catalog},
            "namespace": self.namespaces,
            "table": self.tables,
        }
        for level, by_target in named.items():
            for privileges in by_target.values():
                yield from (problem for privilege in privileges if (problem := problem_of_privilege(level, privilege)))


class CatalogRole(Section):
    """A catalog role: what whoever has it may do in this catalog, and nothing else.

    Attributes:
        task: `ingest`, `transform`, `maintenance` or `reader`: the fewest privileges that it needs.
        namespaces: where the task is done; without any in the whole catalog.
        reads: namespaces that the task reads and does not write.
        privileges: further ones, by Polaris' names.
        principal_roles: who has this role.
    """

    task: Task | None = None
    namespaces: tuple[NamespaceName, ...] = ()
    reads: tuple[NamespaceName, ...] = ()
    privileges: RolePrivileges = RolePrivileges()
    principal_roles: tuple[PolarisName, ...] = ()

    @model_validator(mode="after")
    def _says_what(self) -> Self:
        if problem := next(self.privileges.problems(), None):
            raise PydanticCustomError("contradiction", "{problem}", {"problem": problem})
        if self.task is None and (self.namespaces or self.reads):
            raise PydanticCustomError("contradiction", "namespaces and reads are those of a task: write task")
        if self.task is not None and self.reads and not self.namespaces:
            raise PydanticCustomError("contradiction", "without namespaces the task is done everywhere: remove reads")
        return self


class PolarisCatalog(Section):
    """A catalog of the server, whose tables Polaris itself keeps (`INTERNAL`).

    Attributes:
        location: where new tables are put.
        allowed_locations: further places where tables may be; that of `location` is always allowed.
        storage: what the cloud has to know.
        properties: further properties of the catalog, such as `polaris.config.…`.
        namespaces: that are made, and never dropped.
        roles: catalog role → what it may.
    """

    location: SeenText
    allowed_locations: tuple[SeenText, ...] = ()
    storage: CatalogStorage
    properties: dict[str, SeenText] = {}
    namespaces: tuple[NamespaceName, ...] = ()
    roles: dict[PolarisName, CatalogRole] = {}

    @property
    def locations(self) -> tuple[str, ...]:
        """All places where tables may be, without the slash at the end."""
        return tuple(dict.fromkeys(place.rstrip("/") for place in (self.location, *self.allowed_locations)))

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        for problem in self._problems():
            raise PydanticCustomError("contradiction", "{problem}", {"problem": problem})
        return self

    def _problems(self) -> Iterator[str]:
        for location in (self.location, *self.allowed_locations):
            if (problem := problem_of_location(self.storage, location)) is not None:
                yield f"a location {problem}"
        if CATALOG_ADMIN in self.roles:
            yield f"{CATALOG_ADMIN} is Polaris' own role; declare others"
        if "default-base-location" in self.properties:
            yield "default-base-location is what location says; remove the property"
        used = [
            namespace
            for role in self.roles.values()
            for namespace in (*role.namespaces, *role.reads, *role.privileges.namespaces)
        ]
        if missing := sorted(set(used) - set(self.namespaces)):
            yield f"a role names the namespace {missing[0]}, which is not under namespaces"
