"""Records behind frames to rows: a piece at a time, each group of a piece by the schema that its records name."""

from collections.abc import Callable, Sequence

import pyarrow as pa

from lakehouse.formats.arrays import spread
from lakehouse.formats.decoded import Decoded, Observed, SchemaId
from lakehouse.formats.frames import WriterSchemas, framed_pieces
from lakehouse.formats.frames.framed import Framed, Rows
from lakehouse.formats.verdict import RecordError

DecodePiece = Callable[[Framed, Observed], tuple[pa.RecordBatch, dict[int, RecordError]]]
"""Rows of one piece and the errors of some of them; what is seen of schemas is added to the second argument."""


def decode_framed(
    schema: pa.Schema,
    schemas: WriterSchemas,
    values: pa.BinaryArray | pa.LargeBinaryArray,
    headers: pa.StringArray | None,
    decode: DecodePiece,
) -> Decoded:
    """Every value as a row or an error.

    Args:
        schema: of the rows.
        schemas: of the writers.
        values: the records.
        headers: of the records, where a frame may be among them.
        decode: what makes rows of one piece.
    """
    batches: list[pa.RecordBatch] = []
    errors: dict[int, RecordError] = {}
    observed = Observed()
    for start, framed in framed_pieces(schemas, values, headers):
        batch, refused = decode(framed, observed)
        batches.append(batch)
        errors.update((start + row, error) for row, error in refused.items())
    if not batches:
        batches = [pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)]
    whole = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
    return Decoded(whole, errors, observed)


class GroupedColumns:
    """The columns of one piece, group by group; rows that no group has are null."""

    def __init__(self, schema: pa.Schema, count: int) -> None:
        """Prepares.

        Args:
            schema: of the rows.
            count: how many there are.
        """
        self._schema, self._count = schema, count
        self._columns: list[list[pa.Array]] = [[] for _ in schema]
        self._rows: list[Rows] = []

    def add(self, rows: Rows, columns: Sequence[pa.Array]) -> None:
        """Take in a group."""
        self._rows.append(rows)
        for arrays, array in zip(self._columns, columns, strict=True):
            arrays.append(array)

    def batch(self) -> pa.RecordBatch:
        """All rows in their order."""
        spreads = [
            spread(arrays, self._rows, self._count, field.type)
            for arrays, field in zip(self._columns, self._schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(spreads, schema=self._schema)


def unknown_schema(schema: SchemaId, observed: Observed) -> RecordError:
    """The reason of records whose schema nobody has asked for yet; it is noted, so that it will be."""
    observed.unresolved.add(schema)
    return RecordError("unknown_schema", f"nobody has asked the registry for schema {schema}")
