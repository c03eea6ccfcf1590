"""Positions stay within their own value, whatever the bytes say."""

import numpy as np
import pyarrow as pa

from lakehouse.formats.avro.cursor import Batch, Cursor


def cursor(*values: bytes) -> Cursor:
    array = pa.array([b"before", *values, b"after"], pa.binary()).slice(1, len(values))
    return Batch(array).cursor(np.arange(len(values)))


def test_numbers_are_zig_zag_of_any_length() -> None:
    numbers = cursor(b"\x00", b"\x01", b"\x02", b"\x80\x01", b"\xfe" + b"\xff" * 8 + b"\x01", b"\xff" * 9 + b"\x01")
    assert numbers.long().tolist() == [0, -1, 1, 64, 2**63 - 1, -(2**63)]
    assert not numbers.batch.errors
    assert (numbers.position == numbers.end).all()


def test_a_number_that_does_not_end_is_marked() -> None:
    numbers = cursor(b"\x80", b"\x02", b"\xff" * 10, b"\xff" * 9 + b"\x02", b"\x80")
    numbers.long()
    assert sorted(numbers.batch.errors) == [0, 2, 3, 4]


def test_bytes_of_a_size_are_there_or_marked() -> None:
    values = cursor(b"\x01\x00\x02\x00", b"\x01", b"\x03\x00")
    assert values.number(np.int16).tolist() == [1, 0, 3]
    assert values.number(np.int16).tolist() == [2, 0, 0]
    assert sorted(values.batch.errors) == [1, 2]


def test_a_part_of_the_values_moves_alone() -> None:
    values = cursor(b"\x02\x04", b"\x06\x08")
    part = values.take(np.array([1]))
    assert part.long().tolist() == [3]
    values.put(np.array([1]), part)
    assert values.long().tolist() == [1, 4]
    assert values.batch.errors == {}
