"""Columns that hold parts of the Kafka record itself: key, value, headers; whatever the format of the value."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute
from pyarrow import types as t

from lakehouse.declarations.columns.record_parts import HEADER, HEADERS, VALUE
from lakehouse.formats.headers import Header, read_headers
from lakehouse.formats.verdict import RecordError

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers
_Headers = list[list[Header] | None]
_Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RecordColumns:
    """The columns of a table, some of which hold parts of the record.

    Attributes:
        schema: all columns, in order.
        parts: column → `key`, `value`, `headers` or `header:<name>`, of which the last of that name counts.
    """

    schema: pa.Schema
    parts: Mapping[str, str]

    @property
    def value_schema(self) -> pa.Schema:
        """The columns that are decoded from the value."""
        return pa.schema([field for field in self.schema if field.name not in self.parts])

    def complete(
        self, records: pa.RecordBatch, rows: _Rows | None, decoded: pa.RecordBatch, errors: dict[int, RecordError]
    ) -> tuple[_Rows | None, pa.RecordBatch]:
        """Adds the record's parts to what was decoded of the values.

        Args:
            records: with `key`, `value` and `headers`, the last as JSON.
            rows: which records were decoded; None: all.
            decoded: their columns, without those of parts.
            errors: takes the records whose parts do not fit, by their row in `records`.

        Returns:
            Which records are left, and all of their columns.
        """
        chosen = records if rows is None else records.take(pa.array(rows))
        count = chosen.num_rows
        parsed = (
            [read_headers(text) if text else None for text in chosen.column("headers").to_pylist()]
            if any(part not in ("key", VALUE) for part in self.parts.values())
            else []
        )
        refused: dict[int, RecordError] = {}
        arrays: list[pa.Array] = []
        for field in self.schema:
            if field.name in self.parts:
                arrays.append(self._part(field, chosen, parsed, refused))
            else:
                arrays.append(decoded.column(field.name))
        whole = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        if not refused:
            return rows, whole
        for place, error in refused.items():
            errors[place if rows is None else int(rows[place])] = error
        left = np.delete(np.arange(count), list(refused))
        return left if rows is None else rows[left], whole.take(pa.array(left))

    def _part(
        self, field: pa.Field, records: pa.RecordBatch, headers: _Headers, refused: dict[int, RecordError]
    ) -> pa.Array:
        part = self.parts[field.name]
        if part == HEADERS:
            entries = [None if each is None else [{"key": h.key, "value": h.value} for h in each] for each in headers]
            array: Any = pa.array(entries, field.type)
        elif part.startswith(HEADER):
            name = part.removeprefix(HEADER)
            values = [next((h.value for h in reversed(each or ()) if h.key == name), None) for each in headers]
            array = _as(field, pa.array(values, pa.binary()), refused)
        else:
            array = _as(field, records.column(part), refused)
        if not field.nullable and array.null_count:
            error = (
                RecordError("tombstone", "the record has no value")
                if part == VALUE
                else RecordError("missing_field", f"`{field.name}` is required, but the record has no {part}")
            )
            for place in np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False)).tolist():
                refused.setdefault(place, error)
        return array


def _as(field: pa.Field, raw: Any, refused: dict[int, RecordError]) -> pa.Array:
    """Bytes, or text where the column is text."""
    raw = raw.cast(pa.binary())
    if not t.is_string(field.type):
        return raw
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        texts: list[str | None] = []
        for place, value in enumerate(raw.to_pylist()):
            try:
                texts.append(None if value is None else value.decode())
            except UnicodeDecodeError:
                refused[place] = RecordError("wrong_type", f"`{field.name}`: not UTF-8")
                texts.append("")
        return pa.array(texts, pa.string())
