"""Schemas that records, or a table's columns, cannot be read with."""

import pyarrow as pa
from pyarrow import types as t

from lakehouse.errors import LakehouseError
from lakehouse.formats.verdict import RecordError


class SchemaUnusable(LakehouseError):
    """A writer's schema that records cannot be read with."""


class Unfit(Exception):
    """A type of the writer that a column cannot take; carries the error of every such record."""

    def __init__(self, error: RecordError) -> None:
        super().__init__(error.message)
        self.error = error


def unfit(kind: str, declared: pa.DataType, path: str) -> Unfit:
    """That a column cannot take a type.

    Args:
        kind: what the writer calls it.
        declared: the column's.
        path: where it is.
    """
    nested = t.is_struct(declared) or t.is_list(declared) or t.is_map(declared)
    shown = ("struct" if t.is_struct(declared) else "list" if t.is_list(declared) else "map") if nested else declared
    return Unfit(RecordError("wrong_type", f"`{path}`: the writer has {kind}, which is no {shown}"))
