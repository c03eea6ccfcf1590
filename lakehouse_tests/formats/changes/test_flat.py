"""Flat records with fields of any name."""

import datetime as dt
from typing import Any

import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import DeclarationError, Flat
from lakehouse_tests.formats.changes.decoding import THINGS, changelog, decode, position

ROW = {"id": 1, "text": "one"}
CHANGE_FIELDS = {"__op": "u", "__source_lsn": 5}
LOG = changelog(format=Flat())


def test_a_change_is_normalised() -> None:
    log = changelog(format=Flat(position=("tx", "n"), source_time="ts", transaction_id="tx", epoch=2))
    row = decode([{**ROW, "__op": "c", "tx": 7, "n": 3, "ts": 1_700_000_000_000}], log).only()
    assert (row["operation"], row["key"], row["after"], position(row)) == ("insert", {"id": 1}, ROW, (2, 7, 3))
    assert (row["transaction_id"], row["extra"], row["source"]) == ("7", None, None)
    assert row["source_time"] == dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=dt.UTC)


@pytest.mark.parametrize("flag", [True, "true"])
def test_a_record_that_is_marked_as_deleted_is_a_delete_whatever_its_operation(flag: Any) -> None:
    log = changelog(format=Flat(deleted="__deleted"))
    row = decode([{**ROW, **CHANGE_FIELDS, "__deleted": flag}], log).only()
    assert (row["operation"], row["before"], row["after"], row["key"]) == ("delete", ROW, None, {"id": 1})
    assert decode([{**ROW, **CHANGE_FIELDS, "__deleted": "false"}], log).only()["operation"] == "update"
    assert decode([{**ROW, **CHANGE_FIELDS, "__deleted": "no"}], log).error() == "unknown_operation"


def test_a_read_is_older_than_every_change() -> None:
    assert position(decode([{**ROW, "__op": "r", "__source_lsn": 5}], LOG).only()) == (0, 0, 5)


def test_a_truncate_has_no_row() -> None:
    row = decode([{"__op": "t", "__source_lsn": 5}], LOG).only()
    assert (row["operation"], row["after"], row["key"], position(row)) == ("truncate", None, None, (0, 5, 0))


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"__op": "x"}, "unknown_operation"),
        ({"__op": None}, "unknown_operation"),
        ({"__op": 1}, "unknown_operation"),
        ({"__source_lsn": None}, "unknown_position"),
        ({"__source_lsn": -1}, "unknown_position"),
        ({"__source_lsn": "5"}, "unknown_position"),
        ({"__source_lsn": 1.5}, "unknown_position"),
        ({"id": None}, "null_in_key"),
        ({"id": "1"}, "wrong_type"),
    ],
)
def test_what_is_refused(more: dict[str, Any], error: str) -> None:
    assert decode([{**ROW, **CHANGE_FIELDS, **more}], LOG).error() == error


def test_without_a_position_of_their_own_records_are_ordered_by_their_offset() -> None:
    log = changelog(format=Flat(position=()))
    decoded = decode([{**ROW, "__op": "r"}, None, {**ROW, "__op": "c"}], log, keys=[None, {"id": 1}, None])
    assert [(decoded.rows[i]["operation"], position(decoded.rows[i])) for i in range(3)] == [
        ("read", (0, 1, 100)),
        ("delete", (0, 1, 101)),
        ("insert", (0, 1, 102)),
    ]


def test_with_a_position_a_tombstone_has_none() -> None:
    row = decode([None], LOG, keys=[{"id": 1}]).only()
    assert (row["operation"], row["key"], position(row)) == ("tombstone", {"id": 1}, None)


def test_a_field_may_tell_of_the_change_and_be_a_column_as_well() -> None:
    columns = {**THINGS, "kind": T.StringType(), "version": T.LongType(), "at": T.TimestampType()}
    form = Flat(operation="kind", operations={'a"é': "insert"}, position=("version",), source_time="at")
    decoded = decode(
        [
            {**ROW, "kind": 'a"é', "version": 4, "at": "2026-01-01T00:00:00Z"},
            None,
            {**ROW, "kind": "b", "version": 4, "at": None},
            b"{",
        ],
        changelog(columns, format=form),
        keys=[None, {"id": 1}, None, None],
    )
    row = decoded.rows[0]
    assert (row["after"]["kind"], row["after"]["version"], position(row)) == ('a"é', 4, (0, 4, 0))
    assert row["source_time"] == row["after"]["at"] == dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    assert (decoded.rows[1]["operation"], decoded.errors[2][0], decoded.errors[3][0]) == (
        "tombstone",
        "unknown_operation",
        "not_json",
    )


def test_undeclared_fields_are_kept_ignored_ones_are_not_and_unavailable_ones_are_named() -> None:
    log = changelog(format=Flat(ignored=("__table",)))
    row = decode(
        [{**ROW, **CHANGE_FIELDS, "__table": "t", "new": [1], "text": "__debezium_unavailable_value"}], log
    ).only()
    assert (row["extra"], row["unavailable"], row["after"]["text"]) == ('{"new":[1]}', ["text"], None)


def test_a_topic_of_several_changelogs_cannot_be_flat() -> None:
    logs = [changelog(name=f"cdc.{name}", source=f"public.{name}", format=Flat()) for name in ("others", "things")]
    assert decode([{**ROW, **CHANGE_FIELDS}], *logs).error() == "unknown_source"


def test_in_a_compacted_topic_a_value_is_the_row_and_a_tombstone_deletes_it() -> None:
    log = changelog(format=Flat.upserts())
    decoded = decode([ROW, None, {**ROW, "text": None}], log, keys=[{"id": 1}, {"id": 1}, None])
    rows = [decoded.rows[n] for n in range(3)]
    assert [(row["operation"], row["key"], position(row)) for row in rows] == [
        ("update", {"id": 1}, (0, 1, 100)),
        ("delete", {"id": 1}, (0, 1, 101)),
        ("update", {"id": 1}, (0, 1, 102)),
    ]
    assert [row["after"] and row["after"]["text"] for row in rows] == ["one", None, None]


def test_a_key_that_is_no_object_and_a_value_that_does_not_repeat_it() -> None:
    log = changelog(format=Flat.upserts(plain_key=True))
    decoded = decode([{"text": "one"}, None, {"text": "x"}], log, keys=[b"7", b"7", b'1,"x":2'])
    assert [decoded.rows[n]["key"] for n in range(2)] == [{"id": 7}, {"id": 7}]
    assert decoded.errors[2][0] == "missing_key"


def test_a_plain_key_is_of_one_column() -> None:
    with pytest.raises(DeclarationError, match="a plain Kafka key is one value"):
        changelog(format=Flat.upserts(plain_key=True), key=("id", "text"))
