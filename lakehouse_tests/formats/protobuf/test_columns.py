"""Fields meet columns by name; the kinds of nesting go where they belong, or say that they do not."""

import pyarrow as pa
import pytest

from lakehouse.formats.protobuf import MessageTypes
from lakehouse.formats.protobuf.columns import match_message
from lakehouse.formats.protobuf.part import Part
from lakehouse.formats.schema_errors import Unfit
from lakehouse_tests.formats.protobuf.writing import compiled, decode, encoded

SCHEMA = compiled(
    """message M { message I { int32 x = 1; } repeated int32 numbers = 1; map<bool, I> by = 2; repeated I items = 3;
    I inner = 4; int32 class = 5; }"""
)


@pytest.mark.parametrize(
    ("column", "kind", "reason"),
    [
        ("numbers", pa.int32(), "`numbers`: the writer has repeated int32, which is no int32"),
        ("by", pa.list_(pa.int32()), "`by`: the writer has a map, which is no list"),
        ("items", pa.map_(pa.string(), pa.int32()), "`items`: the writer has repeated M.I, which is no map"),
        ("inner", pa.string(), "`inner`: the writer has M.I, which is no string"),
        ("by", pa.map_(pa.string(), pa.struct([("x", pa.int32())])), "`by{}`: the writer has bool, which is no string"),
        ("items", pa.list_(pa.struct([("x", pa.bool_())])), "`items[].x`: the writer has int32, which is no bool"),
    ],
)
def test_nesting_that_does_not_fit_is_named_by_its_path(column: str, kind: pa.DataType, reason: str) -> None:
    with pytest.raises(Unfit) as refusal:
        match_message(MessageTypes(SCHEMA).named("M"), [pa.field(column, kind)])
    assert refusal.value.error.message == reason


def test_aliases_count_at_the_top_and_what_is_left_is_extra() -> None:
    types = MessageTypes(SCHEMA)
    match = match_message(types.named("M"), [pa.field("kind", pa.int32())], {"kind": "class"})
    assert match.extra == ("numbers", "by", "items", "inner")
    message = pa.array([encoded(SCHEMA, {"class": 3})], pa.binary())
    assert len(match.read([], Part([], {}))[0]) == 0
    assert decode(pa.schema([("class", pa.int32())]), SCHEMA, *message.to_pylist()).batch.to_pylist() == [{"class": 3}]


def test_maps_and_lists_of_messages_keep_their_rows_apart() -> None:
    item = pa.struct([("x", pa.int32())])
    columns = pa.schema([("by", pa.map_(pa.bool_(), item)), ("items", pa.list_(item)), ("inner", item)])
    values = [
        encoded(SCHEMA, {"by": {"true": {"x": 1}, "false": {}}, "items": [{"x": 5}, {}]}),
        b"",
        encoded(SCHEMA, {"items": [{"x": 6}], "inner": {}}),
    ]
    assert decode(columns, SCHEMA, *values).batch.to_pylist() == [
        {"by": [(False, {"x": 0}), (True, {"x": 1})], "items": [{"x": 5}, {"x": 0}], "inner": None},
        {"by": [], "items": [], "inner": None},
        {"by": [], "items": [{"x": 6}], "inner": {"x": 0}},
    ]
