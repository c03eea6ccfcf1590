"""Images of a row: from the parser's wire columns to the declared types, with what was not sent."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute
from pyarrow import types as t

from lakehouse.formats.changes.encodings import JSON, Encoding
from lakehouse.formats.changes.facts import Bools, Errors
from lakehouse.formats.changes.unchanged_values import unavailable
from lakehouse.formats.json.convert import Conversion, same
from lakehouse.formats.json.wire import wire_type
from lakehouse.formats.verdict import RecordError

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers


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
        conversion = Conversion(self._encoding.read)
        columns: list[pa.Array] = []
        absent: dict[int, Bools] = {}
        for number, child in enumerate(self.kind):
            array = wire.field(number)
            missing = unavailable(array, child.type, self._encoding, child.name)
            if missing is not None:
                absent[number] = missing
                array = pc.if_else(pa.array(missing), pa.scalar(None, array.type), array)
            columns.append(conversion.value(array, child.type, f"{path}.{child.name}", same))
        return Image(columns, wire.is_valid(), absent, conversion.errors)

    def _wire(self, declared: pa.DataType, path: str) -> pa.DataType:
        if t.is_struct(declared):
            return pa.struct([pa.field(f.name, self._wire(f.type, f"{path}.{f.name}")) for f in declared])
        if t.is_list(declared):
            element = declared.value_field
            return pa.list_(pa.field(element.name, self._wire(element.type, f"{path}[]")))
        if t.is_map(declared) and t.is_string(declared.key_type):
            return pa.map_(pa.string(), self._wire(declared.item_type, f"{path}{{}}"))
        return wire_type(declared, path) if t.is_nested(declared) else self._encoding.wire(declared, path)
