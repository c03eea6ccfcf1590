"""Snapshots and references of a document that contradict each other."""

from typing import Any

import pytest

from lakehouse.iceberg.contradictions.history import contradictions_of_history

HOUR = 3_600_000


def document(**changes: Any) -> dict[str, Any]:
    """Of two snapshots, the second of which is current."""
    whole = {
        "format-version": 2,
        "last-sequence-number": 2,
        "last-updated-ms": 2 * HOUR,
        "current-snapshot-id": 12,
        "snapshots": [{"snapshot-id": 11, "sequence-number": 1}, {"snapshot-id": 12, "sequence-number": 2}],
        "refs": {"main": {"snapshot-id": 12, "type": "branch"}, "kept": {"snapshot-id": 11, "type": "tag"}},
        "snapshot-log": [{"snapshot-id": 11, "timestamp-ms": HOUR}, {"snapshot-id": 12, "timestamp-ms": 2 * HOUR}],
        "metadata-log": [{"metadata-file": "0.metadata.json", "timestamp-ms": HOUR}],
    }
    return {key.replace("_", "-"): value for key, value in {**whole, **changes}.items()}


EMPTY = {"current_snapshot_id": None, "snapshots": None, "refs": {}, "snapshot_log": None, "metadata_log": None}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        EMPTY,
        {**EMPTY, "current_snapshot_id": -1, "snapshots": []},
        {"refs": None},
        {"format_version": 1, "snapshots": [{"snapshot-id": 11}, {"snapshot-id": 12}]},
        {"refs": {"kept": {"snapshot-id": 11, "type": "tag"}}},
        {"refs": {}},
    ],
    ids=["whole", "empty", "empty of Java", "no references", "format 1", "no branch main", "no reference"],
)
def test_what_writers_write_is_no_contradiction(changes: dict[str, Any]) -> None:
    whole = {key.replace("_", "-"): value for key, value in changes.items()}
    assert list(contradictions_of_history({**document(), **whole})) == []


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("current-snapshot-id", 11, "main is at 12, and the current snapshot is 11"),
        ("current-snapshot-id", 13, "the current snapshot 13 is not in it"),
        ("current-snapshot-id", None, "main is at 12, and the current snapshot is None"),
        ("refs", {"main": {"snapshot-id": 12, "type": "tag"}}, "main is a tag"),
        ("refs", {"main": {"snapshot-id": 13, "type": "branch"}}, "main refers to snapshot 13"),
        ("snapshots", None, "main refers to snapshot 12"),
        ("snapshots", [], "main refers to snapshot 12"),
        ("snapshots", [{"snapshot-id": 12}, {"snapshot-id": 12}, {"snapshot-id": 11}], "2 snapshots have the id 12"),
        ("last-sequence-number", 0, "snapshot 11 has the sequence number 1, and the last is 0"),
    ],
)
def test_a_contradiction_is_named(key: str, value: Any, words: str) -> None:
    assert any(words in message for message in contradictions_of_history({**document(), key: value}))
