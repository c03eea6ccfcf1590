"""What users declare: tables and streams, and what the declarations mean for Iceberg, Arrow and Spark."""

from lakehouse.declarations.changelog import Changelog
from lakehouse.declarations.columns.column import COORDINATES, Column
from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.columns.kind import ORDERED, Kind, kind_of
from lakehouse.declarations.columns.schemas import arrow_schema, iceberg_schema, spark_schema
from lakehouse.declarations.derived import Derived, derived
from lakehouse.declarations.formats.change_format import ChangeFormat, Debezium, Dms, Flat
from lakehouse.declarations.formats.json_schema_format import JsonSchema
from lakehouse.declarations.formats.mixed_format import Encoded, Mixed, RecordFormat, names_schema
from lakehouse.declarations.formats.protobuf_format import Protobuf
from lakehouse.declarations.formats.record_format import Avro, Raw
from lakehouse.declarations.mirror import Mirror, MirrorTables
from lakehouse.declarations.named_tables import ToNamed
from lakehouse.declarations.own_tables.audit_log import AUDIT_LOG
from lakehouse.declarations.own_tables.maintenance_log import MAINTENANCE_LOG, ORPHANS
from lakehouse.declarations.own_tables.quarantine import quarantine_table
from lakehouse.declarations.own_tables.statistics import STATISTICS
from lakehouse.declarations.policies.dropping import DropDuplicates
from lakehouse.declarations.policies.evolution import Evolution
from lakehouse.declarations.policies.expectation import (
    Drift,
    Expectation,
    Histogram,
    References,
    Rows,
    SameValues,
    SampleOf,
)
from lakehouse.declarations.policies.maintenance import Deduplicate, Expire, Maintenance, Manifests, Orphans, Statistics
from lakehouse.declarations.policies.rewrite import Rewrite
from lakehouse.declarations.policies.topics import TopicPattern, Topics
from lakehouse.declarations.policies.trigger import Trigger
from lakehouse.declarations.registry.broken import BrokenDeclaration
from lakehouse.declarations.registry.declarations import OWN_TABLES, Declarations
from lakehouse.declarations.registry.loading import load_declarations, load_sound
from lakehouse.declarations.release import Release
from lakehouse.declarations.routes import ByField, ByHeader, BySource, ByTopic, Route, ToAll, ToTable
from lakehouse.declarations.schema_changes.apply import apply, plan
from lakehouse.declarations.schema_changes.plan import TablePlan, WouldLoseData, diff
from lakehouse.declarations.storage.layout import partition_spec, sort_order
from lakehouse.declarations.storage.partitions import ByDay, ByMonth, ByValue, Partitions
from lakehouse.declarations.storage.properties import table_properties
from lakehouse.declarations.stream import Start, Stream
from lakehouse.declarations.table import Table

__all__ = [
    "AUDIT_LOG",
    "COORDINATES",
    "MAINTENANCE_LOG",
    "ORDERED",
    "ORPHANS",
    "OWN_TABLES",
    "STATISTICS",
    "Avro",
    "BrokenDeclaration",
    "ByDay",
    "ByField",
    "ByHeader",
    "ByMonth",
    "BySource",
    "ByTopic",
    "ByValue",
    "ChangeFormat",
    "Changelog",
    "Column",
    "Debezium",
    "DeclarationError",
    "Declarations",
    "Deduplicate",
    "Derived",
    "Dms",
    "Drift",
    "DropDuplicates",
    "Encoded",
    "Evolution",
    "Expectation",
    "Expire",
    "Flat",
    "Histogram",
    "JsonSchema",
    "Kind",
    "Maintenance",
    "Manifests",
    "Mirror",
    "MirrorTables",
    "Mixed",
    "Orphans",
    "Partitions",
    "Protobuf",
    "Raw",
    "RecordFormat",
    "References",
    "Release",
    "Rewrite",
    "Route",
    "Rows",
    "SameValues",
    "SampleOf",
    "Start",
    "Statistics",
    "Stream",
    "Table",
    "TablePlan",
    "ToAll",
    "ToNamed",
    "ToTable",
    "TopicPattern",
    "Topics",
    "Trigger",
    "WouldLoseData",
    "apply",
    "arrow_schema",
    "derived",
    "diff",
    "iceberg_schema",
    "kind_of",
    "load_declarations",
    "load_sound",
    "names_schema",
    "partition_spec",
    "plan",
    "quarantine_table",
    "sort_order",
    "spark_schema",
    "table_properties",
]
