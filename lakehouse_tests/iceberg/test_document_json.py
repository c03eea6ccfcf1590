"""A document is read and written as it is, and a snapshot that other documents had already only once."""

from typing import Any
from unittest import mock

import msgspec
import pytest
from pyiceberg.exceptions import ValidationError

from lakehouse.iceberg import document_json as module
from lakehouse.iceberg.document_json import decoded_document, encoded_document
from lakehouse.iceberg.parsed_snapshots import parsed_snapshots


def _snapshot(number: int, note: str = "first") -> dict[str, Any]:
    return {"snapshot-id": number, "summary": {"operation": "append", "note": note}}


def test_every_key_stays_in_its_place() -> None:
    document = {"format-version": 2, "snapshots": [_snapshot(1), _snapshot(2)], "last-updated-ms": 3, "unknown": [None]}
    for _ in range(2):
        assert encoded_document(document) == msgspec.json.encode(document)
    for empty in ({"format-version": 2}, {"snapshots": []}, {"snapshots": None}):
        assert encoded_document(empty) == msgspec.json.encode(empty)


def test_what_was_put_in_a_snapshots_place_is_written() -> None:
    for note in ("first", "second"):
        document = {"snapshots": [_snapshot(7, note)]}
        assert msgspec.json.decode(encoded_document(document)) == document


def test_a_snapshot_is_encoded_once() -> None:
    snapshots = [_snapshot(number) for number in range(100, 120)]
    encoded_document({"snapshots": snapshots})
    with mock.patch.object(module.msgspec.json, "encode", wraps=msgspec.json.encode) as encode:
        encoded_document({"snapshots": [*snapshots[1:], _snapshot(120)]})
    assert encode.call_count == 2, "the snapshot that is new, and the document"


def test_the_same_bytes_are_the_same_snapshot_whoever_wrote_them() -> None:
    written = {"snapshots": [_snapshot(200), _snapshot(201)]}
    content = encoded_document(written)
    for spaced in (content, msgspec.json.format(content, indent=2), b"\n " + content):
        document = decoded_document(spaced)
        assert document == written
        assert [*map(id, document["snapshots"])] == [*map(id, written["snapshots"])]


@pytest.mark.parametrize("value", [True, 1.0])
def test_what_python_takes_for_equal_is_another_value(value: object) -> None:
    whole = {**_snapshot(210), "sequence-number": 1, "timestamp-ms": 1, "manifest-list": "m", "later": [1]}
    parsed_snapshots(decoded_document(encoded_document({"snapshots": [whole]}))["snapshots"])
    for other in ({**whole, "later": [value]}, {**whole, "sequence-number": value}):
        read = decoded_document(msgspec.json.encode({"snapshots": [other]}))
        assert encoded_document(read) == msgspec.json.encode({"snapshots": [other]})
    with pytest.raises(ValidationError, match="`snapshot 210: sequence-number` is"):
        parsed_snapshots(read["snapshots"])


@pytest.mark.parametrize(
    "odd", [b'{"snapshots": 5}', b'{"snapshots": null}', b'{"snapshots": [null, 7, [1]], "a": {}}']
)
def test_what_is_no_list_of_snapshots_is_read_as_it_is(odd: bytes) -> None:
    assert decoded_document(odd) == msgspec.json.decode(odd)


@pytest.mark.parametrize(
    "torn", [b"", b'{"snapshots": [{"snapshot-id": 1}, {"sn', b"[]", b'{"a": 01}', b'{"a": "\xff"}']
)
def test_what_is_no_document_is_refused(torn: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decoded_document(torn)
