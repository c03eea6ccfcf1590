"""What is declared as the file of Polaris' own `polaris setup apply`, for those who would rather use that."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import yaml

from lakehouse.polaris.declared.server import PolarisServer
from lakehouse.polaris.state import CatalogState, RoleState
from lakehouse.polaris.wanted import wanted

# Names of `setup apply` for what the management API calls otherwise.
_STORAGE = {
    "allowedLocations": "allowed_locations",
    "roleArn": "role_arn",
    "externalId": "external_id",
    "region": "region",
    "endpoint": "endpoint",
    "endpointInternal": "endpoint_internal",
    "stsEndpoint": "sts_endpoint",
    "stsUnavailable": "sts_unavailable",
    "pathStyleAccess": "path_style_access",
    "kmsUnavailable": "kms_unavailable",
    "currentKmsKey": "current_kms_key",
    "allowedKmsKeys": "allowed_kms_keys",
    "tenantId": "tenant_id",
    "hierarchical": "hierarchical",
    "gcsServiceAccount": "service_account",
}


def setup_file(server: PolarisServer) -> str:
    """The YAML; what `setup apply` has no word for stands above it as a comment."""
    should = wanted(server)
    content = {
        "principals": {
            name: {
                "type": "service",
                "roles": sorted(principal.roles),
                **({"properties": dict(principal.properties)} if principal.properties else {}),
            }
            for name, principal in should.principals.items()
        },
        "principal_roles": sorted(should.principal_roles),
        "catalogs": [_catalog(name, catalog) for name, catalog in should.catalogs.items()],
    }
    missing = [line for name, catalog in should.catalogs.items() for line in _left_out(name, catalog)]
    return "\n".join([*missing, yaml.safe_dump(content, sort_keys=False, allow_unicode=True)])


def _catalog(name: str, catalog: CatalogState) -> dict[str, Any]:
    storage = {_STORAGE[key]: value for key, value in catalog.storage.items() if key in _STORAGE}
    return {
        "name": name,
        "type": "internal",
        "storage_type": str(catalog.storage["storageType"]).lower(),
        "default_base_location": catalog.location,
        **storage,
        **({"properties": dict(catalog.properties)} if catalog.properties else {}),
        "namespaces": sorted(catalog.namespaces),
        "roles": {role: _role(state) for role, state in catalog.roles.items()},
    }


def _role(role: RoleState) -> dict[str, Any]:
    by_namespace: defaultdict[str, list[str]] = defaultdict(list)
    for grant in sorted(role.grants):
        if grant.type == "namespace":
            by_namespace[".".join(grant.namespace)].append(grant.privilege)
    return {
        "assign_to": sorted(role.principal_roles),
        "privileges": {
            "catalog": [grant.privilege for grant in sorted(role.grants) if grant.type == "catalog"],
            "namespace": dict(by_namespace),
        },
    }


def _left_out(name: str, catalog: CatalogState) -> Iterator[str]:
    for role, state in catalog.roles.items():
        for grant in sorted(state.grants):
            if grant.type not in ("catalog", "namespace"):
                yield f"# `setup apply` grants nothing on a {grant.type}: {grant} to catalog role {role} of {name}"
