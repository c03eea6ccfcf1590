"""The table properties that a declaration decides. Others, set by hand, are left alone."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from lakehouse.declarations.columns.column import Column
from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.columns.names import COORDINATE_NAMES
from lakehouse.declarations.columns.schemas import iceberg_schema
from lakehouse.declarations.policies.maintenance import Maintenance, maintenance_properties
from lakehouse.declarations.storage.file_layout import layout_properties
from lakehouse.declarations.storage.file_paths import path_properties
from lakehouse.declarations.storage.layout import HasLayout
from lakehouse.iceberg.locations import PATH_PROPERTIES, is_cut

FORMAT_VERSION = "2"
_VERSION = "format-version"

_HYGIENE = {
    "write.format.default": "parquet",
    "write.parquet.compression-codec": "zstd",
    # Spark's own commits to a branch meet everybody's commits to the table, and give up after four by default.
    "commit.retry.num-retries": "20",
    "commit.retry.min-wait-ms": "50",
    "commit.retry.max-wait-ms": "1000",
    # Each commit writes a metadata file: keep as many old ones as slow readers need, not all of them.
    # An ingest adds a manifest; merged every 30, the list that each commit copies stays short. PyIceberg has it off.
    "commit.manifest-merge.enabled": "true",
    "commit.manifest.min-count-to-merge": "30",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "50",
    # A session setting must not redirect writes: whoever stages names the branch.
    "write.wap.enabled": "false",
}
FOLLOWED_FIELDS = "lakehouse.followed_fields"
"""Of a table that its stream may change: column → the field of a record that it was added for, as JSON."""
_METRICS = "write.metadata.metrics.column."
# What the rest of the house relies on; a declaration may add properties, but not these.
_NOT_FOR_DECLARATIONS = ("write.wap.enabled", "write.format.default", "comment", "owner")


class HasProperties(HasLayout, Protocol):
    """What the function below needs of a table."""

    @property
    def description(self) -> str:
        """What the table holds."""
        ...

    @property
    def owner(self) -> str:
        """Who answers for it."""
        ...

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that identify a row."""
        ...

    @property
    def properties(self) -> Mapping[str, str]:
        """What the declaration adds."""
        ...

    @property
    def coordinates(self) -> bool:
        """Whether a stream writes it."""
        ...

    @property
    def maintenance(self) -> Maintenance:
        """How it is maintained."""
        ...


def table_properties(table: HasProperties) -> dict[str, str]:
    """Return the properties that the table should have (its format version is not among them)."""
    properties = {**_HYGIENE, "comment": table.description, "owner": table.owner, "lakehouse.owner": table.owner}
    if table.key:
        properties["lakehouse.key"] = ",".join(table.key)
    if followed := {column.name: column.followed for column in table.columns if column.followed}:
        properties[FOLLOWED_FIELDS] = msgspec.json.encode(followed, order="sorted").decode()
    properties.update(path_properties(table))
    properties.update(_maintained(table))
    properties.update({key: value for key, value in table.properties.items() if key != _VERSION})
    properties.update(_metrics(table))
    return properties


def check_properties(table: HasProperties) -> None:
    """Refuse properties that would break a promise.

    Raises:
        DeclarationError: there is one.
    """
    check_format_version(table)
    for key in table.properties:
        if key in _NOT_FOR_DECLARATIONS or key.startswith(("lakehouse.", *_owned_metrics(table))):
            raise DeclarationError(
                f"{table.name}: the property {key} is not for a declaration to set.", remedy="remove it."
            )
        if key in PATH_PROPERTIES and is_cut(table.properties[key]):
            raise DeclarationError(
                f"{table.name}: of the property {key} only a part would be read.",
                remedy="name a folder without # and ?, control characters, and spaces at its ends.",
            )
    for key in table.properties.keys() & _maintained(table).keys():
        raise DeclarationError(
            f"{table.name}: the property {key} is set by its maintenance as well.",
            remedy="remove it, and say it in maintenance=Maintenance(…); docs/reference/maintenance.md tells where.",
        )


def check_format_version(table: HasProperties) -> None:
    """Refuse a format version that no step could write.

    Raises:
        DeclarationError: says why, and what would have to be.
    """
    version = table.properties.get(_VERSION, FORMAT_VERSION)
    if version == FORMAT_VERSION:
        return
    if version == "1":
        reason = "a table of version 1 has neither branches with retention nor row deletes, which steps need"
    elif version == "3":
        reason = (
            "steps commit through PyIceberg, and up to 0.12 it writes neither manifests nor manifest lists of version 3"
        )
    else:
        reason = "Iceberg has no such version that is known here"
    raise DeclarationError(
        f"{table.name}: the format version '{version}' cannot be declared: {reason}.",
        remedy=f"declare {FORMAT_VERSION}, or leave it out; version 3 can be declared once PyIceberg writes it.",
    )


def _maintained(table: HasProperties) -> dict[str, str]:
    return {
        **maintenance_properties(table.maintenance),
        **layout_properties(table, table.maintenance, for_stream=table.coordinates),
    }


def _metrics(table: HasLayout) -> dict[str, str]:
    # The proof of exactly-once reads the coordinates' bounds from the manifests, in wide tables too, where Iceberg
    # would stop collecting after the hundredth column. Of a sensitive column a manifest must hold no value.
    full = {f"{_METRICS}{column.name}": "full" for column in table.columns if column.name in COORDINATE_NAMES}
    counts = {
        f"{_METRICS}{leaf}": "counts" for column in table.columns if column.sensitive for leaf in _leaves(table, column)
    }
    return full | counts


def _owned_metrics(table: HasLayout) -> tuple[str, ...]:
    return tuple(
        f"{_METRICS}{column.name}" for column in table.columns if column.sensitive or column.name in COORDINATE_NAMES
    )


def _leaves(table: HasLayout, column: Column) -> list[str]:
    schema = iceberg_schema(table)
    names = [schema.find_column_name(field_id) or "" for field_id in schema.field_ids]
    paths = [name for name in names if name == column.name or name.startswith(f"{column.name}.")]
    return [name for name in paths if schema.find_field(name).field_type.is_primitive]
