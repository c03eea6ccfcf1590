"""What users declare: tables and streams, and what the declarations mean for Iceberg, Arrow and Spark."""

from lakehouse.tables.applying import apply, plan
from lakehouse.tables.audit_log import AUDIT_LOG
from lakehouse.tables.change_format import ChangeFormat, Debezium, Dms, Flat
from lakehouse.tables.changelog import Changelog
from lakehouse.tables.column import COORDINATES, Column
from lakehouse.tables.declarations import OWN_TABLES, Declarations, load_declarations
from lakehouse.tables.derived import Derived, derived
from lakehouse.tables.error import DeclarationError
from lakehouse.tables.expectation import (
    Drift,
    Expectation,
    Histogram,
    References,
    Rows,
    SameValues,
    SampleOf,
)
from lakehouse.tables.kind import ORDERED, Kind, kind_of
from lakehouse.tables.layout import partition_spec, sort_order
from lakehouse.tables.maintenance import (
    Deduplicate,
    Expire,
    Maintenance,
    Manifests,
    Orphans,
    Rewrite,
    Statistics,
)
from lakehouse.tables.maintenance_log import MAINTENANCE_LOG, ORPHANS
from lakehouse.tables.mirror import Mirror, MirrorTables
from lakehouse.tables.partitions import ByDay, ByMonth, ByValue, Partitions
from lakehouse.tables.planning import TablePlan, WouldLoseData, diff
from lakehouse.tables.properties import table_properties
from lakehouse.tables.quarantine import quarantine_table
from lakehouse.tables.release import Release
from lakehouse.tables.schemas import arrow_schema, iceberg_schema, spark_schema
from lakehouse.tables.statistics import STATISTICS
from lakehouse.tables.stream import ByField, BySource, Route, Start, Stream, ToTable
from lakehouse.tables.table import Table

__all__ = [
    "AUDIT_LOG",
    "COORDINATES",
    "MAINTENANCE_LOG",
    "ORDERED",
    "ORPHANS",
    "OWN_TABLES",
    "STATISTICS",
    "ByDay",
    "ByField",
    "ByMonth",
    "BySource",
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
    "Expectation",
    "Expire",
    "Flat",
    "Histogram",
    "Kind",
    "Maintenance",
    "Manifests",
    "Mirror",
    "MirrorTables",
    "Orphans",
    "Partitions",
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
    "ToTable",
    "WouldLoseData",
    "apply",
    "arrow_schema",
    "derived",
    "diff",
    "iceberg_schema",
    "kind_of",
    "load_declarations",
    "partition_spec",
    "plan",
    "quarantine_table",
    "sort_order",
    "spark_schema",
    "table_properties",
]
