"""Which message a record is, in Confluent's and in Glue's numbers: as their own writers have them, and their edges."""

import io

import pytest
from confluent_kafka.schema_registry.serde import SchemaId

from lakehouse.formats.protobuf.message_indexes import (
    MOST,
    confluent_indexes,
    glue_rank,
    write_confluent_indexes,
    write_glue_rank,
)


@pytest.mark.parametrize("indexes", [(0,), (1,), (0, 0), (63, 64, 8191), (2**31 - 1,)])
def test_indexes_are_those_of_confluents_own_client(indexes: tuple[int, ...]) -> None:
    theirs = SchemaId("PROTOBUF", 7, None, list(indexes)).id_to_bytes()
    assert theirs[5:] == write_confluent_indexes(indexes)
    assert confluent_indexes(theirs + b"rest", 5) == (indexes, len(theirs))
    read = SchemaId("PROTOBUF")
    read.from_bytes(io.BytesIO(theirs))
    assert read.message_indexes == list(indexes)


def test_a_first_message_that_is_written_out_is_the_same() -> None:
    assert confluent_indexes(b"\x02\x00") == ((0,), 2)


@pytest.mark.parametrize(
    "data",
    [b"", b"\x01", b"\x02", b"\x02\x01", b"\x80", b"\xff" * 9, bytes([(2 * (MOST + 1)) | 0x80, 1]) + b"\0" * 99],
    ids=["nothing", "negative", "no-index", "negative-index", "cut", "endless", "too-many"],
)
def test_what_is_no_list_of_indexes_is_none(data: bytes) -> None:
    assert confluent_indexes(data) is None


def test_a_rank_is_a_plain_number() -> None:
    assert glue_rank(b"\x03x") == (3, 1)
    assert glue_rank(write_glue_rank(300) + b"x") == (300, 2)
    assert glue_rank(b"") is None
    assert glue_rank(b"\xff" * 6) is None
