"""Parsed records, piece by piece, to one batch of a table."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from lakehouse.formats.json.columns import wire_columns
from lakehouse.formats.json.convert import convert
from lakehouse.formats.json.wire import wire_schema
from lakehouse.formats.verdict import RecordError


class Assembly:
    """Collects the records of one table, as columns: the records themselves need not outlive their piece."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._wire = wire_schema(schema)
        self._pieces: list[list[pa.Array]] = []

    def add(self, records: Sequence[Any]) -> None:
        """Takes the next records, parsed by a model of this schema."""
        if records:
            self._pieces.append(wire_columns(records, self._wire))

    def finish(self) -> tuple[pa.RecordBatch, dict[int, RecordError]]:
        """All records as a batch, and those among them that break their types."""
        if not self._pieces:
            return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in self._schema], schema=self._schema), {}
        columns = [pa.concat_arrays([piece[i] for piece in self._pieces]) for i in range(len(self._schema))]
        return convert(columns, self._schema)
