"""Columns as messages call them: a column may have an alias there, with characters that no column's name has."""

from collections.abc import Mapping

import pyarrow as pa


def source_schema(schema: pa.Schema, aliases: Mapping[str, str]) -> pa.Schema:
    """The schema by the names of messages.

    Args:
        schema: by the names of the table.
        aliases: column → what messages call it; the others are called by their names.
    """
    return pa.schema([_renamed(field, aliases) for field in schema], metadata=schema.metadata)


def source_struct(kind: pa.StructType, aliases: Mapping[str, str]) -> pa.StructType:
    """The same for an image of a row, or a key."""
    return pa.struct([_renamed(field, aliases) for field in kind])


def _renamed(field: pa.Field, aliases: Mapping[str, str]) -> pa.Field:
    return field.with_name(aliases.get(field.name, field.name))
