"""The decoder against Google's own library, on random message types and messages, whole and damaged."""

import pyarrow as pa
import pytest
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given, settings
from hypothesis import strategies as st

from lakehouse.formats.frames import SingleSchema
from lakehouse.formats.protobuf import MessageTypes, ProtobufDecoder
from lakehouse_tests.formats.avro.test_random import DAMAGES, Damage, damaged
from lakehouse_tests.formats.protobuf.random_schemas import SHAPES, Shape, compiled_shape, fill

EXAMPLES = [40, pytest.param(1000, marks=[pytest.mark.soak, pytest.mark.slow])]


@pytest.mark.parametrize("examples", EXAMPLES, ids=["short", "long"])
def test_every_message_is_read_as_it_was_written(examples: int) -> None:
    @settings(max_examples=examples, derandomize=True, deadline=None, database=None)
    @given(st.data(), SHAPES)
    def check(data: st.DataObject, shape: Shape) -> None:
        schema = compiled_shape(shape)
        types = MessageTypes(schema)
        kind = GetMessageClass(types.named("r.M0"))
        values = data.draw(st.lists(shape.values, min_size=1, max_size=6))
        encoded = [fill(kind(), shape, value).SerializeToString() for value in values]
        decoder = ProtobufDecoder(pa.schema(list(shape.column)), SingleSchema("", schema), message="r.M0")
        decoded = decoder.decode(pa.array(encoded, pa.binary()))
        assert decoded.errors == {}
        assert decoded.observed.extra == {}
        assert decoded.batch.to_pylist() == [shape.shown(value) for value in values]
        decoded.batch.validate(full=True)

    check()


@pytest.mark.parametrize("examples", EXAMPLES, ids=["short", "long"])
def test_a_damaged_message_is_judged_as_by_the_library_and_hurts_no_other(examples: int) -> None:
    @settings(max_examples=examples, derandomize=True, deadline=None, database=None)
    @given(st.data(), SHAPES, st.lists(DAMAGES, min_size=1, max_size=6))
    def check(data: st.DataObject, shape: Shape, damages: list[list[Damage]]) -> None:
        schema = compiled_shape(shape)
        types = MessageTypes(schema)
        kind = GetMessageClass(types.named("r.M0"))
        value = data.draw(shape.values)
        good = fill(kind(), shape, value).SerializeToString(deterministic=True)
        values = [good, *(value for damage in damages for value in (damaged(good, damage), good))]
        decoder = ProtobufDecoder(pa.schema(list(shape.column)), SingleSchema("", schema), message="r.M0")
        decoded = decoder.decode(pa.array(values, pa.binary()))
        rows = decoded.batch.to_pylist()
        for row, record in enumerate(values):
            try:
                message = kind.FromString(record)
            except DecodeError:
                assert decoded.errors[row].error_class == "not_protobuf"
                continue
            if row in decoded.errors:
                # The library reads it, and a column has no room for what it reads.
                assert decoded.errors[row].error_class in ("out_of_range", "wrong_type")
                assert record != good
            elif record == good:
                assert rows[row] == shape.shown(value)
            else:
                # What the library makes of it is what it makes of it again.
                again = decoder.decode(pa.array([message.SerializeToString(deterministic=True)], pa.binary()))
                assert str(again.batch.to_pylist()[0]) == str(rows[row])

    check()
