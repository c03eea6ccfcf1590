"""Values of a key in Debezium's headers: as in messages, but that Connect's converter writes decimals as numbers."""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute
from pyarrow import types as t

from lakehouse.formats.changes.encodings import JSON, DebeziumEncoding
from lakehouse.formats.json.text import Parsed, parse_text

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers


@dataclass(frozen=True)
class HeaderEncoding:
    """As `messages` has them, or as numbers."""

    messages: DebeziumEncoding

    def wire(self, declared: pa.DataType, path: str) -> pa.DataType:
        """The same."""
        return self.messages.wire(declared, path)

    def read(self, array: pa.Array, declared: pa.DataType, path: str) -> Parsed:
        """Reads them."""
        raw = t.is_decimal128(declared) and self.wire(declared, path.partition(".")[2]) == JSON
        if not raw:
            return self.messages.read(array, declared, path)
        number = pc.match_substring_regex(array, "^[-0-9]")
        coded, wrong = self.messages.read(pc.if_else(number, pa.scalar(None, pa.string()), array), declared, path)
        plain, beyond = parse_text(pc.if_else(number, array, pa.scalar(None, pa.string())), declared)
        return pc.coalesce(coded, plain), [*wrong, *beyond]

    def placeholders(self, declared: pa.DataType, path: str) -> pa.Array | None:
        """The same."""
        return self.messages.placeholders(declared, path)
