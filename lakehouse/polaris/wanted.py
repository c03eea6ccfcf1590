"""What should be there, from what is declared."""

from collections.abc import Iterator
from typing import Any

from lakehouse.iceberg.names import identifier_of
from lakehouse.polaris.declared.catalog import CatalogRole, PolarisCatalog
from lakehouse.polaris.declared.privileges import READS, TASKS
from lakehouse.polaris.declared.server import PolarisServer
from lakehouse.polaris.declared.storage import AzureStorage, GcsStorage, S3Storage
from lakehouse.polaris.state import CatalogState, Grant, PolarisState, PrincipalState, RoleState

_S3_NAMES = {
    "role_arn": "roleArn",
    "external_id": "externalId",
    "region": "region",
    "endpoint": "endpoint",
    "endpoint_internal": "endpointInternal",
    "sts_endpoint": "stsEndpoint",
    "sts_unavailable": "stsUnavailable",
    "path_style_access": "pathStyleAccess",
    "kms_unavailable": "kmsUnavailable",
    "current_kms_key": "currentKmsKey",
    "allowed_kms_keys": "allowedKmsKeys",
}


def wanted(server: PolarisServer) -> PolarisState:
    """The state that a file of `conf/polaris/` describes."""
    return PolarisState(
        catalogs={
            name: CatalogState(
                location=catalog.location.rstrip("/"),
                storage=storage_config(catalog),
                properties=catalog.properties,
                namespaces=frozenset(_with_parents(catalog.namespaces)),
                roles={
                    role: RoleState(frozenset(grants_of(declared)), frozenset(declared.principal_roles))
                    for role, declared in catalog.roles.items()
                },
            )
            for name, catalog in server.catalogs.items()
        },
        principals={
            name: PrincipalState(frozenset(declared.roles), declared.properties)
            for name, declared in server.principals.items()
        },
        principal_roles=frozenset(server.principal_roles),
    )


def storage_config(catalog: PolarisCatalog) -> dict[str, Any]:
    """`storageConfigInfo` of a catalog, without what is not said."""
    storage = catalog.storage
    config: dict[str, Any] = {"storageType": "FILE", "allowedLocations": list(catalog.locations)}
    if isinstance(storage, S3Storage):
        values = {name: getattr(storage, key) for key, name in _S3_NAMES.items()}
        fields = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items() if value}
        return {**config, "storageType": "S3", **fields}
    if isinstance(storage, GcsStorage):
        account = {"gcsServiceAccount": storage.service_account} if storage.service_account else {}
        return {**config, "storageType": "GCS", **account}
    if isinstance(storage, AzureStorage):
        hierarchical = {"hierarchical": True} if storage.hierarchical else {}
        return {**config, "storageType": "AZURE", "tenantId": storage.tenant_id, **hierarchical}
    return config


def grants_of(role: CatalogRole) -> Iterator[Grant]:
    """Every grant of a role: those of its task where it is done, and those that are named."""
    if role.task is not None:
        does = TASKS[role.task]
        if not role.namespaces:
            yield from (Grant("catalog", privilege) for privilege in does)
        else:
            yield Grant("catalog", "NAMESPACE_LIST")  # of the catalog's own level; what is in them it does not show
        yield from (_on(namespace, privilege) for namespace in role.namespaces for privilege in does)
        yield from (_on(namespace, privilege) for namespace in role.reads for privilege in READS)
    named = role.privileges
    yield from (Grant("catalog", privilege) for privilege in named.catalog)
    yield from (
        _on(namespace, privilege) for namespace, privileges in named.namespaces.items() for privilege in privileges
    )
    for table, privileges in named.tables.items():
        *namespace, name = table.split(".")
        yield from (Grant("table", privilege, tuple(namespace), name) for privilege in privileges)


def _on(namespace: str, privilege: str) -> Grant:
    return Grant("namespace", privilege, identifier_of(namespace))


def _with_parents(namespaces: tuple[str, ...]) -> Iterator[str]:
    for namespace in namespaces:
        levels = namespace.split(".")
        yield from (".".join(levels[: depth + 1]) for depth in range(len(levels)))
