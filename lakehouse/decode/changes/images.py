"""Images of a row: from the parser's wire columns to the declared types, with what was not sent."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
from pyarrow import types as t

from lakehouse.decode.changes.encodings import JSON, Encoding
from lakehouse.decode.changes.facts import Bools, Errors, bools, report
from lakehouse.decode.changes.unavailable import unavailable
from lakehouse.decode.text import Parsed
from lakehouse.decode.wire import wire_type
from lakehouse.verdict import RecordError

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers

_Lift = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Image:
    """Rows of one image.

    Attributes:
        columns: by position, in their declared types; null wherever the image is.
        present: where there is an image at all.
        unavailable: column's position → rows whose value was not sent; only columns with any.
        errors: row → the first value that cannot be read.
    """

    columns: list[pa.Array]
    present: pa.BooleanArray
    unavailable: dict[int, Bools] = field(default_factory=dict[int, Bools])
    errors: Errors = field(default_factory=dict[int, RecordError])


class Images:
    """Reads images of one kind of row (or key) in one encoding."""

    def __init__(self, kind: pa.StructType, encoding: Encoding) -> None:
        """Prepares.

        Raises:
            UndecodableType: a column's type has no form in these messages.
        """
        self.kind = kind
        self._encoding = encoding
        self.names = [child.name for child in kind]
        self.fields = [pa.field(child.name, self._wire(child.type, child.name)) for child in kind]

    def raw(self, ignored: Sequence[str]) -> list[pa.Field]:
        """Fields for the parser, with some that it has to know and nobody reads."""
        return [*self.fields, *(pa.field(name, JSON) for name in ignored if name not in self.names)]

    def read(self, wire: pa.StructArray, path: str) -> Image:
        """Gives every column its declared type; fields after the last column are not looked at."""
        reading = _Reading(self._encoding)
        columns: list[pa.Array] = []
        absent: dict[int, Bools] = {}
        for number, child in enumerate(self.kind):
            array = wire.field(number)
            missing = unavailable(array, child.type, self._encoding)
            if missing is not None:
                absent[number] = missing
                array = pc.if_else(pa.array(missing), pa.scalar(None, array.type), array)
            columns.append(reading.value(array, child.type, f"{path}.{child.name}", _same))
        return Image(columns, wire.is_valid(), absent, reading.errors)

    def _wire(self, declared: pa.DataType, path: str) -> pa.DataType:
        if t.is_struct(declared):
            return pa.struct([pa.field(f.name, self._wire(f.type, f"{path}.{f.name}")) for f in declared])
        if t.is_list(declared):
            element = declared.value_field
            return pa.list_(pa.field(element.name, self._wire(element.type, f"{path}[]")))
        if t.is_map(declared) and t.is_string(declared.key_type):
            return pa.map_(pa.string(), self._wire(declared.item_type, f"{path}{{}}"))
        return wire_type(declared, path) if t.is_nested(declared) else self._encoding.wire(declared, path)


def _same(elements: np.ndarray) -> np.ndarray:
    return elements


class _Reading:
    """One pass over one image; `lift` leads from an element of a nested array to its row."""

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self.errors: Errors = {}

    def value(self, array: Any, declared: Any, path: str, lift: _Lift) -> pa.Array:
        if not t.is_nested(declared):
            return self._checked(self._encoding.read(array, declared, path), path, lift)
        mask = array.is_null() if array.null_count else None
        if t.is_struct(declared):
            children = [
                self._field(array.field(i), child, f"{path}.{child.name}", mask, lift)
                for i, child in enumerate(declared)
            ]
            return pa.StructArray.from_arrays(children, fields=list(declared), mask=mask)
        offsets = array.offsets.to_numpy()

        def up(elements: np.ndarray) -> np.ndarray:
            return lift(np.searchsorted(offsets, elements, side="right") - 1)

        if t.is_map(declared):
            items = self._field(array.items, declared.item_field, f"{path}{{}}", None, up)
            return pa.MapArray.from_arrays(array.offsets, array.keys, items, declared, mask=mask)
        items = self._field(array.values, declared.value_field, f"{path}[]", None, up)
        return pa.ListArray.from_arrays(array.offsets, items, declared, mask=mask)

    def _field(self, array: Any, child: pa.Field, path: str, absent: Any, lift: _Lift) -> pa.Array:
        if not child.nullable and array.null_count:
            nulls = array.is_null() if absent is None else pc.and_not(array.is_null(), absent)
            error = RecordError("missing_field", f"`{path}` is required, but missing or null")
            report(self.errors, lift(np.flatnonzero(bools(nulls))), error)
        return self.value(array, child.type, path, lift)

    def _checked(self, parsed: Parsed, path: str, lift: _Lift) -> pa.Array:
        array, refused = parsed
        for some in refused:
            report(self.errors, lift(some.elements), RecordError(some.error_class, f"`{path}`: {some.complaint}"))
        return array
