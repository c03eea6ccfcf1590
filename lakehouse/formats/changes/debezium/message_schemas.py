"""Which of several messages carry which schema: almost always one schema in long stretches."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from lakehouse.formats.changes.debezium.connect_schema import MessageSchema, schema_of
from lakehouse.formats.changes.facts import Ints, bools, rows_where

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers

_KEPT = 256
_STRETCHES = 8  # schemas of one batch that are looked for at once; further ones message by message
_BARE = b'{"before":'
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
        carrying = _carrying(values)
        if not len(carrying):
            return {(): np.arange(len(values))}
        schemas: dict[MessageSchema, list[Ints]] = {}
        if len(carrying) < len(values):
            schemas[()] = [np.setdiff1d(np.arange(len(values)), carrying)]
        for _ in range(_STRETCHES):
            if not len(carrying):
                break
            schema, prefix = self._first(values[int(carrying[0])].as_py())
            alike = (
                bools(pc.starts_with(_rows_of(values, carrying), prefix)) if prefix else np.zeros(len(carrying), bool)
            )
            alike[0] = True
            schemas.setdefault(schema, []).append(carrying[alike])
            carrying = carrying[~alike]
        for row in carrying.tolist():
            schemas.setdefault(self._first(values[row].as_py())[0], []).append(np.array([row]))
        return {schema: np.sort(np.concatenate(rows)) for schema, rows in schemas.items()}

    def _first(self, value: bytes) -> tuple[MessageSchema, bytes]:
        """A message's schema, and how others begin that carry the same; empty where nobody can say."""
        raw = schema_of(value)
        if raw is None:
            return (), b""
        prefix = b"".join((_HEAD, raw, _TAIL))
        return self.of(raw), prefix if value.startswith(prefix) else b""

    def of(self, raw: bytes) -> MessageSchema:
        """What a schema says."""
        known = self._known.get(raw)
        if known is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            known = self._known[raw] = self._describe(raw)
        return known


def _carrying(values: pa.BinaryArray) -> Ints:
    """Messages that may carry a schema."""
    if not len(values) or pc.all(pc.starts_with(values, _BARE)).as_py():
        return np.zeros(0, np.int64)
    return rows_where(pc.match_substring_regex(values, _MAY_CARRY))


def _rows_of(values: pa.BinaryArray, rows: Ints) -> pa.BinaryArray:
    return values if len(rows) == len(values) else values.take(pa.array(rows))
