"""Gives required fields of missing structs a value, since Parquet's writer in Arrow looks at them even so.

Iceberg lets an optional struct have required fields. Where the struct is missing so are its fields, and Arrow has nulls
there. Its Parquet writer counts them and refuses; what stands in such a place is never written, so anything but null
will do.
"""

from decimal import Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute
from pyarrow import types as t

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers


def solid(array: pa.Array) -> pa.Array:
    """The same values, without nulls in required fields of structs that are missing."""
    return _filled(array) if _has_required_field(array.type) else array


@lru_cache(maxsize=4096)
def _has_required_field(kind: pa.DataType) -> bool:
    if t.is_struct(kind):
        return any(not field.nullable or _has_required_field(field.type) for field in kind)
    if t.is_map(kind):
        return _has_required_field(kind.item_type) or _has_required_field(kind.key_type)
    return t.is_list(kind) and _has_required_field(kind.value_type)


def _filled(array: pa.Array) -> pa.Array:
    kind = array.type
    if not _has_required_field(kind):
        return array
    mask = array.is_null() if array.null_count else None
    if t.is_struct(kind):
        # flatten() also applies the struct's own nulls to its fields, and a slice's offset.
        parts = [
            _filled(child if field.nullable else _present(child))
            for field, child in zip(kind, array.flatten(), strict=True)
        ]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=mask)
    unsliced = pa.concat_arrays([array]) if array.offset else array
    if t.is_map(kind):
        return _map(unsliced, _filled(unsliced.keys), _filled(unsliced.items), mask)
    return pa.ListArray.from_arrays(_offsets(unsliced), _filled(unsliced.values), type=kind, mask=mask)


def _present(array: pa.Array) -> pa.Array:
    """The array with some value in place of each null."""
    kind = array.type
    if not array.null_count:
        return array
    if t.is_struct(kind):
        parts = [
            child if field.nullable else _present(child) for field, child in zip(kind, array.flatten(), strict=True)
        ]
        return pa.StructArray.from_arrays(parts, fields=list(kind))
    if t.is_map(kind):
        unsliced = pa.concat_arrays([array])
        return _map(unsliced, unsliced.keys, unsliced.items, None)
    if t.is_list(kind):
        unsliced = pa.concat_arrays([array])
        return pa.ListArray.from_arrays(_offsets(unsliced), unsliced.values, type=kind)
    values = array.drop_null()
    return pc.fill_null(array, values[0] if len(values) else _zero(kind))


def _zero(kind: pa.DataType) -> pa.Scalar:
    if t.is_string(kind):
        return pa.scalar("")
    if t.is_binary(kind):
        return pa.scalar(b"")
    if t.is_decimal(kind):
        return pa.scalar(Decimal(0), kind)
    return pa.scalar(0, pa.int32() if t.is_date32(kind) else pa.int64()).cast(kind)


def _offsets(array: Any) -> pa.Array:
    return array.offsets


def _map(array: Any, keys: pa.Array, items: pa.Array, mask: Any) -> pa.Array:
    return pa.MapArray.from_arrays(array.offsets, keys, items, type=array.type, mask=mask)
