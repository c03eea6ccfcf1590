"""The types that JSON itself can carry, for every type that a table can declare.

Decoding is two steps. *Parsing* turns bytes into wire columns: numbers, booleans and strings as JSON has them.
*Conversion* turns wire columns into the declared types, such as a timestamp from its text, a whole column at a time.
"""

import pyarrow as pa
from pyarrow import types as t

from lakehouse.errors import LakehouseError


class UndecodableType(LakehouseError):
    """A declared type that has no JSON form here."""


def small_types(schema: pa.Schema) -> pa.Schema:
    """The same schema with 32-bit offsets: PyIceberg takes large strings and lists, which no batch of records needs."""
    return pa.schema([_small(field) for field in schema], metadata=schema.metadata)


def _small(field: pa.Field) -> pa.Field:
    kind = field.type
    if t.is_large_string(kind):
        kind = pa.string()
    elif t.is_large_binary(kind):
        kind = pa.binary()
    elif t.is_struct(kind):
        kind = pa.struct([_small(child) for child in kind])
    elif t.is_large_list(kind) or t.is_list(kind):
        kind = pa.list_(_small(kind.value_field))
    elif t.is_map(kind):
        kind = pa.map_(_small(kind.key_field), _small(kind.item_field))
    return field.with_type(kind)


def wire_type(declared: pa.DataType, path: str) -> pa.DataType:
    """The Arrow type in which a parser delivers a field.

    Args:
        declared: The type of the table's column, or of a part of it.
        path: Where it is, for the error.

    Raises:
        UndecodableType: There is no JSON form for the type.
    """
    if t.is_boolean(declared) or t.is_int32(declared) or t.is_int64(declared) or t.is_string(declared):
        return declared
    if t.is_floating(declared) or t.is_decimal128(declared):
        return declared
    if t.is_date32(declared) or t.is_binary(declared) or (t.is_timestamp(declared) and declared.unit == "us"):
        return pa.string()
    return _nested_wire_type(declared, path)


def _nested_wire_type(declared: pa.DataType, path: str) -> pa.DataType:
    if t.is_struct(declared):
        return pa.struct([pa.field(f.name, wire_type(f.type, f"{path}.{f.name}")) for f in declared])
    if t.is_list(declared):
        return pa.list_(pa.field(declared.value_field.name, wire_type(declared.value_type, f"{path}[]")))
    if t.is_map(declared) and t.is_string(declared.key_type):
        return pa.map_(pa.string(), wire_type(declared.item_type, f"{path}{{}}"))
    raise UndecodableType(
        f"Column {path} has type {declared}, which JSON records cannot fill.",
        remedy="declare one of boolean, int, long, float, double, decimal, string, binary, date, timestamp, struct, "
        "list, or map with string keys.",
    )


def wire_schema(schema: pa.Schema) -> pa.Schema:
    """The wire form of a whole table."""
    return pa.schema([pa.field(f.name, wire_type(f.type, f.name)) for f in schema])
