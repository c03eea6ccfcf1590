"""Values of another JSON type are named by their place."""

from typing import Any

import pytest

from lakehouse.iceberg.contradictions.values import odd_snapshot, odd_values


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("last-updated-ms", "12", "`last-updated-ms` is '12', and has to be an integer of 64 bits"),
        ("last-column-id", 2.0, "`last-column-id` is 2.0, and has to be an integer of 32 bits"),
        ("last-column-id", True, "`last-column-id` is True, and has to be an integer of 32 bits"),
        ("refs", [], "`refs` is no object"),
        ("refs", {"a": 5}, "`refs.a` is no object"),
        ("snapshot-log", {}, "`snapshot-log` is no list"),
        ("snapshot-log", [{"snapshot-id": None, "timestamp-ms": None}, 7], "`snapshot-log[1]` is no object"),
        (
            "metadata-log",
            [{"metadata-file": 7, "timestamp-ms": 5}],
            "`metadata-log[0].metadata-file` is 7, and has to be a text",
        ),
        ("properties", {"token": 5}, "`properties` is a dict, and has to be an object of texts"),
        ("format-version", 3, "`next-row-id` is missing, which version 3 of the format requires"),
        ("table-uuid", None, "`table-uuid` is missing, which version 2 of the format requires"),
    ],
)
def test_an_odd_value_is_named(key: str, value: Any, words: str) -> None:
    whole = {"format-version": 2, "table-uuid": "5d2b", "last-updated-ms": 5, "sort-orders": []}
    whole |= dict.fromkeys(("current-schema-id", "default-spec-id", "last-partition-id", "default-sort-order-id"), 0)
    assert list(odd_values(whole)) == []
    assert list(odd_values({**whole, key: value})) == [words]


def test_a_snapshot_says_which_it_is() -> None:
    whole = {"snapshot-id": 7, "timestamp-ms": 5, "schema-id": None, "summary": {"operation": "append"}}
    assert odd_snapshot(whole) is None
    assert odd_snapshot({"snapshot-id": 7}) == "`snapshot 7: timestamp-ms` is missing"
    assert odd_snapshot({"snapshot-id": 7, "timestamp-ms": "5"}) == (
        "`snapshot 7: timestamp-ms` is '5', and has to be an integer of 64 bits"
    )
