"""Unions: each value is read as its own branch says, and all of them are put together in one column."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lakehouse.formats.arrays import spread
from lakehouse.formats.avro.cursor import Cursor, Longs
from lakehouse.formats.avro.leaves import Read
from lakehouse.formats.avro.nodes import AvroType
from lakehouse.formats.avro.skipping import branches


def values_of_branches(parts: Sequence[Read | None], declared: pa.DataType) -> Read:
    """A union as the one value that is there.

    Args:
        parts: what reads each branch; None for the one that is null.
        declared: the type of the column.
    """

    def read(cursor: Cursor) -> pa.Array:
        branch = branches(cursor, len(parts))
        pieces, places = list[pa.Array](), list[Longs]()
        for number, part in enumerate(parts):
            chosen = np.flatnonzero(branch == number)
            if chosen.size and part is not None:
                inner = cursor.take(chosen)
                pieces.append(part(inner))
                places.append(chosen)
                cursor.put(chosen, inner)
        return spread(pieces, places, len(cursor), declared)

    return read


def struct_of_branches(parts: Sequence[tuple[int, Read] | None], declared: pa.StructType) -> Read:
    """A union as a struct with a field for each branch, of which the one that is there is not null.

    Args:
        parts: which field is each branch's, below 0 for none, and what reads it; None for the branch that is null.
        declared: the type of the column.
    """

    def read(cursor: Cursor) -> pa.Array:
        branch = branches(cursor, len(parts))
        pieces: list[list[pa.Array]] = [[] for _ in declared]
        places: list[list[Longs]] = [[] for _ in declared]
        null = np.zeros(len(cursor), np.bool_)
        for number, part in enumerate(parts):
            chosen = np.flatnonzero(branch == number)
            if part is None:
                null[chosen] = True
            elif chosen.size:
                inner = cursor.take(chosen)
                array = part[1](inner)
                cursor.put(chosen, inner)
                if part[0] >= 0:
                    pieces[part[0]].append(array)
                    places[part[0]].append(chosen)
        children = [
            spread(arrays, chosen, len(cursor), member.type)
            for arrays, chosen, member in zip(pieces, places, declared, strict=True)
        ]
        return pa.StructArray.from_arrays(children, fields=list(declared), mask=pa.array(null))

    return read


def counterpart(reader: AvroType | None, part: AvroType) -> AvroType | None:
    """The branch of a reader's union, or the reader's type itself, that a branch of the writer is read by."""
    if reader is None or reader.kind != "union":
        return reader
    alike = [branch for branch in reader.parts if branch.kind == part.kind]
    return next((branch for branch in alike if branch.name == part.name), alike[0] if alike else None)
