"""Which of several messages carry which schema: almost always one schema in long stretches."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from lakehouse.decode.changes.connect_schema import MessageSchema, schema_of
from lakehouse.decode.changes.facts import Ints, rows_where

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers

_KEPT = 256
# A message beside its schema has two members: the first is one of them (or written with an escape).
_MAY_CARRY = r'^\s*\{\s*"(?:schema|payload|[^"]*\\)'
_HEAD, _TAIL = b'{"schema":', b',"payload":'


class MessageSchemas:
    """Finds the schemas of messages; each that was met is remembered."""

    def __init__(self, describe: Callable[[bytes], MessageSchema]) -> None:
        """Takes how a schema is read: as an envelope's, or as a key's."""
        self._describe = describe
        self._known: dict[bytes, MessageSchema] = {}

    def groups(self, values: pa.BinaryArray) -> dict[MessageSchema, Ints]:
        """Schema → the messages that carry it, ascending; the empty one is of those that carry none."""
        carrying = rows_where(pc.match_substring_regex(values, _MAY_CARRY)) if len(values) else np.zeros(0, np.int64)
        if not len(carrying):
            return {(): np.arange(len(values))}
        schemas: dict[MessageSchema, list[int]] = {}
        prefix, schema = b"", ()
        for row in carrying.tolist():
            value: bytes = values[row].as_py()
            if not prefix or not value.startswith(prefix):
                raw = schema_of(value)
                schema = () if raw is None else self.of(raw)
                # The same beginning is the same schema, without parsing it again.
                prefix = b"" if raw is None else b"".join((_HEAD, raw, _TAIL))
                prefix = prefix if value.startswith(prefix) else b""
            schemas.setdefault(schema, []).append(row)
        others = np.setdiff1d(np.arange(len(values)), carrying)
        if len(others):
            schemas[()] = sorted([*schemas.get((), []), *others.tolist()])
        return {schema: np.array(rows) for schema, rows in schemas.items()}

    def of(self, raw: bytes) -> MessageSchema:
        """What a schema says."""
        known = self._known.get(raw)
        if known is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            known = self._known[raw] = self._describe(raw)
        return known
