"""A record names its schema in front of its value or in a header, or has its reason."""

import uuid

import pyarrow as pa
import pytest

from lakehouse.formats.frames import RegistrySchemas, framed_pieces
from lakehouse.formats.headers import Header, write_headers

NAME = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")
FRAMED = b"\x00\x00\x00\x00\x07"


def groups(value: bytes, *headers: Header) -> tuple[list[tuple[int | str, int]], dict[int, str]]:
    texts = pa.array([None, write_headers(headers)], pa.string())
    framed = RegistrySchemas().framed(pa.array([FRAMED, value], pa.binary()), texts)
    by_row = {row: (group.schema, group.skip) for group in framed.groups for row in group.rows.tolist()}
    assert by_row[0] == (7, 5)
    return [by_row[1]] if 1 in by_row else [], {row: error.error_class for row, error in framed.errors.items()}


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


def test_registries_are_told_apart_record_by_record() -> None:
    glue = b"\x03\x00" + NAME.bytes
    values = pa.array([FRAMED, glue + b"x", None, b"\x01", glue, FRAMED[:3], b"data"], pa.binary())
    headers = pa.array([None] * 6 + [write_headers([Header("__value_schema_id", b"\x01" + NAME.bytes + b"\x02\x04")])])
    framed = RegistrySchemas(glue=True).framed(values.slice(0), headers)
    assert {(group.schema, group.skip, group.suffix): group.rows.tolist() for group in framed.groups} == {
        (7, 5, None): [0],
        (f"glue:{NAME}", 18, None): [1, 4],
        (str(NAME), 0, b"\x02\x04"): [6],
    }
    assert {row: error.error_class for row, error in framed.errors.items()} == {
        2: "tombstone",
        3: "no_schema_id",
        5: "no_schema_id",
    }
    assert framed.errors[3].message.startswith("the value does not begin with byte 0 or 3,")
    only_glue = RegistrySchemas(confluent=False, glue=True)
    assert only_glue.ids_in(values, headers) == {f"glue:{NAME}"}
    assert RegistrySchemas().framed(values, headers).errors[1].error_class == "no_schema_id"


def test_places_are_those_of_the_whole_and_not_of_a_piece() -> None:
    values = pa.array([FRAMED, b"", *([FRAMED] * 5000), b"\x00"], pa.binary()).slice(1)
    errors = {start + row for start, framed in framed_pieces(RegistrySchemas(), values, None) for row in framed.errors}
    assert errors == {0, 5001}
