"""An asset's definition, taken from a table's declaration."""

import hashlib
import re
from collections.abc import Iterable

import msgspec
from dagster import AssetKey, AssetSpec, FreshnessPolicy

from lakehouse.declarations import (
    Avro,
    ChangeFormat,
    JsonSchema,
    MirrorTables,
    Mixed,
    Protobuf,
    Raw,
    RecordFormat,
    Stream,
    Table,
)
from lakehouse.declarations.columns.column import aliases_of
from lakehouse.declarations.routes import route_text
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.resources.materialization import table_metadata
from lakehouse.orchestration.run_context import MIRROR_TAG, STREAM_TAG

_MIRROR_NAMESPACE = "mirror"
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


def table_spec(
    table: Table,
    *,
    group: str,
    kinds: Iterable[str] = ("iceberg",),
    skippable: bool = False,
    stream: Stream | None = None,
    names: DagsterNames = DEFAULT_NAMES,
) -> AssetSpec:
    """The asset of a table: key, owner, description and columns as declared."""
    return AssetSpec(
        key=names.key(table.name),
        description=table.description,
        group_name=group,
        kinds=set(kinds),
        owners=[owner_of(table)],
        metadata=table_metadata(table),
        code_version=declaration_digest(table, stream),
        skippable=skippable,
        freshness_policy=FreshnessPolicy.time_window(table.fresh_within) if table.fresh_within else None,
        tags={STREAM_TAG: stream.name} if stream else {},
    )


def mirror_specs(tables: MirrorTables, kinds: Iterable[str], names: DagsterNames = DEFAULT_NAMES) -> list[AssetSpec]:
    """The assets of a mirror: its three tables, each computed from the changelog and from the initial table."""
    mirror, log = tables.mirror, tables.changelog
    inputs = [log.name, *([mirror.initial] if mirror.initial else [])]
    return [
        table_spec(table, group=log.stream_name, kinds=kinds, skippable=True, names=names).replace_attributes(
            deps=[names.key(name) for name in inputs],
            tags={MIRROR_TAG: mirror.name},
            code_version=f"{declaration_digest(table)[:8]}-{mirror_digest(tables)[:8]}",
        )
        for table in tables.tables
    ]


def mirror_keys(tables: MirrorTables, names: DagsterNames = DEFAULT_NAMES) -> list[AssetKey]:
    """The asset keys of a mirror's tables."""
    return [names.key(table.name) for table in tables.tables]


def mirror_step(tables: MirrorTables) -> str:
    """Name of the mirror's step and of its pool: `mirror_flights` for `mirror.flights`."""
    namespace, table = tables.mirror_table.identifier
    return f"mirror_{table}" if namespace == _MIRROR_NAMESPACE else f"mirror_{namespace}__{table}"


def mirror_digest(tables: MirrorTables) -> str:
    """A version of everything declared that decides how changes become rows of a mirror."""
    mirror, log = tables.mirror, tables.changelog
    content = (
        mirror.deletes,
        mirror.lateness.total_seconds(),
        mirror.initial,
        log.name,
        repr(log.format),
        log.null_keys,
    )
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:16]


def owner_of(table: Table) -> str:
    """The declared owner in the two forms that Dagster knows: an address, or a team."""
    owner = table.owner
    return owner if _EMAIL.fullmatch(owner) or owner.startswith("team:") else f"team:{owner}"


def declaration_digest(table: Table, stream: Stream | None = None) -> str:
    """A version of everything declared that decides what lands in a table; documentation is not part of it."""
    content: list[object] = [
        table.name,
        [
            (column.name, column.type.json(), column.required, column.severity, column.expected, _rules(column.checks))
            for column in table.columns
        ],
        (table.key, table.partitioning, table.sort_order, table.write_mode, table.runtime_date_column),
        sorted(table.properties.items()),
        *([aliases] if (aliases := sorted(aliases_of(table.columns).items())) else []),
        *([parts] if (parts := [(column.name, column.record) for column in table.columns if column.record]) else []),
    ]
    if table.evolution is not None:
        content.append(repr(table.evolution))
    if stream is not None:
        content.append((stream.topic, format_version(stream.format), route_text(stream.route), repr(stream.start)))
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:16]


def format_version(form: RecordFormat | ChangeFormat) -> object:
    """A format as what it means: of a schema beside the declaration what it says, not where it lies."""
    match form:
        case Avro():
            return ("avro", form.text, form.registry)
        case JsonSchema():
            return ("json schema", form.text, form.registry)
        case Protobuf():
            content = hashlib.sha256(form.descriptor_set or b"").hexdigest()
            return ("protobuf", form.sources, content, form.message, form.registry)
        case Raw():
            return "raw"
        case Mixed():
            return ("mixed", *(format_version(part) for part in form.formats))
        case _:
            return form


def _rules(checks: Iterable[object]) -> list[str]:
    # Name and parameters of each; a rule's repr would hold an address, different in each process.
    return [f"{getattr(check, 'name', '')} {getattr(check, 'statistics', '')}" for check in checks]
