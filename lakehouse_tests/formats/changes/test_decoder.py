"""Whatever a message is, it becomes one row or one error, the same in any company, and no row without its reason."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakehouse.declarations import ChangeFormat, Debezium, Dms, Flat
from lakehouse_tests.formats.changes.decoding import SOURCE, changelog, debezium, decode, wrapped

pytestmark = pytest.mark.slow

NAMES = (
    *("op", "before", "after", "source", "payload", "schema", "ts_ms", "status", "id", "ddl", "databaseName", "data"),
    *("metadata", "__op", "__source_lsn", "text", "connector", "sequence", "lsn", "record-type", "operation", "table"),
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.sampled_from(
        ["c", "u", "d", "r", "t", "m", "BEGIN", "7", "postgresql", "insert", "data", "control", "load", ""]
    )
    | st.just({"id": 1, "text": "one"})
    | st.just(SOURCE),
    lambda inner: st.dictionaries(st.sampled_from(NAMES), inner, max_size=5) | st.lists(inner, max_size=2),
    max_leaves=12,
)
USUAL = st.sampled_from(
    [
        debezium("c", {"id": 1}),
        debezium("u", {"id": 1, "new": 2}),
        wrapped(debezium("d", before={"id": 1})),
        {"ts_ms": 1},
        {"id": 1, "__op": "c", "__source_lsn": 1},
        {"data": {"id": 1}, "metadata": {"record-type": "data", "operation": "insert", "stream-position": 1}},
    ]
)
SPOILT = st.builds(lambda message, name, value: {**message, name: value}, USUAL, st.sampled_from(NAMES), VALUES)
MESSAGES = st.one_of(st.none(), USUAL, SPOILT, VALUES)
KEYS = st.one_of(st.none(), st.just({"id": 1}), st.just({"id": None}), VALUES)


@pytest.mark.parametrize("form", [Debezium(), Dms(), Flat(), Flat(position=(), deleted="op")], ids=str)
def test_every_message_is_one_row_or_one_error_whatever_stands_beside_it(form: ChangeFormat) -> None:
    log = changelog(format=form, source="public.things")

    @settings(max_examples=30, deadline=None)
    @given(st.lists(st.tuples(MESSAGES, KEYS), min_size=1, max_size=8))
    def judged(pairs: list[tuple[Any, Any]]) -> None:
        raw = [(None if value is None else json.dumps(value).encode(), key) for value, key in pairs]
        together = decode([value for value, _ in raw], log, keys=[key for _, key in raw])
        for number, (value, key) in enumerate(raw):
            alone = decode([value], log, keys=[key])
            assert alone.errors.get(0) == together.errors.get(number)
            if number in together.rows and not isinstance(form, Flat):
                assert alone.rows[0] == together.rows[number]
        for number, row in together.rows.items():
            sound(row, *pairs[number])

    judged()


def sound(row: dict[str, Any], message: Any, key: Any) -> None:
    """What every row keeps to."""
    operation = row["operation"]
    if message is None:
        assert operation in ("tombstone", "delete") if key is not None else operation == "control"
    else:
        assert operation != "tombstone"
    assert (row["key"] is None) == (operation in ("truncate", "control"))
    assert (row["position"] is None) == (operation in ("tombstone", "control"))
    assert (row["after"] is not None) == (operation in ("insert", "update", "read"))
    assert row["before"] is None or operation in ("insert", "update", "delete", "read", "truncate")
    assert row["key"] is None or row["key"]["id"] is not None
