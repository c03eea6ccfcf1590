"""An asset's definition, taken from a table's declaration."""

import hashlib
import re
from collections.abc import Iterable

import msgspec
from dagster import AssetSpec

from lakehouse.resources.materialized import table_metadata
from lakehouse.tables import Stream, Table

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


def table_spec(
    table: Table,
    *,
    group: str,
    kinds: Iterable[str] = ("iceberg",),
    skippable: bool = False,
    stream: Stream | None = None,
) -> AssetSpec:
    """The asset of a table: key, owner, description and columns as declared."""
    return AssetSpec(
        key=list(table.identifier),
        description=table.description,
        group_name=group,
        kinds=set(kinds),
        owners=[owner_of(table)],
        metadata=table_metadata(table),
        code_version=declaration_digest(table, stream),
        skippable=skippable,
        tags={"lakehouse/stream": stream.name} if stream else {},
    )


def owner_of(table: Table) -> str:
    """The declared owner in the two forms that Dagster knows: an address, or a team."""
    owner = table.owner
    return owner if _EMAIL.fullmatch(owner) or owner.startswith("team:") else f"team:{owner}"


def declaration_digest(table: Table, stream: Stream | None = None) -> str:
    """A version of everything declared that decides what lands in a table; documentation is not part of it."""
    said: list[object] = [
        table.name,
        [
            (column.name, column.type.json(), column.required, column.severity, column.expected, _rules(column.checks))
            for column in table.columns
        ],
        (table.key, table.partitioning, table.sort_order, table.write_mode, table.runtime_date_column),
        sorted(table.properties.items()),
    ]
    if stream is not None:
        said.append((stream.topic, stream.format, repr(stream.route), repr(stream.start)))
    return hashlib.sha256(msgspec.json.encode(said)).hexdigest()[:16]


def _rules(checks: Iterable[object]) -> list[str]:
    # Name and parameters of each; a rule's repr would hold an address, different in each process.
    return [f"{getattr(check, 'name', '')} {getattr(check, 'statistics', '')}" for check in checks]
