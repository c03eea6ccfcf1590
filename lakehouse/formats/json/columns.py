"""Members of parsed records to wire columns."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from msgspec.structs import astuple
from pyarrow import types as t

from lakehouse.formats.json.model import is_raw


def wire_columns(records: Sequence[msgspec.Struct], wire: pa.Schema) -> list[pa.Array]:
    """One array per field; floats and decimals as text, which conversion reads."""
    members = zip(*map(astuple, records), strict=True) if records else [()] * len(wire)
    return [_array(values, f.type) for values, f in zip(members, wire, strict=True)]


def _array(values: Sequence[Any], wire: pa.DataType) -> pa.Array:
    if is_raw(wire):
        as_text = _text_of_decimal if t.is_decimal(wire) else _text_of_json
        return pa.array([as_text(value) for value in values], pa.string())
    if not t.is_nested(wire):
        return pa.array(values, wire)
    absent = [value is None for value in values]
    mask = pa.array(absent, pa.bool_())
    if t.is_struct(wire):
        nothing = (None,) * wire.num_fields
        rows = [nothing if value is None else astuple(value) for value in values]
        members = zip(*rows, strict=True) if rows else [()] * len(nothing)
        children = [_array(member, f.type) for member, f in zip(members, wire, strict=True)]
        fields = [pa.field(f.name, child.type) for f, child in zip(wire, children, strict=True)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=mask)
    present = [() if value is None else value for value in values]
    offsets = pa.array(np.cumsum([0, *map(len, present)], dtype=np.int64).astype(np.int32))
    if t.is_map(wire):
        entries = [entry.items() if entry else () for entry in present]
        keys = pa.array([key for entry in entries for key, _ in entry], pa.string())
        items = _array([item for entry in entries for _, item in entry], wire.item_type)
        return pa.MapArray.from_arrays(offsets, keys, items, pa.map_(pa.string(), items.type), mask=mask)
    elements = _array(list(chain.from_iterable(present)), wire.value_type)
    return pa.ListArray.from_arrays(
        offsets, elements, pa.list_(pa.field(wire.value_field.name, elements.type)), mask=mask
    )


def _text_of_json(raw: msgspec.Raw | None) -> str | None:
    """The JSON of a value; none for null."""
    text = "null" if raw is None else bytes(raw).decode()
    return None if text == "null" else text


def _text_of_decimal(raw: msgspec.Raw | None) -> str | None:
    """The JSON of a number, or what is in a string that should hold one."""
    text = _text_of_json(raw)
    return msgspec.json.decode(text, type=str) if text and text.startswith('"') else text
