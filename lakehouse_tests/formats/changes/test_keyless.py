"""A source table without a key: its changes are kept as they came, with whole images, and none of them fails for it."""

from typing import Any

import pytest

from lakehouse.declarations import ChangeFormat, Debezium, Dms, Flat
from lakehouse_tests.formats.changes.decoding import changelog, debezium, decode

ROW = {"id": 1, "text": "one"}


def read(*messages: Any, form: ChangeFormat | None = None, **more: Any) -> Any:
    return decode(list(messages), changelog(key=(), format=form or Debezium()), **more)


def test_its_changes_have_images_and_no_key() -> None:
    decoded = read(
        debezium("r", ROW),
        debezium("c", ROW),
        debezium("u", {**ROW, "text": "two"}, before=ROW),
        debezium("d", before=ROW),
        debezium("t"),
        {"ts_ms": 1},
        keys=[None] * 6,
    )
    rows = [row for _, row in sorted(decoded.rows.items())]
    assert [row["operation"] for row in rows] == ["read", "insert", "update", "delete", "truncate", "control"]
    assert not any({"key", "other_key"} & row.keys() for row in rows)
    assert (rows[2]["before"], rows[2]["after"], rows[3]["before"]) == (ROW, {**ROW, "text": "two"}, ROW)


def test_its_tombstones_are_no_errors() -> None:
    """Debezium sends one after each delete, with neither key nor value."""
    decoded = read(None, debezium("d", before=ROW), keys=[None, None])
    assert [row["operation"] for row in decoded.rows.values()] == ["tombstone", "delete"]
    assert read(None).only()["operation"] == "tombstone"


def test_a_delete_of_nobody_knows_what_is_refused() -> None:
    decoded = read(debezium("d"), keys=[{"id": 1}])
    assert decoded.error() == "missing_key"
    assert "a table without a key needs whole images" in decoded.errors[0][1]


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (Dms(), {"data": ROW, "metadata": {"record-type": "data", "operation": "delete", "stream-position": 1}}),
        (Flat(), {**ROW, "__op": "d", "__source_lsn": 1}),
    ],
)
def test_in_every_format(form: ChangeFormat, message: Any) -> None:
    row = read(message, form=form).only()
    assert (row["operation"], row["before"]) == ("delete", ROW)
