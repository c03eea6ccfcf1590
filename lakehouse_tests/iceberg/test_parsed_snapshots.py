"""A snapshot is parsed once, and again where its JSON is another."""

import pytest
from pydantic import ValidationError
from pyiceberg.table.snapshots import SnapshotLogEntry

from lakehouse.iceberg.parsed_snapshots import parsed_log, parsed_snapshots

SNAPSHOT = {
    "snapshot-id": 7,
    "sequence-number": 1,
    "timestamp-ms": 1_700_000_000_000,
    "manifest-list": "file:///m.avro",
    "summary": {"operation": "append", "note": "first"},
}


def test_what_was_parsed_is_one_object_and_stays_in_its_place() -> None:
    other = {**SNAPSHOT, "snapshot-id": 8}
    first, second = parsed_snapshots([SNAPSHOT, other])
    again = parsed_snapshots([other, SNAPSHOT])
    assert again == [second, first]
    assert again[1] is first
    assert (first.snapshot_id, second.snapshot_id) == (7, 8)


def test_what_was_edited_in_place_is_parsed_anew() -> None:
    [before] = parsed_snapshots([SNAPSHOT])
    [after] = parsed_snapshots([{**SNAPSHOT, "summary": {"operation": "append", "note": "second"}}])
    assert before.summary is not None
    assert after.summary is not None
    assert (before.summary["note"], after.summary["note"]) == ("first", "second")


def test_what_is_no_snapshot_is_refused_each_time() -> None:
    for _ in range(2):
        with pytest.raises(ValidationError):
            parsed_snapshots([{"snapshot-id": 9}])


def test_entries_of_the_log_are_parsed_once() -> None:
    entry = {"snapshot-id": 7, "timestamp-ms": 1_700_000_000_000}
    [first], [second] = parsed_log([entry]), parsed_log([dict(entry)])
    assert first == SnapshotLogEntry.model_validate(entry)
    assert second is first


@pytest.mark.parametrize("odd", [[{"snapshot-id": "7"}], [{"snapshot-id": "7", "timestamp-ms": 1.5}], [7], "x", None])
def test_what_is_no_log_is_left_to_the_parser_of_the_document(odd: object) -> None:
    assert parsed_log(odd) == odd
