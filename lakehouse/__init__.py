"""A Dagster asset-based lakehouse: Kafka to Iceberg exactly once, proven from table metadata.

What users write is imported from here. A name is loaded when it is asked for, so that a Spark worker or a command loads
no more than it uses.
"""

from typing import TYPE_CHECKING

from lakehouse._moved import resolve

if TYPE_CHECKING:
    from lakehouse.build import build_defs
    from lakehouse.component import LakehouseComponent
    from lakehouse.declarations import (
        Avro,
        ByDay,
        ByField,
        ByHeader,
        ByMonth,
        BySource,
        ByTopic,
        ByValue,
        Changelog,
        Debezium,
        DeclarationError,
        Deduplicate,
        Derived,
        Dms,
        Drift,
        DropDuplicates,
        Evolution,
        Expire,
        Flat,
        Histogram,
        JsonSchema,
        Maintenance,
        Manifests,
        Mirror,
        Mixed,
        Orphans,
        Protobuf,
        Raw,
        References,
        Release,
        Rewrite,
        Rows,
        SameValues,
        SampleOf,
        Start,
        Statistics,
        Stream,
        Table,
        ToAll,
        ToNamed,
        TopicPattern,
        Topics,
        ToTable,
        Trigger,
        derived,
    )
    from lakehouse.errors import LakehouseError
    from lakehouse.orchestration.resources import Lake, LakehouseSpark
    from lakehouse.orchestration.run_context import runtime_date
    from lakehouse.protocol.seals.read_group import read_group
    from lakehouse.settings import load_settings

__all__ = [
    "Avro",
    "ByDay",
    "ByField",
    "ByHeader",
    "ByMonth",
    "BySource",
    "ByTopic",
    "ByValue",
    "Changelog",
    "Debezium",
    "DeclarationError",
    "Deduplicate",
    "Derived",
    "Dms",
    "Drift",
    "DropDuplicates",
    "Evolution",
    "Expire",
    "Flat",
    "Histogram",
    "JsonSchema",
    "Lake",
    "LakehouseComponent",
    "LakehouseError",
    "LakehouseSpark",
    "Maintenance",
    "Manifests",
    "Mirror",
    "Mixed",
    "Orphans",
    "Protobuf",
    "Raw",
    "References",
    "Release",
    "Rewrite",
    "Rows",
    "SameValues",
    "SampleOf",
    "Start",
    "Statistics",
    "Stream",
    "Table",
    "ToAll",
    "ToNamed",
    "ToTable",
    "TopicPattern",
    "Topics",
    "Trigger",
    "build_defs",
    "derived",
    "load_settings",
    "read_group",
    "runtime_date",
]

_ELSEWHERE = {
    "Lake": "lakehouse.orchestration.resources",
    "LakehouseComponent": "lakehouse.component",
    "LakehouseError": "lakehouse.errors",
    "LakehouseSpark": "lakehouse.orchestration.resources",
    "build_defs": "lakehouse.build",
    "load_settings": "lakehouse.settings",
    "read_group": "lakehouse.protocol.seals.read_group",
    "runtime_date": "lakehouse.orchestration.run_context",
}
if not TYPE_CHECKING:  # to a type checker any name would be one of ours, a mistyped one too
    __getattr__ = resolve(__name__, dict.fromkeys(__all__, "lakehouse.declarations") | _ELSEWHERE)


def __dir__() -> list[str]:
    """What is public, for the prompt's completion and `help`."""
    return sorted({*globals(), *__all__})
