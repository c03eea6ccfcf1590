"""Privileges: which Polaris has at which level, and the fewest that each task of a lakehouse needs.

Read in the sources of Polaris 1.7. Who is lent a credential to write has to have TABLE_WRITE_DATA, and that implies
every finer privilege on a table's metadata. `transactions/commit`, by which all tables of a step are published, asks
for TABLE_CREATE beside it, also where none is made. So what keeps tasks apart is the namespaces that they may write.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

Task = Literal["ingest", "transform", "maintenance", "reader"]
Level = Literal["catalog", "namespace", "table"]

_METADATA_UPDATES = frozenset(
    {
        "TABLE_ADD_PARTITION_SPEC",
        "TABLE_ADD_SCHEMA",
        "TABLE_ADD_SNAPSHOT",
        "TABLE_ADD_SORT_ORDER",
        "TABLE_ASSIGN_UUID",
        "TABLE_MANAGE_STRUCTURE",
        "TABLE_REMOVE_PARTITION_SPECS",
        "TABLE_REMOVE_PROPERTIES",
        "TABLE_REMOVE_SNAPSHOTS",
        "TABLE_REMOVE_SNAPSHOT_REF",
        "TABLE_REMOVE_STATISTICS",
        "TABLE_SET_CURRENT_SCHEMA",
        "TABLE_SET_DEFAULT_SORT_ORDER",
        "TABLE_SET_LOCATION",
        "TABLE_SET_PROPERTIES",
        "TABLE_SET_SNAPSHOT_REF",
        "TABLE_SET_STATISTICS",
        "TABLE_UPGRADE_FORMAT_VERSION",
    }
)
_OF_TABLES = _METADATA_UPDATES | {
    "TABLE_DROP",
    "TABLE_FULL_METADATA",
    "TABLE_LIST",
    "TABLE_READ_DATA",
    "TABLE_READ_PROPERTIES",
    "TABLE_WRITE_DATA",
    "TABLE_WRITE_PROPERTIES",
}
_BELOW_A_CATALOG = _OF_TABLES | {
    "CATALOG_MANAGE_ACCESS",
    "CATALOG_MANAGE_CONTENT",
    "CATALOG_MANAGE_METADATA",
    "NAMESPACE_CREATE",
    "NAMESPACE_DROP",
    "NAMESPACE_FULL_METADATA",
    "NAMESPACE_LIST",
    "NAMESPACE_READ_PROPERTIES",
    "NAMESPACE_WRITE_PROPERTIES",
    "POLICY_CREATE",
    "POLICY_DROP",
    "POLICY_FULL_METADATA",
    "POLICY_LIST",
    "POLICY_READ",
    "POLICY_WRITE",
    "TABLE_CREATE",
    "VIEW_CREATE",
    "VIEW_DROP",
    "VIEW_FULL_METADATA",
    "VIEW_LIST",
    "VIEW_READ_PROPERTIES",
    "VIEW_WRITE_PROPERTIES",
}
PRIVILEGES: Mapping[Level, frozenset[str]] = MappingProxyType(
    {
        "catalog": _BELOW_A_CATALOG
        | {"CATALOG_ATTACH_POLICY", "CATALOG_DETACH_POLICY", "CATALOG_READ_PROPERTIES", "CATALOG_WRITE_PROPERTIES"},
        "namespace": _BELOW_A_CATALOG | {"NAMESPACE_ATTACH_POLICY", "NAMESPACE_DETACH_POLICY"},
        "table": _OF_TABLES | {"CATALOG_MANAGE_ACCESS", "TABLE_ATTACH_POLICY", "TABLE_DETACH_POLICY"},
    }
)

READS = frozenset({"NAMESPACE_LIST", "NAMESPACE_READ_PROPERTIES", "TABLE_READ_DATA", "VIEW_READ_PROPERTIES"})
WRITES = frozenset({"NAMESPACE_LIST", "NAMESPACE_READ_PROPERTIES", "TABLE_CREATE", "TABLE_WRITE_DATA"})
"""No table is dropped by these, no namespace made or dropped, no policy changed."""
TASKS: Mapping[Task, frozenset[str]] = MappingProxyType(
    {"ingest": WRITES, "transform": WRITES, "maintenance": WRITES, "reader": READS}
)


def problem_of_privilege(level: Level, privilege: str) -> str | None:
    """What is wrong with a privilege at a level; None if Polaris has it there."""
    if privilege in PRIVILEGES[level]:
        return None
    levels = [other for other, known in PRIVILEGES.items() if privilege in known]
    if levels:
        return f"{privilege} is a privilege on a {' or a '.join(levels)}, not on a {level}"
    return f"Polaris has no privilege {privilege}"
