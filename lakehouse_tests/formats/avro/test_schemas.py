"""A record names its schema in front of its value or in a header, or has its reason."""

import uuid

import numpy as np
import pyarrow as pa
import pytest

from lakehouse.formats.avro import RegistrySchemas
from lakehouse.formats.avro.cursor import Batch
from lakehouse.formats.headers import Header, write_headers

NAME = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")
FRAMED = b"\x00\x00\x00\x00\x07"


def groups(value: bytes, *headers: Header) -> tuple[list[tuple[int | str, int]], dict[int, str]]:
    batch = Batch(pa.array([FRAMED, value], pa.binary()))
    texts = pa.array([None, write_headers(headers)], pa.string())
    made = RegistrySchemas().groups(batch, np.arange(2), texts)
    by_row = {row: (group.schema, group.skip) for group in made for row in group.rows.tolist()}
    assert by_row[0] == (7, 5)
    return [by_row[1]] if 1 in by_row else [], {row: error.error_class for row, error in batch.errors.items()}


@pytest.mark.parametrize(
    ("value", "header", "expected"),
    [
        (b"\x00\x00\x00\x01\x02data", None, (258, 5)),
        (b"\x00\x7f\xff\xff\xff", None, (2**31 - 1, 5)),
        (b"data", b"\x01" + NAME.bytes, (str(NAME), 0)),
        (b"data", b"\x00\x00\x00\x00\x09", (9, 0)),
        (b"\x00\x00\x00\x01\x02data", b"\x01" + NAME.bytes, (str(NAME), 0)),
    ],
    ids=["value", "last-id", "uuid-in-header", "id-in-header", "header-first"],
)
def test_a_record_names_its_schema(value: bytes, header: bytes | None, expected: tuple[int | str, int]) -> None:
    headers = [Header("other", b"x")] + ([Header("__value_schema_id", header)] if header else [])
    assert groups(value, *headers) == ([expected], {})


@pytest.mark.parametrize(
    ("value", "header", "reason"),
    [
        (b"", None, "no_schema_id"),
        (b"\x00\x00\x00", None, "no_schema_id"),
        (b"\x01\x00\x00\x00\x07", None, "no_schema_id"),
        (b"{}   ", None, "no_schema_id"),
        (b"\x00\x80\x00\x00\x00", None, "unknown_schema"),
        (b"\x00\xff\xff\xff\xff", None, "unknown_schema"),
        (b"\x00\x00\x00\x00\x07", b"\x01short", "no_schema_id"),
        (b"\x00\x00\x00\x00\x07", b"\x00\x80\x00\x00\x00", "no_schema_id"),
    ],
)
def test_a_record_that_names_none_is_refused(value: bytes, header: bytes | None, reason: str) -> None:
    assert groups(value, *([Header("__value_schema_id", header)] if header else [])) == ([], {1: reason})
