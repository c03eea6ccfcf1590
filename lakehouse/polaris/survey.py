"""What a server has of what is declared, read from its management API; and what else is there, by name."""

from collections.abc import Iterator
from typing import Any

import msgspec

from lakehouse.polaris.declared.names import CATALOG_ADMIN, SERVICE_ADMIN
from lakehouse.polaris.declared.server import PolarisServer
from lakehouse.polaris.management import CATALOG, PolarisApi, PolarisRequest, management
from lakehouse.polaris.state import INTERNAL, CatalogState, Grant, PolarisState, PrincipalState, RoleState
from lakehouse.polaris.wanted import wanted

ROOT = "root"
"""The principal that a server is bootstrapped with."""
_LOCATION = "default-base-location"
_SEPARATOR = "\x1f"  # between the levels of a namespace in an address, as Iceberg's REST specification has it


class _Catalog(msgspec.Struct, rename="camel"):
    name: str
    type: str = INTERNAL
    properties: dict[str, str] | None = None
    storage_config_info: dict[str, Any] | None = None
    entity_version: int = 0


class _Catalogs(msgspec.Struct):
    catalogs: list[_Catalog]


class _Principal(msgspec.Struct, rename="camel"):
    name: str
    client_id: str | None = None
    properties: dict[str, str] | None = None
    entity_version: int = 0


class _Principals(msgspec.Struct):
    principals: list[_Principal]


class _Role(msgspec.Struct):
    name: str


class _Roles(msgspec.Struct):
    roles: list[_Role]


class _Grants(msgspec.Struct):
    grants: list[dict[str, Any]]


def survey(api: PolarisApi, server: PolarisServer) -> PolarisState:
    """Read what is there.

    Args:
        api: the server, as a principal that may see everything.
        server: what is declared: nothing else is looked into.

    Raises:
        PolarisRefused: something cannot be read.
    """
    catalogs = {catalog.name: catalog for catalog in api.ask(management("GET", "catalogs"), _Catalogs).catalogs}
    principals = {
        principal.name: principal for principal in api.ask(management("GET", "principals"), _Principals).principals
    }
    principal_roles = _names(api, "principal-roles")
    should = wanted(server)
    others: list[str] = [
        *(f"catalog {name}" for name in sorted(catalogs.keys() - should.catalogs.keys())),
        *(f"principal {name}" for name in sorted(principals.keys() - should.principals.keys() - {ROOT})),
        *(f"principal role {name}" for name in sorted(principal_roles - should.principal_roles - {SERVICE_ADMIN})),
    ]
    states: dict[str, CatalogState] = {}
    for name, declared in should.catalogs.items():
        if name in catalogs:
            roles = _names(api, "catalogs", name, "catalog-roles")
            foreign = roles - declared.roles.keys() - {CATALOG_ADMIN}
            others += (f"catalog role {role} of {name}" for role in sorted(foreign))
            states[name] = _catalog(api, catalogs[name], declared, roles)
    return PolarisState(
        catalogs=states,
        principals={
            name: PrincipalState(
                roles=_names(api, "principals", name, "principal-roles"),
                properties=principals[name].properties or {},
                version=principals[name].entity_version,
            )
            for name in should.principals
            if name in principals
        },
        principal_roles=principal_roles,
        others=tuple(others),
        own=next((name for name, principal in principals.items() if principal.client_id == api.client_id), ""),
    )


def namespace_path(catalog: str, namespace: str) -> tuple[str, ...]:
    """Where the catalog API has a namespace; a catalog's prefix is its name."""
    return (*CATALOG, "v1", catalog, "namespaces", namespace.replace(".", _SEPARATOR))


def _catalog(api: PolarisApi, catalog: _Catalog, declared: CatalogState, roles: frozenset[str]) -> CatalogState:
    properties = dict(catalog.properties or {})
    location = properties.pop(_LOCATION, "")
    return CatalogState(
        location=location.rstrip("/"),
        storage={key: value for key, value in (catalog.storage_config_info or {}).items() if value is not None},
        properties=properties,
        namespaces=frozenset(
            namespace
            for namespace in sorted(declared.namespaces)
            if api.has(PolarisRequest("HEAD", namespace_path(catalog.name, namespace)))
        ),
        roles={role: _role(api, catalog.name, role) for role in declared.roles if role in roles},
        version=catalog.entity_version,
        type=catalog.type,
    )


def _role(api: PolarisApi, catalog: str, role: str) -> RoleState:
    path = ("catalogs", catalog, "catalog-roles", role)
    grants = api.ask(management("GET", *path, "grants"), _Grants).grants
    return RoleState(frozenset(map(_grant, grants)), _names(api, *path, "principal-roles"))


def _grant(resource: dict[str, Any]) -> Grant:
    kind = str(resource.get("type", ""))
    return Grant(
        kind,
        str(resource.get("privilege", "")),
        tuple(str(level) for level in resource.get("namespace") or ()),
        next(_target(resource), ""),
    )


def _target(resource: dict[str, Any]) -> Iterator[str]:
    """The name of what is below a namespace: `tableName`, `viewName`, `policyName`."""
    return (str(value) for key, value in resource.items() if key.endswith("Name"))


def _names(api: PolarisApi, *path: str) -> frozenset[str]:
    return frozenset(role.name for role in api.ask(management("GET", *path), _Roles).roles)
