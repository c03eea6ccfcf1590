"""Nested values as one number each: polars hashes a null within a list otherwise when other rows are beside it.

Every value has its place in the number: a null is not nothing, an empty list is not a null, and the same elements in
another order or in lists of other lengths are another value.
"""

from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

_Words = NDArray[np.uint64]
_NULL, _STRUCT, _LIST = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9)
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def flat(column: pa.Array) -> pa.Array:
    """The column itself, if its values are simple; else one number for each value."""
    if isinstance(column, pa.ExtensionArray):
        return flat(column.storage)
    return pa.array(_hashed(column)) if pa.types.is_nested(column.type) else column


def _hashed(column: pa.Array) -> _Words:
    """A number for each value, in wrapping arithmetic."""
    if isinstance(column, pa.ExtensionArray):
        return _hashed(column.storage)
    kind = column.type
    if pa.types.is_struct(kind):
        hashes = np.full(len(column), _STRUCT)
        for child in column.flatten():
            hashes = _mixed(hashes + _hashed(child))
    elif pa.types.is_nested(kind):
        hashes = _of_lists(column)
    else:
        return pl.Series(column).hash(seed=1).to_numpy()
    return np.where(np.asarray(column.is_null()), _NULL, hashes)


def _of_lists(column: Any) -> _Words:
    """Elements with their places added up from one offset to the next, and the length."""
    offsets = np.asarray(column.offsets).astype(np.int64)
    if pa.types.is_map(column.type):
        elements = _mixed(_mixed(_LIST + _hashed(column.keys)) + _hashed(column.items))
    else:
        elements = _hashed(column.values)
    offsets, elements = offsets - offsets[0], elements[offsets[0] : offsets[-1]]
    lengths = np.diff(offsets)
    positions = np.arange(len(elements)) - np.repeat(offsets[:-1], lengths)
    hashes = _mixed(elements + _mixed(positions.astype(np.uint64) + _LIST))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)])
    return _mixed(sums[offsets[1:]] - sums[offsets[:-1]] + _mixed(lengths.astype(np.uint64)))


def _mixed(hashes: _Words) -> _Words:
    """Spread every bit over all others (the finalizer of SplitMix64)."""
    hashes = (hashes ^ (hashes >> _SHIFTS[0])) * _FACTORS[0]
    hashes = (hashes ^ (hashes >> _SHIFTS[1])) * _FACTORS[1]
    return hashes ^ (hashes >> _SHIFTS[2])
