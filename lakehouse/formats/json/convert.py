"""From wire columns to the declared types: the second step of decoding, and the checks that parsing leaves open."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from pyarrow import types as t

from lakehouse.formats.json.text import Parsed, parse_text
from lakehouse.formats.verdict import RecordError

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers

Lift = Callable[[np.ndarray], np.ndarray]
Leaf = Callable[[pa.Array, pa.DataType, str], Parsed]
"""Reads a column without parts: wire values, declared type, path."""


def convert(wire: Sequence[pa.Array], schema: pa.Schema) -> tuple[pa.RecordBatch, dict[int, RecordError]]:
    """Gives every column its declared type; checks required fields and everything that JSON carries as text.

    Returns:
        The batch, and the rows that break their type or miss a required field, each with its first reason.
    """
    conversion = Conversion(_plain)
    columns = [
        conversion.field(column, field, field.name, None, same) for column, field in zip(wire, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema), conversion.errors


def same(elements: np.ndarray) -> np.ndarray:
    """At the top level an element is a row."""
    return elements


def _plain(array: pa.Array, declared: pa.DataType, path: str) -> Parsed:
    del path
    return (array, []) if array.type == declared else parse_text(array, declared)


class Conversion:
    """One pass over one batch; `lift` leads from an element of a nested array to its row."""

    def __init__(self, leaf: Leaf) -> None:
        """Takes how leaves are read; notes the first reason of each row that cannot be."""
        self._leaf = leaf
        self.errors: dict[int, RecordError] = {}

    def field(
        self, array: pa.Array, field: pa.Field, path: str, parent_valid: pa.BooleanArray | None, lift: Lift
    ) -> pa.Array:
        """A field of a row or struct; a required one is only missed where its struct is there."""
        self._require(array, field, path, parent_valid, lift, "but missing or null")
        value = self.value(array, field.type, path, lift)
        if value.null_count > array.null_count:  # what was refused has its reason already
            self._require(value, field, path, parent_valid, lift, "and what was sent for it becomes null")
        return value

    def value(self, array: pa.Array, declared: pa.DataType, path: str, lift: Lift) -> pa.Array:
        """A column, or a part of one, in its declared type."""
        if t.is_nested(declared):
            return self._nested(array, declared, path, lift)
        parsed, refused = self._leaf(array, declared, path)
        for refusal in refused:
            self._report(lift(refusal.elements), RecordError(refusal.error_class, f"`{path}`: {refusal.complaint}"))
        return parsed

    def _nested(self, array: pa.Array, declared: pa.DataType, path: str, lift: Lift) -> pa.Array:
        mask = array.is_null() if array.null_count else None
        if t.is_struct(declared):
            valid = array.is_valid() if array.null_count else None
            children = [self.field(array.field(i), f, f"{path}.{f.name}", valid, lift) for i, f in enumerate(declared)]
            return pa.StructArray.from_arrays(children, fields=list(declared), mask=mask)
        offsets = array.offsets.to_numpy()

        def up(elements: np.ndarray) -> np.ndarray:
            return lift(np.searchsorted(offsets, elements, side="right") - 1)

        if t.is_map(declared):
            items = self.field(array.items, declared.item_field, f"{path}{{}}", None, up)
            return pa.MapArray.from_arrays(array.offsets, array.keys, items, declared, mask=mask)
        items = self.field(array.values, declared.value_field, f"{path}[]", None, up)
        return pa.ListArray.from_arrays(array.offsets, items, declared, mask=mask)

    def _require(
        self, array: pa.Array, field: pa.Field, path: str, parent_valid: pa.BooleanArray | None, lift: Lift, why: str
    ) -> None:
        if field.nullable or not array.null_count:
            return
        absent = array.is_null() if parent_valid is None else pc.and_(array.is_null(), parent_valid)
        rows = lift(np.flatnonzero(absent.to_numpy(zero_copy_only=False)))
        self._report(rows, RecordError("missing_field", f"`{path}` is required, {why}"))

    def _report(self, rows: np.ndarray, error: RecordError) -> None:
        for row in rows.tolist():
            self.errors.setdefault(row, error)
