"""The first bytes of values, whatever their lengths, and wherever a slice begins."""

import pyarrow as pa

from lakehouse.formats.frames.framed import first_bytes


def test_short_and_missing_values_are_filled_with_zeros() -> None:
    values = pa.array([b"skipped", b"abc", None, b"", b"abcdef"], pa.binary()).slice(1)
    first, lengths = first_bytes(values, 4)
    assert [bytes(row) for row in first] == [b"abc\0", b"\0\0\0\0", b"\0\0\0\0", b"abcd"]
    assert lengths.tolist() == [3, 0, 0, 6]


def test_values_without_any_byte_have_none() -> None:
    first, lengths = first_bytes(pa.array([None, b""], pa.binary()), 2)
    assert first.tolist() == [[0, 0], [0, 0]]
    assert lengths.tolist() == [0, 0]
