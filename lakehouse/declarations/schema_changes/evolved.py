"""A table whose stream may change it, as it is by now: the declaration, and what the stream has made of the table."""

from collections.abc import Mapping
from dataclasses import replace

import msgspec
import pyspark.sql.types as spark
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField

from lakehouse.declarations.columns.column import Column
from lakehouse.declarations.columns.names import COORDINATE_NAMES
from lakehouse.declarations.columns.types import spark_type
from lakehouse.declarations.schema_changes.merging import Merging
from lakehouse.declarations.storage.properties import FOLLOWED_FIELDS
from lakehouse.declarations.table import Table


def with_stored_columns(table: Table, stored: Schema, properties: Mapping[str, str]) -> Table:
    """A declared table with the columns, the wider types and the optional columns that it has got since.

    Args:
        table: the declaration; without a policy of evolution it is returned as it is.
        stored: the columns of the table that is there.
        properties: of that table; they say which field of a record a column is from.
    """
    if table.evolution is None:
        return table
    fields = {field.name: field for field in stored.fields if field.name not in COORDINATE_NAMES}
    sources = followed_fields(properties)
    columns: list[Column] = []
    for column in table.own_columns:
        field = fields.pop(column.name, None)
        source = "" if column.alias else sources.get(column.name, "")
        columns.append(_merged(table, _from(column, source), field))
    columns += [
        _from(
            Column(name, spark_type(field.field_type), required=False, doc=field.doc or "", sensitive=True),
            sources.get(name, name),
        )
        for name, field in fields.items()
        if _declarable(field)
    ]
    return replace(table, schema=tuple(columns))


def followed_fields(properties: Mapping[str, str]) -> dict[str, str]:
    """Column → the field of a record that the stream has added it for."""
    return msgspec.json.decode(properties.get(FOLLOWED_FIELDS, "{}"), type=dict[str, str])


def _from(column: Column, source: str) -> Column:
    """The column, filled from a field of records, if it is from one."""
    return replace(column, followed=source, alias="" if source == column.name else source) if source else column


def _merged(table: Table, column: Column, field: NestedField | None) -> Column:
    if field is None or not _declarable(field):
        return column
    merging = Merging()
    kind = merging.merged(spark_type(field.field_type), column.type, column.name)
    if merging.conflicts:
        return column  # the difference is named by whoever compares both
    return replace(column, type=_described(column.type, kind), required=column.required and _is_required(table, field))


def _is_required(table: Table, field: NestedField) -> bool:
    return field.required or field.name in table.key


def _described(declared: spark.DataType, kind: spark.DataType) -> spark.DataType:
    """The merged type with the declaration's own words on its fields, in its order."""
    if not (isinstance(declared, spark.StructType) and isinstance(kind, spark.StructType)):
        return kind
    fields = {inner.name: inner for inner in kind.fields}
    ordered = [
        spark.StructField(
            inner.name,
            _described(inner.dataType, fields[inner.name].dataType),
            fields.pop(inner.name).nullable,
            inner.metadata,
        )
        for inner in declared.fields
    ]
    return spark.StructType([*ordered, *fields.values()])


def _declarable(field: NestedField) -> bool:
    try:
        spark_type(field.field_type)
    except ValueError:
        return False
    return True
