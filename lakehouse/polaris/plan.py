"""How a server differs from what is declared, each difference with the request that ends it. Nothing is ever dropped.

What is declared is held to exactly: a privilege, a role of a principal or a holder of a role that is not declared is
taken away. What is not declared at all (a catalog, a principal, a role) is named, and left alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lakehouse.polaris.declared.names import SERVICE_ADMIN
from lakehouse.polaris.management import CATALOG, PolarisRequest, management
from lakehouse.polaris.state import INTERNAL, CatalogState, PolarisState, PrincipalState, RoleState

Action = Literal["create", "update", "grant", "assign", "revoke"]

_COMPARED = frozenset(
    {
        *("storageType", "allowedLocations", "roleArn", "externalId", "region", "endpoint", "endpointInternal"),
        *("stsEndpoint", "stsUnavailable", "pathStyleAccess", "kmsUnavailable", "currentKmsKey", "allowedKmsKeys"),
        *("gcsServiceAccount", "tenantId", "hierarchical"),
    }
)
_ABSENT = (None, False, "", (), [])
_ACCOUNT_FIELD = 4  # of an ARN


@dataclass(frozen=True)
class PolarisChange:
    """One difference.

    Attributes:
        action: what is done about it.
        what: to what, as a person reads it.
        request: that does it.
        details: what is there, and what should be.
        principal: whose credentials the answer holds; empty if there are none in it.
    """

    action: Action
    what: str
    request: PolarisRequest
    details: tuple[str, ...] = ()
    principal: str = ""

    def __str__(self) -> str:
        """One line, and one for each detail."""
        return "\n".join((f"{self.action} {self.what}", *(f"  {detail}" for detail in self.details)))


@dataclass(frozen=True)
class PolarisRefusal:
    """A difference that Polaris does not let anybody end.

    Attributes:
        problem: what differs.
        remedy: what to do.
    """

    problem: str
    remedy: str


@dataclass(frozen=True)
class PolarisPlan:
    """All differences.

    Attributes:
        changes: in the order in which they can be made; what takes away comes last.
        refused: what cannot be made.
        others: what is there and not declared; nobody touches it.
    """

    changes: tuple[PolarisChange, ...]
    refused: tuple[PolarisRefusal, ...]
    others: tuple[str, ...]

    @property
    def drift(self) -> bool:
        """Whether the server is not as declared."""
        return bool(self.changes or self.refused)


def plan_polaris(should: PolarisState, actual: PolarisState) -> PolarisPlan:
    """Compare what is declared with what is there."""
    changes = [
        *(change for name, catalog in should.catalogs.items() for change in _catalog(name, catalog, actual)),
        *(
            PolarisChange(
                "create",
                f"principal role {name}",
                management("POST", "principal-roles", body={"principalRole": {"name": name}}),
            )
            for name in sorted(should.principal_roles - actual.principal_roles)
        ),
        *(change for name, principal in should.principals.items() for change in _principal(name, principal, actual)),
        *(
            change
            for name, catalog in should.catalogs.items()
            for role, wanted in catalog.roles.items()
            for change in _role(name, role, wanted, actual.catalogs.get(name))
        ),
    ]
    refused = [
        refusal
        for name, catalog in should.catalogs.items()
        if name in actual.catalogs
        for refusal in _fixed(name, catalog.storage, actual.catalogs[name].storage)
    ]
    refused += [
        PolarisRefusal(
            f"catalog {name}: it is {actual.catalogs[name].type}, and what is declared is a catalog that Polaris keeps",
            "declare it by another name, or take it out of the file",
        )
        for name in should.catalogs
        if name in actual.catalogs and actual.catalogs[name].type != INTERNAL
    ]
    refused += [
        PolarisRefusal(
            f"principal {name}: without {SERVICE_ADMIN} nobody could log in by this file's credential to manage",
            f"add {SERVICE_ADMIN} to its roles, or let the file log in as another principal",
        )
        for name, principal in should.principals.items()
        if name == actual.own and SERVICE_ADMIN in actual.principals[name].roles - principal.roles
    ]
    last = sorted(changes, key=lambda change: change.action == "revoke")
    return PolarisPlan(tuple(last), tuple(refused), actual.others)


def _catalog(name: str, should: CatalogState, actual: PolarisState) -> Iterator[PolarisChange]:
    there = actual.catalogs.get(name)
    properties = {**should.properties, "default-base-location": should.location}
    if there is None:
        catalog = {
            "type": INTERNAL,
            "name": name,
            "properties": properties,
            "storageConfigInfo": dict(should.storage),
        }
        yield PolarisChange(
            "create",
            f"catalog {name}",
            management("POST", "catalogs", body={"catalog": catalog}),
            (f"location: {should.location}", *_differences({}, should.storage)),
        )
    elif details := (*_moved(should, there), *_differences(there.storage, should.storage)):
        kept = {key: value for key, value in there.storage.items() if key not in _COMPARED}
        body = {
            "currentEntityVersion": there.version,
            "properties": {**there.properties, **properties},
            "storageConfigInfo": {**kept, **should.storage},
        }
        if not any(_fixed(name, should.storage, there.storage)):
            yield PolarisChange("update", f"catalog {name}", management("PUT", "catalogs", name, body=body), details)
    for namespace in sorted(should.namespaces - (there.namespaces if there else frozenset())):
        path = (*CATALOG, "v1", name, "namespaces")
        body = {"namespace": namespace.split("."), "properties": {}}
        yield PolarisChange("create", f"namespace {namespace} of {name}", PolarisRequest("POST", path, body))


def _moved(should: CatalogState, there: CatalogState) -> Iterator[str]:
    if should.location != there.location:
        yield f"location: {there.location or '(none)'} → {should.location}"
    for key, value in should.properties.items():
        if there.properties.get(key) != value:
            yield f"{key}: {there.properties.get(key, '(none)')} → {value}"


def _differences(there: Mapping[str, Any], should: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted(_COMPARED & {*there, *should}):
        before, after = _normal(there.get(key)), _normal(should.get(key))
        if before != after:
            yield f"{key}: {_shown(after)}" if not there else f"{key}: {_shown(before)} → {_shown(after)}"


def _normal(value: object) -> object:
    if isinstance(value, list | tuple):
        value = tuple(sorted(str(item).rstrip("/") for item in value))
    return None if value in _ABSENT else value


def _shown(value: object) -> str:
    return "(none)" if value is None else ", ".join(value) if isinstance(value, tuple) else str(value)


def _fixed(name: str, should: Mapping[str, Any], there: Mapping[str, Any]) -> Iterator[PolarisRefusal]:
    """What Polaris lets nobody change, unless it runs with ALLOW_UNRESTRICTED_STORAGE_CONFIG_ROLE_CHANGES."""
    compared = {
        "storageType": (should.get("storageType"), there.get("storageType")),
        "the AWS account of roleArn": (_account(should), _account(there)),
        "externalId": (_normal(should.get("externalId")), _normal(there.get("externalId"))),
        "tenantId": (_normal(should.get("tenantId")), _normal(there.get("tenantId"))),
    }
    for key, (wanted, actual) in compared.items():
        if wanted != actual:
            yield PolarisRefusal(
                f"catalog {name}: {key} is {actual or '(none)'} and should be {wanted or '(none)'}, "
                "which Polaris changes in no catalog that is there",
                "declare another catalog and move the tables, or correct the file",
            )


def _account(storage: Mapping[str, Any]) -> str | None:
    parts = str(storage.get("roleArn") or "").split(":")
    return parts[_ACCOUNT_FIELD] if len(parts) > _ACCOUNT_FIELD else None


def _principal(name: str, should: PrincipalState, actual: PolarisState) -> Iterator[PolarisChange]:
    there = actual.principals.get(name)
    if there is None:
        body = {"principal": {"name": name, "properties": dict(should.properties)}}
        request = management("POST", "principals", body=body, confidential=True)
        yield PolarisChange("create", f"principal {name}", request, principal=name)
    elif details := tuple(
        f"{key}: {there.properties.get(key, '(none)')} → {value}"
        for key, value in should.properties.items()
        if there.properties.get(key) != value
    ):
        body = {"currentEntityVersion": there.version, "properties": {**there.properties, **should.properties}}
        yield PolarisChange("update", f"principal {name}", management("PUT", "principals", name, body=body), details)
    has = there.roles if there else frozenset[str]()
    for role in sorted(should.roles - has):
        request = management("PUT", "principals", name, "principal-roles", body={"principalRole": {"name": role}})
        yield PolarisChange("assign", f"principal role {role} to principal {name}", request)
    for role in sorted(has - should.roles):
        request = management("DELETE", "principals", name, "principal-roles", role)
        yield PolarisChange("revoke", f"principal role {role} from principal {name}", request)


def _role(catalog: str, name: str, should: RoleState, catalog_state: CatalogState | None) -> Iterator[PolarisChange]:
    there = catalog_state.roles.get(name) if catalog_state else None
    path = ("catalogs", catalog, "catalog-roles")
    titled = f"catalog role {name} of {catalog}"
    if there is None:
        there = RoleState()
        request = management("POST", *path, body={"catalogRole": {"name": name}})
        yield PolarisChange("create", titled, request)
    for grant in sorted(should.grants - there.grants):
        request = management("PUT", *path, name, "grants", body={"grant": grant.resource()})
        yield PolarisChange("grant", f"{grant} to {titled}", request)
    for grant in sorted(there.grants - should.grants):
        request = management("POST", *path, name, "grants", body={"grant": grant.resource()})
        yield PolarisChange("revoke", f"{grant} from {titled}", request)
    for holder in sorted(should.principal_roles - there.principal_roles):
        to = ("principal-roles", holder, "catalog-roles", catalog)
        request = management("PUT", *to, body={"catalogRole": {"name": name}})
        yield PolarisChange("assign", f"{titled} to principal role {holder}", request)
    for holder in sorted(there.principal_roles - should.principal_roles):
        request = management("DELETE", "principal-roles", holder, "catalog-roles", catalog, name)
        yield PolarisChange("revoke", f"{titled} from principal role {holder}", request)
