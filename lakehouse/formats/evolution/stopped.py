"""A table that takes no more records: each goes to quarantine, and waits there for `lakehouse reprocess`."""

from dataclasses import dataclass

import pyarrow as pa

from lakehouse.formats.decoded import Decoded
from lakehouse.formats.verdict import RecordError

TABLE_STOPPED = "table_stopped"


@dataclass(frozen=True)
class StoppedTable:
    """Refuses every record of a table, in the place of its decoder."""

    table: str
    reason: str

    def decode(self, values: pa.BinaryArray | pa.LargeBinaryArray, headers: pa.StringArray | None = None) -> Decoded:
        """No row."""
        del headers
        error = RecordError("table_stopped", f"{self.table} takes no records: {self.reason}")
        empty = pa.RecordBatch.from_arrays([], schema=pa.schema([]))
        return Decoded(empty, dict.fromkeys(range(len(values)), error))
