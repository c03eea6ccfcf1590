"""A declared table as an Iceberg, an Arrow and a Spark schema."""

from itertools import count

import pyarrow as pa
import pyspark.sql.types as spark
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.types import NestedField

from lakehouse.declarations.columns.column import HasColumns
from lakehouse.declarations.columns.types import iceberg_type, spark_field


def iceberg_schema(table: HasColumns) -> Schema:
    """Return the schema with the field ids that a new table gets.

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
    return assign_fresh_schema_ids(Schema(*fields))


def arrow_schema(table: HasColumns) -> pa.Schema:
    """Return the schema as PyIceberg reads and writes it: large types, timestamps in microseconds, no field ids."""
    return schema_to_pyarrow(iceberg_schema(table), include_field_ids=False)


def spark_schema(table: HasColumns) -> spark.StructType:
    """Return the schema as Spark sees the table, comments included."""
    return spark.StructType([spark_field(field) for field in iceberg_schema(table).fields])
