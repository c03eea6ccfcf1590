"""What a Polaris server has, or should have, in one form: so that the two can be compared."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

INTERNAL = "INTERNAL"
GrantType = Literal["catalog", "namespace", "table", "view", "policy"]


@dataclass(frozen=True, order=True)
class Grant:
    """One privilege of a catalog role.

    Attributes:
        type: what it is on.
        privilege: by Polaris' name.
        namespace: its levels; none of a catalog.
        name: of the table, view or policy.
    """

    type: str
    privilege: str
    namespace: tuple[str, ...] = ()
    name: str = ""

    def __str__(self) -> str:
        """As a person reads it: `TABLE_READ_DATA on namespace raw`."""
        target = ".".join((*self.namespace, self.name) if self.name else self.namespace)
        return f"{self.privilege} on {self.type}{f' {target}' if target else ''}"

    def resource(self) -> dict[str, Any]:
        """As the management API has it (`GrantResource`)."""
        resource: dict[str, Any] = {"type": self.type, "privilege": self.privilege}
        if self.type != "catalog":
            resource["namespace"] = list(self.namespace)
        if self.name:
            resource[f"{self.type}Name"] = self.name
        return resource


@dataclass(frozen=True)
class RoleState:
    """A catalog role.

    Attributes:
        grants: what it may.
        principal_roles: who has it.
    """

    grants: frozenset[Grant] = frozenset()
    principal_roles: frozenset[str] = frozenset()


@dataclass(frozen=True)
class CatalogState:
    """A catalog.

    Attributes:
        location: where new tables are put.
        storage: `storageConfigInfo` of the management API; what is not said is left out.
        properties: but the location.
        namespaces: by their names joined with dots.
        roles: name → role.
        version: of the catalog as it was read, which an update names; 0 of what is only declared.
        type: `INTERNAL`, whose tables Polaris itself keeps, or another.
    """

    location: str
    storage: Mapping[str, Any]
    properties: Mapping[str, str] = field(default_factory=dict[str, str])
    namespaces: frozenset[str] = frozenset()
    roles: Mapping[str, RoleState] = field(default_factory=dict[str, RoleState])
    version: int = 0
    type: str = INTERNAL


@dataclass(frozen=True)
class PrincipalState:
    """A principal.

    Attributes:
        roles: its principal roles.
        properties: what is kept with it.
        version: of the principal as it was read.
    """

    roles: frozenset[str] = frozenset()
    properties: Mapping[str, str] = field(default_factory=dict[str, str])
    version: int = 0


@dataclass(frozen=True)
class PolarisState:
    """All of it.

    Attributes:
        catalogs: name → catalog.
        principals: name → principal.
        principal_roles: names.
        others: what is there, and neither declared nor Polaris' own, as a person reads it; nobody touches it.
        own: the principal that has looked; empty if Polaris does not name it.
    """

    catalogs: Mapping[str, CatalogState] = field(default_factory=dict[str, CatalogState])
    principals: Mapping[str, PrincipalState] = field(default_factory=dict[str, PrincipalState])
    principal_roles: frozenset[str] = frozenset()
    others: tuple[str, ...] = ()
    own: str = ""
