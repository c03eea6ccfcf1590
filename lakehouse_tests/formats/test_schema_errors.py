"""A type that a column cannot take is named by what the writer calls it, and by the column's kind."""

import pyarrow as pa

from lakehouse.formats.schema_errors import unfit


def test_nested_types_are_named_by_their_kind_alone() -> None:
    assert unfit("int32", pa.string(), "a.b").error.message == "`a.b`: the writer has int32, which is no string"
    assert unfit("a map", pa.list_(pa.int32()), "x").error.message.endswith("is no list")
    assert unfit("bool", pa.map_(pa.string(), pa.int32()), "x").error.message.endswith("is no map")
    assert unfit("bool", pa.struct([("y", pa.int32())]), "x").error.message.endswith("is no struct")
