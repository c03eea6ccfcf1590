"""AWS Glue's frame, plain and compressed; what would exhaust memory is refused before it does."""

import tracemalloc
import uuid
import zlib

import pyarrow as pa
import pytest

from lakehouse.formats.frames import RegistrySchemas, framed_pieces, glue

NAME = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")
SCHEMAS = RegistrySchemas(confluent=False, glue=True)


def framed(content: bytes, *, compress: bool = True) -> bytes:
    return bytes([3, 5 if compress else 0]) + NAME.bytes + (zlib.compress(content) if compress else content)


def test_compressed_records_stand_inflated_behind_their_frame() -> None:
    values = pa.array([framed(b"one" * 9), framed(b"two", compress=False), framed(b"")], pa.binary())
    made = SCHEMAS.framed(values, None)
    assert [value[18:] for value in made.values.to_pylist()] == [b"one" * 9, b"two", b""]
    assert [(group.schema, group.rows.tolist(), group.skip) for group in made.groups] == [
        (f"glue:{NAME}", [0, 1, 2], 18)
    ]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (framed(b"x" * 50)[:-1], "bad_compression"),
        (framed(b"x" * 50) + b"y", "bad_compression"),
        (framed(b"x")[:18] + b"no zlib", "bad_compression"),
        (framed(b"x")[:18], "bad_compression"),
        (framed(b"x")[:17], "no_schema_id"),
        (b"\x03", "no_schema_id"),
        (b"\x03\x01" + NAME.bytes, "no_schema_id"),
        (framed(b"\0" * (glue.SMALL + 1)), "bad_compression"),
    ],
    ids=["cut", "longer", "no-zlib", "nothing", "cut-id", "one-byte", "other-compression", "bomb"],
)
def test_a_damaged_frame_is_refused_alone(value: bytes, reason: str) -> None:
    good = framed(b"good")
    made = SCHEMAS.framed(pa.array([good, value, good], pa.binary()), None)
    assert {row: error.error_class for row, error in made.errors.items()} == {1: reason}
    assert [group.rows.tolist() for group in made.groups] == [[0, 2]]


def test_a_bomb_takes_no_more_memory_than_a_record_may_have() -> None:
    bomb = framed(b"\0" * (64 << 20))
    tracemalloc.start()
    made = SCHEMAS.framed(pa.array([bomb], pa.binary()), None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "inflated, the record has more than" in made.errors[0].message
    assert peak < 2 * glue.MOST_BYTES


def test_many_large_records_are_inflated_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glue, "PIECE_BYTES", 1000)
    values = pa.array([framed(bytes([n]) * 600) for n in range(5)] + [None], pa.binary())
    made = list(framed_pieces(SCHEMAS, values, None))
    assert [(start, len(piece.values)) for start, piece in made] == [(0, 2), (2, 2), (4, 2)]
    assert b"".join(value[18:19] for _, piece in made for value in piece.values.to_pylist() if value) == bytes(range(5))
    assert [list(piece.errors) for _, piece in made] == [[], [], [1]]
