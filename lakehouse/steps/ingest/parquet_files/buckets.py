"""Iceberg's bucket transform for whole columns; PyIceberg takes a value at a time, which is a hundred times slower."""

from collections.abc import Callable

import mmh3
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyiceberg.types import DateType, IcebergType, IntegerType, LongType, StringType, TimestampType, TimestamptzType

_WHOLE_NUMBERS = (IntegerType, LongType, DateType, TimestampType, TimestamptzType)
_POSITIVE = 0x7FFFFFFF

_U32 = npt.NDArray[np.uint32]


def bucket(kind: IcebergType, count: int) -> Callable[[pa.Array], pa.Array] | None:
    """The bucket of every value of a column in internal form; None for types that are taken one by one."""
    if isinstance(kind, _WHOLE_NUMBERS):
        return lambda column: _buckets(hash_longs(column.fill_null(0).to_numpy(zero_copy_only=False)), count, column)
    if isinstance(kind, StringType):
        return lambda column: _buckets(_hash_strings(column), count, column)
    return None


def hash_longs(values: npt.NDArray[np.generic]) -> _U32:
    """Murmur3 (32 bits, seed 0) of numbers as 8 bytes, little endian, as Iceberg hashes every whole number."""
    bits = values.astype(np.int64).view(np.uint64)
    hashed = np.zeros(len(bits), dtype=np.uint32)
    for half in (bits & np.uint64(0xFFFFFFFF), bits >> np.uint64(32)):
        block = _rotated(half.astype(np.uint32) * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
        hashed = _rotated(hashed ^ block, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    hashed ^= np.uint32(8)
    hashed = (hashed ^ (hashed >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashed = (hashed ^ (hashed >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return hashed ^ (hashed >> np.uint32(16))


def _rotated(bits: _U32, by: int) -> _U32:
    return (bits << np.uint32(by)) | (bits >> np.uint32(32 - by))


def _hash_strings(column: pa.Array) -> _U32:
    encoded = column.dictionary_encode()
    hashed = np.array(
        [mmh3.hash(text, signed=False) for text in encoded.dictionary.to_pylist()] or [0], dtype=np.uint32
    )
    return hashed[encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)]


def _buckets(hashed: _U32, count: int, column: pa.Array) -> pa.Array:
    numbers = (hashed & np.uint32(_POSITIVE)) % np.uint32(count)
    return pa.array(numbers.astype(np.int32), mask=column.is_null().to_numpy(zero_copy_only=False))
