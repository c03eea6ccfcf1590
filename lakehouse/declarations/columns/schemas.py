"""A declared table as an Iceberg, an Arrow and a Spark schema."""

from itertools import count
from typing import Protocol

import pyarrow as pa
import pyspark.sql.types as spark
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.types import NestedField

from lakehouse.declarations.columns.column import HasColumns
from lakehouse.declarations.columns.types import iceberg_type, spark_field


class KeyedColumns(HasColumns, Protocol):
    """What identifies a row of a table."""

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that identify a row."""
        ...


def identifier_columns(table: KeyedColumns) -> tuple[str, ...]:
    """The key as Iceberg's identifier fields; none where a part of it is a float, which Iceberg does not allow.

    A part of a key would be a claim that is not true, so it is all of it or nothing. Key columns are always required.
    """
    columns = {column.name: column.type for column in table.columns}
    floats = (spark.FloatType, spark.DoubleType)
    return () if any(isinstance(columns[name], floats) for name in table.key) else table.key


def iceberg_schema(table: HasColumns, identifiers: tuple[str, ...] = ()) -> Schema:
    """Return the schema with the field ids that a new table gets.

    Args:
        table: with its columns.
        identifiers: names of the columns that identify a row.

    An existing table keeps the ids of its own schema, whatever columns were added since: to read or write one, take the
    ids from the table.
    """
    ids = count(1)
    fields = [
        NestedField(
            field_id=next(ids),
            name=column.name,
            field_type=iceberg_type(column.type, lambda: next(ids), f"{table.name}.{column.name}"),
            required=column.required,
            doc=column.doc or None,
        )
        for column in table.columns
    ]
    # Numbered level by level, as every catalog does when it creates a table.
    chosen = [field.field_id for field in fields if field.name in identifiers]
    return assign_fresh_schema_ids(Schema(*fields, identifier_field_ids=chosen))


def arrow_schema(table: HasColumns) -> pa.Schema:
    """Return the schema as PyIceberg reads and writes it: large types, timestamps in microseconds, no field ids."""
    return schema_to_pyarrow(iceberg_schema(table), include_field_ids=False)


def spark_schema(table: HasColumns) -> spark.StructType:
    """Return the schema as Spark sees the table, comments included."""
    return spark.StructType([spark_field(field) for field in iceberg_schema(table).fields])
