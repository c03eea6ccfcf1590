"""What users declare: tables and streams, and what the declarations mean for Iceberg, Arrow and Spark."""

from lakehouse.tables.applying import apply, plan
from lakehouse.tables.change_format import ChangeFormat, Debezium, Dms, Flat
from lakehouse.tables.changelog import Changelog
from lakehouse.tables.column import COORDINATES, Column
from lakehouse.tables.declarations import Declarations, load_declarations
from lakehouse.tables.error import DeclarationError
from lakehouse.tables.layout import partition_spec, sort_order
from lakehouse.tables.mirror import Mirror, MirrorTables
from lakehouse.tables.planning import TablePlan, WouldLoseData, diff
from lakehouse.tables.properties import table_properties
from lakehouse.tables.quarantine import quarantine_table
from lakehouse.tables.schemas import arrow_schema, iceberg_schema, spark_schema
from lakehouse.tables.stream import ByField, BySource, Route, Start, Stream, ToTable
from lakehouse.tables.table import Table

__all__ = [
    "COORDINATES",
    "ByField",
    "BySource",
    "ChangeFormat",
    "Changelog",
    "Column",
    "Debezium",
    "DeclarationError",
    "Declarations",
    "Dms",
    "Flat",
    "Mirror",
    "MirrorTables",
    "Route",
    "Start",
    "Stream",
    "Table",
    "TablePlan",
    "ToTable",
    "WouldLoseData",
    "apply",
    "arrow_schema",
    "diff",
    "iceberg_schema",
    "load_declarations",
    "partition_spec",
    "plan",
    "quarantine_table",
    "sort_order",
    "spark_schema",
    "table_properties",
]
