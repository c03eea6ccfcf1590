"""A typed msgspec model for a schema: it is what makes parsing strict."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import pyarrow as pa
from pyarrow import types as t

from lakehouse.formats.json.wire import wire_schema

_Int = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
_Long = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_SCALARS = {pa.bool_(): bool, pa.int32(): _Int, pa.int64(): _Long, pa.float64(): float, pa.string(): str}


def record_model(
    schema: pa.Schema, *, tag_field: str | None = None, tag: str | None = None, strict: bool = False
) -> type[msgspec.Struct]:
    """A struct with one optional member per column.

    Members have names of our own, so that a column may be called anything. All are optional here: what is required
    is checked in conversion, where missing and null are the same. They can form no cycles, so the garbage collector
    need not know them.

    Args:
        schema: The table's columns.
        tag_field: A field that must be there,
        tag: and have this value. It is not among the columns.
        strict: Whether a field that is no column, or within one, is refused; otherwise it is passed over.
    """
    return _struct(list(wire_schema(schema)), tag_field=tag_field, tag=tag, strict=strict)


def _struct(
    fields: Sequence[pa.Field], *, tag_field: str | None = None, tag: str | None = None, strict: bool = False
) -> type[msgspec.Struct]:
    names = {f"f{i}": f.name for i, f in enumerate(fields)}
    members = [(member, _optional(f.type, strict=strict), None) for member, f in zip(names, fields, strict=True)]
    return msgspec.defstruct(
        "Record", members, rename=names, gc=False, tag_field=tag_field, tag=tag, forbid_unknown_fields=strict
    )


def is_raw(wire: pa.DataType) -> bool:
    """Numbers to be read from their text: through a double a float would be rounded twice, a decimal changed."""
    return t.is_decimal(wire) or t.is_float32(wire)


def _optional(wire: pa.DataType, *, strict: bool) -> Any:
    """The type or null. Numbers that are no doubles are taken raw, which includes null and would not in a union."""
    return msgspec.Raw if is_raw(wire) else _member(wire, strict=strict) | None


def _member(wire: pa.DataType, *, strict: bool) -> Any:
    if t.is_struct(wire):
        return _struct(list(wire), strict=strict)
    if t.is_list(wire):
        return list[_optional(wire.value_type, strict=strict)]
    if t.is_map(wire):
        return dict[str, _optional(wire.item_type, strict=strict)]
    return _SCALARS[wire]
