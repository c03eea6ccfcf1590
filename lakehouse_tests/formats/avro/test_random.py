"""The decoder against Avro's own library, on random schemas and records, whole and damaged."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakehouse.formats.avro import AvroDecoder
from lakehouse.formats.frames import SingleSchema
from lakehouse_tests.formats.avro.random_schemas import RECORDS, Shape, parsed, read, written

EXAMPLES = [40, pytest.param(1000, marks=[pytest.mark.soak, pytest.mark.slow])]
Damage = tuple[int, int, int]
DAMAGES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=3)


@pytest.mark.parametrize("examples", EXAMPLES, ids=["short", "long"])
def test_every_record_is_read_as_it_was_written(examples: int) -> None:
    @settings(max_examples=examples, derandomize=True, deadline=None, database=None)
    @given(st.data(), RECORDS)
    def check(data: st.DataObject, shape: Shape) -> None:
        text, schema = parsed(shape)
        records = data.draw(st.lists(shape.values, min_size=1, max_size=6))
        encoded = [written(schema, record) for record in records]
        decoded = AvroDecoder(pa.schema(list(shape.column)), SingleSchema(text)).decode(pa.array(encoded, pa.binary()))
        assert decoded.errors == {}
        assert decoded.batch.to_pylist() == [shape.shown(read(schema, record)) for record in encoded]
        assert decoded.batch.to_pylist() == [shape.shown(record) for record in records]
        decoded.batch.validate(full=True)

    check()


@pytest.mark.parametrize("examples", EXAMPLES, ids=["short", "long"])
def test_a_damaged_record_is_refused_or_read_as_by_the_library_and_hurts_no_other(examples: int) -> None:
    @settings(max_examples=examples, derandomize=True, deadline=None, database=None)
    @given(st.data(), RECORDS, st.lists(DAMAGES, min_size=1, max_size=6))
    def check(data: st.DataObject, shape: Shape, damages: list[list[Damage]]) -> None:
        text, schema = parsed(shape)
        good = written(schema, data.draw(shape.values))
        values = [good, *(value for damage in damages for value in (damaged(good, damage), good))]
        decoded = AvroDecoder(pa.schema(list(shape.column)), SingleSchema(text)).decode(pa.array(values, pa.binary()))
        rows = decoded.batch.to_pylist()
        for row, value in enumerate(values):
            if row not in decoded.errors:
                assert same(rows[row], shape.shown(read(schema, value)))
            else:
                assert value != good

    check()


def damaged(encoded: bytes, damage: list[Damage]) -> bytes:
    """Cut, changed or longer."""
    for kind, place, byte in damage:
        position = place % (len(encoded) + 1)
        encoded = [
            encoded[:position],
            encoded[:position] + bytes([byte]) + encoded[position + 1 :],
            encoded[:position] + bytes([byte]) + encoded[position:],
        ][kind]
    return encoded


def same(row: object, expected: object) -> bool:
    """Equal; what is no number is equal as well."""
    if isinstance(row, dict) and isinstance(expected, dict):
        return row.keys() == expected.keys() and all(same(row[name], expected[name]) for name in row)
    if isinstance(row, list | tuple) and isinstance(expected, list | tuple):
        return len(row) == len(expected) and all(map(same, row, expected))
    return row == expected or (row != row and expected != expected)  # NaN
