"""JSON records to the columns of one table."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from lakehouse.formats.decoded import Decoded
from lakehouse.formats.json.assembly import Assembly
from lakehouse.formats.json.extra_fields import extra_fields
from lakehouse.formats.json.model import record_model
from lakehouse.formats.json.pieces import no_garbage_collection, pieces
from lakehouse.formats.json.record_parser import RecordParser
from lakehouse.formats.json.wire import small_types
from lakehouse.formats.source_names import QuotedNames, source_schema
from lakehouse.formats.verdict import RecordError


class JsonDecoder:
    """Decodes records against one schema; a field is required iff it is not nullable.

    A piece of good records is parsed in one go. With a bad one among them the piece is parsed again one by one, which
    tells the errors and costs half as much again. The rules are the same, since it is the same parser.

    The decoder is cheap to pickle: only the schema travels.
    """

    def __init__(self, schema: pa.Schema, aliases: Mapping[str, str] | None = None) -> None:
        """Prepares for a schema.

        Args:
            schema: The columns. Large strings and lists become small ones.
            aliases: Column → what records call it, where that is not its name.

        Raises:
            UndecodableType: A column's type has no JSON form.
        """
        self.schema = small_types(schema)
        self._aliases = dict(aliases or {})
        self._own = source_schema(self.schema, self._aliases)
        self._quoted = QuotedNames(self._aliases.values())
        self._parser = RecordParser(record_model(self._own))
        self._known = {self._aliases.get(name) or name for name in self.schema.names}

    def __reduce__(self) -> tuple[type["JsonDecoder"], tuple[pa.Schema, dict[str, str]]]:
        return JsonDecoder, (self.schema, self._aliases)

    def decode(self, values: pa.BinaryArray | pa.LargeBinaryArray) -> Decoded:
        """Decodes every value to a row or an error."""
        assembly = Assembly(self._own)
        errors: dict[int, RecordError] = {}
        observed = extra_fields(values, self._known)
        with no_garbage_collection():
            for start, piece in pieces(self._quoted.hide(values)):
                records = self._parser.parse_all(piece)
                if records is None:
                    records, refused = self._parser.parse_each(piece)
                    errors.update((start + position, error) for position, error in refused.items())
                assembly.add(records)
            batch, broken = assembly.finish()
            batch = pa.RecordBatch.from_arrays(batch.columns, schema=self.schema)
        if not errors:
            return Decoded(batch, self._quoted.shown(broken), observed)
        rows = np.delete(np.arange(len(values)), list(errors))
        errors.update((int(rows[row]), error) for row, error in broken.items())
        return Decoded(_spread(batch, rows, len(values)), self._quoted.shown(errors), observed)


def _spread(batch: pa.RecordBatch, rows: np.ndarray, count: int) -> pa.RecordBatch:
    """The batch with its rows at the given places among `count`, and nulls elsewhere."""
    source = np.full(count, -1, dtype=np.int64)
    source[rows] = np.arange(len(rows))
    return batch.take(pa.array(source, mask=source < 0))
