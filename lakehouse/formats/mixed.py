"""Records of several wire formats in one topic, told apart record by record.

What names a schema, in front of its value or in a header, is of the kind that its registry says. What names none is
text: JSON begins with no byte that stands in front of a schema id.
"""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import pyarrow as pa

from lakehouse.formats.arrays import spread
from lakehouse.formats.decoded import Decoded, Observed
from lakehouse.formats.frames import RegistrySchemas, SchemaKind, framed_pieces, names_no_schema
from lakehouse.formats.frames.framed import Rows
from lakehouse.formats.json.wire import small_types
from lakehouse.formats.verdict import RecordError


class ReadsFormat(Protocol):
    """Makes columns of the records of one wire format, or reasons why not."""

    def __call__(self, values: pa.BinaryArray, headers: pa.StringArray | None) -> Decoded:
        """One row a record, or its error."""
        ...


class MixedDecoder:
    """Has each record read by the decoder of its own wire format."""

    def __init__(
        self,
        schema: pa.Schema,
        schemas: RegistrySchemas,
        by_kind: Mapping[SchemaKind, ReadsFormat],
        plain: ReadsFormat | None = None,
    ) -> None:
        """Prepares for a table.

        Args:
            schema: The columns. Large strings and lists become small ones.
            schemas: Of the writers.
            by_kind: What reads the records whose schemas are of a kind.
            plain: What reads those that name no schema; without one they are refused.
        """
        self.schema = small_types(schema)
        self._schemas, self._by_kind, self._plain = schemas, dict(by_kind), plain

    def decode(self, values: pa.BinaryArray | pa.LargeBinaryArray, headers: pa.StringArray | None = None) -> Decoded:
        """Decodes every value to a row or an error."""
        values = values.cast(pa.binary())
        observed, errors = Observed(), dict[int, RecordError]()
        rows_of: dict[SchemaKind | None, list[Rows]] = {}
        for start, framed in framed_pieces(self._schemas, values, headers):
            text = [row for row, error in framed.errors.items() if self._plain and names_no_schema(error)]
            errors.update((start + row, error) for row, error in framed.errors.items() if row not in set(text))
            rows_of.setdefault(None, []).append(np.array(sorted(text), np.int64) + start)
            for group in framed.groups:
                schema = self._schemas.schema(group.schema)
                if schema is None or isinstance(schema, RecordError):
                    if schema is None:
                        observed.unresolved.add(group.schema)
                        schema = RecordError("unknown_schema", f"nobody has asked the registry for {group.schema}")
                    observed.schemas[str(group.schema)] += len(group.rows)
                    errors.update(dict.fromkeys((group.rows + start).tolist(), schema))
                else:
                    rows_of.setdefault(schema.kind, []).append(group.rows + start)
        parts = [(np.sort(np.concatenate(rows)), self._decoder(kind)) for kind, rows in rows_of.items()]
        return self._read([(rows, of) for rows, of in parts if of and len(rows)], values, headers, errors, observed)

    def _decoder(self, kind: SchemaKind | None) -> ReadsFormat | None:
        return self._plain if kind is None else self._by_kind[kind]

    def _read(
        self,
        parts: list[tuple[Rows, ReadsFormat]],
        values: pa.BinaryArray,
        headers: pa.StringArray | None,
        errors: dict[int, RecordError],
        observed: Observed,
    ) -> Decoded:
        columns: list[list[pa.Array]] = [[] for _ in self.schema]
        for rows, decoder in parts:
            taken = pa.array(rows)
            decoded = decoder(values.take(taken), headers and headers.take(taken))
            errors.update((int(rows[row]), error) for row, error in decoded.errors.items())
            observed.schemas.update(decoded.observed.schemas)
            observed.extra.update(decoded.observed.extra)
            observed.unresolved.update(decoded.observed.unresolved)
            for column, array in zip(columns, decoded.batch.columns, strict=True):
                column.append(array)
        places = [rows for rows, _ in parts]
        spreads = [
            spread(arrays, places, len(values), field.type) for arrays, field in zip(columns, self.schema, strict=True)
        ]
        return Decoded(pa.RecordBatch.from_arrays(spreads, schema=self.schema), errors, observed)
