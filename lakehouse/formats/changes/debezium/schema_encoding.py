"""Values beside a Kafka Connect schema: the schema decides how each is written, and not what was declared of it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from pyarrow import types as t

from lakehouse.formats.changes.debezium.connect_schema import ConnectType, MessageSchema
from lakehouse.formats.changes.debezium.header_encoding import HeaderEncoding
from lakehouse.formats.changes.debezium.readings import UNITS, ValueReader, reading
from lakehouse.formats.changes.encodings import JSON, DebeziumEncoding, Encoding, quoted
from lakehouse.formats.changes.facts import bools
from lakehouse.formats.json.text import Parsed, Refused


@dataclass(frozen=True)
class SchemaEncoding(DebeziumEncoding):
    """As the schema says; by the connector's options where it says nothing of a value.

    Attributes:
        schema: of the message or key that the values are of.
    """

    schema: MessageSchema

    @cached_property
    def _types(self) -> dict[str, ConnectType]:
        return dict(self.schema)

    def wire(self, declared: pa.DataType, path: str) -> pa.DataType:
        """What the schema's type is in JSON; anything at all where it does not fit the declared type."""
        if path not in self._types:
            return super().wire(declared, path)
        how = self._reading(declared, path)
        return JSON if how is None else how.wire

    def read(self, array: pa.Array, declared: pa.DataType, path: str) -> Parsed:
        """Reads them, or refuses every value whose type does not fit the declared one."""
        column = path.partition(".")[2]
        if column not in self._types:
            return super().read(array, declared, path)
        how = self._reading(declared, column)
        if how is not None:
            return how.read(array)
        present = np.flatnonzero(bools(array.is_valid()))
        refused = Refused(present, "wrong_type", self._complaint(declared, column))
        return pa.nulls(len(array), declared), [refused] if len(present) else []

    def placeholders(self, declared: pa.DataType, path: str) -> pa.Array | None:
        """The text, as it is and in Base64, in quotes where the parser is asked for JSON."""
        if path not in self._types:
            return super().placeholders(declared, path)
        wire = self.wire(declared, path)
        texts = super().placeholders(pa.binary(), path)
        if wire == JSON:
            return quoted(texts)
        return texts if t.is_string(wire) else None

    def is_scalar(self, path: str) -> bool:
        """Whether the JSON of a value is what it says: no parts, and no bytes in Base64."""
        return path not in self._types or self._types[path].kind not in ("bytes", "struct")

    def _reading(self, declared: pa.DataType, path: str) -> ValueReader | None:
        return reading(self._types[path], declared, self.unit(path))

    def _complaint(self, declared: pa.DataType, path: str) -> str:
        written = self._types[path]
        unit = UNITS.get(written.name)
        if t.is_integer(declared) and unit is not None:
            return (
                f"the message's schema says {written}, a number of {unit}, and the declaration makes it one of "
                f"{self.unit(path)}: see `millis` and `timestamps` of the format"
            )
        return f"the message's schema says {written}, and the column is declared {declared}"


def beside(schema: MessageSchema, encoding: Encoding) -> Encoding:
    """How values are written that stand beside a schema."""
    if not schema:
        return encoding
    if isinstance(encoding, HeaderEncoding):
        return HeaderEncoding(SchemaEncoding(encoding.messages.options, schema))
    return SchemaEncoding(encoding.options, schema) if isinstance(encoding, DebeziumEncoding) else encoding
