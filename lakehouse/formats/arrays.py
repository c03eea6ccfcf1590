"""Puts pieces of columns together: items in the order of their lists, and values at the places that they are for."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Longs = npt.NDArray[np.int64]


def offsets_of(counts: Longs) -> pa.Array:
    """The offsets of lists with so many items."""
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return pa.array(offsets.astype(np.int32))


def ordered(pieces: Sequence[pa.Array], owners: Sequence[Longs], declared: pa.DataType) -> pa.Array:
    """Items that were read first by first, second by second, in the order of those who own them."""
    if not pieces:
        return pa.array([], declared)
    items = pa.concat_arrays(pieces)
    return items if len(pieces) == 1 else items.take(pa.array(np.argsort(np.concatenate(owners), kind="stable")))


def spread(pieces: Sequence[pa.Array], places: Sequence[Longs], count: int, declared: pa.DataType) -> pa.Array:
    """Pieces at their places among `count`, and nulls elsewhere."""
    if not pieces:
        return pa.nulls(count, declared)
    if len(pieces) == 1 and len(pieces[0]) == count:
        return pieces[0]
    source = np.full(count, -1, np.int64)
    source[np.concatenate(places)] = np.arange(sum(map(len, places)))
    return pa.concat_arrays(pieces).take(pa.array(source, mask=source < 0))
