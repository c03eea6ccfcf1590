"""A document is encoded as it is, and a snapshot that other documents had already is not encoded anew."""

from typing import Any
from unittest import mock

import msgspec

from lakehouse.iceberg import encoded_document as module
from lakehouse.iceberg.encoded_document import encoded_document


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
