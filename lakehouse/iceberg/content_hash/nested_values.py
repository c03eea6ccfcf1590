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
        words = np.full(len(column), _STRUCT)
        for child in column.flatten():
            words = _mixed(words + _hashed(child))
    elif pa.types.is_nested(kind):
        words = _of_lists(column)
    else:
        return pl.Series(column).hash(seed=1).to_numpy()
    return np.where(np.asarray(column.is_null()), _NULL, words)


def _of_lists(column: Any) -> _Words:
    """Elements with their places added up from one offset to the next, and the length."""
    ends = np.asarray(column.offsets).astype(np.int64)
    if pa.types.is_map(column.type):
        elements = _mixed(_mixed(_LIST + _hashed(column.keys)) + _hashed(column.items))
    else:
        elements = _hashed(column.values)
    ends, elements = ends - ends[0], elements[ends[0] : ends[-1]]
    lengths = np.diff(ends)
    places = np.arange(len(elements)) - np.repeat(ends[:-1], lengths)
    placed = _mixed(elements + _mixed(places.astype(np.uint64) + _LIST))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(placed, dtype=np.uint64)])
    return _mixed(sums[ends[1:]] - sums[ends[:-1]] + _mixed(lengths.astype(np.uint64)))


def _mixed(words: _Words) -> _Words:
    """Spread every bit over all others (the finalizer of SplitMix64)."""
    words = (words ^ (words >> _SHIFTS[0])) * _FACTORS[0]
    words = (words ^ (words >> _SHIFTS[1])) * _FACTORS[1]
    return words ^ (words >> _SHIFTS[2])
