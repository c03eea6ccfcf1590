"""Debezium's messages: each operation, each place of a key, each kind of position, and what is none of it."""

import datetime as dt
from typing import Any

import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import Debezium
from lakehouse_tests.formats.changes.decoding import THINGS, as_bytes, changelog, debezium, decode, position, wrapped

ROW = {"id": 1, "text": "one"}


def test_a_change_has_operation_key_images_position_transaction_and_time() -> None:
    message = {**debezium("u", ROW, before={"id": 1, "text": "old"}), "transaction": {"id": "7:200", "total_order": 1}}
    assert decode([message]).only() == {
        "operation": "update",
        "key": {"id": 1},
        "other_key": None,
        "before": {"id": 1, "text": "old"},
        "after": ROW,
        "unavailable": None,
        "extra": None,
        "source": "public.things",
        "position": {"epoch": 0, "commit": 100, "sequence": 200},
        "transaction_id": "7",
        "source_time": dt.datetime(2026, 1, 1, 0, 0, 0, 123, tzinfo=dt.UTC),
    }


@pytest.mark.parametrize("form", [lambda x: x, wrapped])
@pytest.mark.parametrize(
    ("operation", "image", "expected"),
    [("c", "after", "insert"), ("u", "after", "update"), ("r", "after", "read"), ("d", "before", "delete")],
)
def test_an_operation_takes_its_key_from_the_image_that_has_the_row(
    form: Any, operation: str, image: str, expected: str
) -> None:
    row = decode([form(debezium(operation, **{image: ROW}))]).only()
    assert (row["operation"], row["key"], row[image]) == (expected, {"id": 1}, ROW)
    assert row["before" if image == "after" else "after"] is None


def test_a_truncate_has_a_position_and_neither_key_nor_images() -> None:
    row = decode([debezium("t")]).only()
    assert (row["operation"], row["key"], row["before"], row["after"]) == ("truncate", None, None, None)
    assert position(row) == (0, 100, 200)


@pytest.mark.parametrize("operation", ["x", "", "C", 1, {}, None, "upsert", "insert", "\x00"])
def test_an_operation_that_nobody_knows_goes_to_quarantine(operation: Any) -> None:
    assert decode([debezium(operation, ROW)]).error() == "unknown_operation"


@pytest.mark.parametrize("form", [lambda x: x, wrapped])
def test_a_tombstone_has_the_kafka_key_alone(form: Any) -> None:
    row = decode([None], keys=[form({"id": 3})]).only()
    assert (row["operation"], row["key"], row["position"]) == ("tombstone", {"id": 3}, None)


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (b"", "missing_key"),
        (b"3", "missing_key"),
        (b"{", "missing_key"),
        ({}, "missing_key"),
        ({"ID": 3}, "missing_key"),
        ({"id": None}, "null_in_key"),
        ({"id": "3"}, "wrong_type"),
        ({"schema": {}, "payload": None}, "missing_key"),
    ],
)
def test_a_tombstone_without_a_key_that_can_be_read_goes_to_quarantine(key: Any, error: str) -> None:
    assert decode([None], keys=[key]).error() == error


@pytest.mark.parametrize("keys", [None, [None, {"id": 3}, None]])
def test_what_follows_a_delete_in_a_table_without_a_key_says_nothing_and_is_no_broken_record(keys: Any) -> None:
    decoded = decode([None, debezium("d", before=ROW), None], keys=keys)
    rows = [decoded.rows[number] for number in range(3)]
    assert [row["operation"] for row in rows] == ["control", "delete", "control"]
    assert [row["key"] for row in (rows[0], rows[2])] == [None, None]


CONTROLS = [
    {"status": "BEGIN", "id": "7:100", "event_count": None, "data_collections": None, "ts_ms": 5},
    {"status": "END", "id": "7:100", "event_count": 2, "data_collections": [], "ts_ms": 5},
    {"ts_ms": 5},
    {"source": {}, "ts_ms": 5, "databaseName": "shop", "schemaName": None, "ddl": "DROP TABLE x", "tableChanges": []},
    {**debezium("m"), "message": {"prefix": "p", "content": "AA=="}},
]


@pytest.mark.parametrize("form", [lambda x: x, wrapped])
@pytest.mark.parametrize("message", CONTROLS)
def test_what_is_no_change_is_a_control_row(form: Any, message: Any) -> None:
    row = decode([form(message), debezium("c", ROW)]).rows[0]
    assert (row["operation"], row["key"], row["after"], row["position"]) == ("control", None, None, None)


def test_a_transaction_boundary_names_its_transaction_and_time() -> None:
    row = decode([CONTROLS[1]]).only()
    assert row["transaction_id"] == "7"
    assert row["source_time"] == dt.datetime(1970, 1, 1, 0, 0, 0, 5000, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("identity", "expected"),
    [
        ("7:100", "7"),  # PostgreSQL: the position after the colon is each message's own
        ("7", "7"),
        ("3e11fa47-71ca-11e1-9e33-c80aa9429562:23", "3e11fa47-71ca-11e1-9e33-c80aa9429562:23"),
        ("file=mysql-bin.000003,pos=154", "file=mysql-bin.000003,pos=154"),
    ],
)
def test_begin_end_and_changes_of_a_transaction_name_it_alike(identity: str, expected: str) -> None:
    change = {**debezium("c", ROW), "transaction": {"id": identity, "total_order": 1}}
    begin = {"status": "BEGIN", "id": identity, "ts_ms": 5}
    read = decode([begin, change])
    assert [read.rows[place]["transaction_id"] for place in (0, 1)] == [expected, expected]


@pytest.mark.parametrize(
    "message",
    [{}, {"ts_ms": None}, {"ts_ms": 5, "x": 1}, {"status": "BEGIN"}, {"status": "X", "id": "7"}, {"after": ROW}],
)
def test_what_has_no_operation_and_is_no_control_record_that_we_know_is_refused(message: Any) -> None:
    assert decode([message]).error() == "unknown_operation"


@pytest.mark.parametrize(
    ("operation", "source", "expected"),
    [
        ("c", {"sequence": '[null,"200"]'}, (0, 200, 200)),
        ("c", {"sequence": '[ "100", "200" ]'}, (0, 100, 200)),
        ("c", {"sequence": None}, (0, 200, 0)),
        ("c", {"sequence": "[100,200]"}, (0, 100, 200)),
        ("r", {}, (0, 0, 200)),
        ("r", {"sequence": None}, (0, 0, 200)),
        ("r", {"lsn": None}, (0, 0, 1_767_225_600_000_000)),
        ("c", {"connector": "mysql", "file": "mysql-bin.000003", "pos": 154, "row": 2}, (0, (3 << 40) | 154, 2)),
        ("c", {"connector": "mariadb", "file": "bin.12", "pos": 4}, (0, (12 << 40) | 4, 0)),
        ("r", {"connector": "mysql", "file": "mysql-bin.000003", "pos": 154, "row": 0}, (0, 0, (3 << 40) | 154)),
    ],
)
def test_positions_by_connector(operation: str, source: dict[str, Any], expected: tuple[int, ...]) -> None:
    assert position(decode([debezium(operation, ROW, **source)]).only()) == expected


@pytest.mark.parametrize(
    "source",
    [
        {"sequence": None, "lsn": None},
        {"sequence": '["-1","200"]'},
        {"sequence": "200"},
        {"sequence": "[]", "lsn": -1},
        {"connector": "oracle"},
        {"connector": "sqlserver", "lsn": None, "commit_lsn": "0000"},
        {"connector": None},
        {"connector": "oracle", "txId": "text"},
        {"connector": "mysql"},
        {"connector": "mysql", "file": "mysql-bin", "pos": 1},
        {"connector": "mysql", "file": "mysql-bin.000001", "pos": 1 << 40},
        {"connector": "mysql", "file": "mysql-bin.999999999", "pos": 1},
    ],
)
@pytest.mark.parametrize("operation", ["c", "t"])
def test_a_change_without_a_position_goes_to_quarantine(operation: str, source: dict[str, Any]) -> None:
    assert decode([debezium(operation, ROW, **source)]).error() == "unknown_position"


def test_positions_of_several_connectors_in_one_batch_keep_their_rows() -> None:
    mysql = {"connector": "mysql", "file": "b.1", "pos": 5}
    messages = [debezium("c", ROW), debezium("c", ROW, **mysql), debezium("c", ROW, connector="db2"), debezium("t")]
    decoded = decode(messages)
    assert [position(decoded.rows[i]) for i in (0, 1, 3)] == [(0, 100, 200), (0, (1 << 40) | 5, 0), (0, 100, 200)]
    assert decoded.errors[2][0] == "unknown_position"


def test_the_epoch_goes_in_front() -> None:
    assert position(decode([debezium("c", ROW)], changelog(format=Debezium(epoch=3))).only()) == (3, 100, 200)


def test_the_kafka_key_stands_in_where_the_image_lacks_the_key() -> None:
    row = decode([debezium("d")], keys=[{"id": 5}]).only()
    assert (row["key"], row["before"]) == ({"id": 5}, None)
    assert decode([debezium("u", {"text": "x"})], keys=[{"id": 5}]).only()["key"] == {"id": 5}


@pytest.mark.parametrize(
    ("message", "key", "error"),
    [
        (debezium("d"), None, "missing_key"),
        (debezium("u", {"text": "x"}), None, "missing_key"),
        (debezium("u", {"ID": 1}), None, "missing_key"),
        (debezium("u", {"id": None}), None, "null_in_key"),
        (debezium("u", {"id": None}), {"id": None}, "null_in_key"),
        (debezium("c"), {"id": 1}, "missing_field"),
        (debezium("u"), {"id": 1}, "missing_field"),
        (debezium("r"), {"id": 1}, "missing_field"),
    ],
)
def test_a_change_without_key_or_image_goes_to_quarantine(message: Any, key: Any, error: str) -> None:
    assert decode([message], keys=[key]).error() == error


def test_null_may_be_a_key_like_others_but_a_missing_one_may_not() -> None:
    log = changelog(null_keys="equal")
    assert decode([debezium("u", {"id": None})], log).only()["key"] == {"id": None}
    assert decode([None], log, keys=[{"id": None}]).only()["key"] == {"id": None}
    assert decode([debezium("u", {"ID": 1})], log).error() == "missing_key"


def test_the_headers_of_a_changed_key_tell_the_key_on_the_other_side() -> None:
    context = {"__debezium.context.taskId": b"0"}
    decoded = decode(
        [debezium("d", before=ROW), None, debezium("c", {"id": 9}), debezium("c", ROW), debezium("u", ROW)],
        keys=[{"id": 1}, {"id": 1}, {"id": 9}, {"id": 1}, {"id": 1}],
        headers=[
            {"__debezium.newkey": {"id": 9}, **context},
            {"__debezium.newkey": {"id": 9}, **context},
            {"__debezium.oldkey": wrapped({"id": 1}), **context},
            {**context, "__debezium.oldkey": b"Struct{id=1}"},
            None,
        ],
    )
    assert [row["other_key"] for _, row in sorted(decoded.rows.items())] == [{"id": 9}, None, {"id": 1}, None, None]


def test_an_update_that_changes_the_key_tells_the_key_before() -> None:
    decoded = decode([debezium("u", ROW, before={"id": 2}), debezium("u", ROW, before=ROW)])
    assert [row["other_key"] for row in decoded.rows.values()] == [{"id": 2}, None]


def test_undeclared_columns_are_kept_as_they_came_and_ignored_ones_are_not() -> None:
    log = changelog(format=Debezium(ignored=("secret", "text")))
    raw = as_bytes(debezium("c", {**ROW, "secret": 1}))
    assert raw is not None
    more = raw.replace(b'"secret": 1', b'"secret": 1, "n\\u0065w": 1.50, "b": {"x": [1]}')
    decoded = decode([raw, more, debezium("d", before={**ROW, "new": 1})], log)
    assert decoded.rows[0]["extra"] is None
    assert decoded.rows[1]["extra"] == '{"new":1.50,"b":{"x": [1]}}'
    assert decoded.rows[1]["after"] == decoded.rows[0]["after"] == ROW
    assert decoded.rows[2]["extra"] is None


def test_a_value_that_was_not_sent_is_null_and_named() -> None:
    text, coded = "__debezium_unavailable_value", "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="
    columns = {
        **THINGS,
        "data": T.BinaryType(),
        "n": T.DecimalType(10, 2),
        "tags": T.ArrayType(T.StringType()),
        "numbers": T.ArrayType(T.IntegerType()),
        "days": T.ArrayType(T.DateType()),
        "pairs": T.MapType(T.StringType(), T.StringType()),
    }
    numbers = list(text.encode())
    after = {"id": 1, "text": text, "data": coded, "n": coded, "tags": [text], "numbers": numbers, "days": numbers}
    after["pairs"] = {text: text}
    sent = {"id": 1, "tags": [text, text], "text": "x", "numbers": numbers[:-1], "pairs": {"a": text}}
    decoded = decode([debezium("u", after, before=after), debezium("u", sent)], changelog(columns))
    assert decoded.rows[0]["after"] == {"id": 1, **dict.fromkeys(list(columns)[1:])}
    assert decoded.rows[0]["unavailable"] == list(columns)[1:]
    assert decoded.rows[0]["before"] == decoded.rows[0]["after"]
    assert decoded.rows[1]["unavailable"] is None
    assert decoded.rows[1]["after"] == {**dict.fromkeys(columns), **sent, "pairs": [("a", text)]}


def test_a_change_of_a_source_table_without_changelog_goes_to_quarantine() -> None:
    log = changelog(source="public.things")
    decoded = decode(
        [
            debezium("c", ROW),
            debezium("c", ROW, table="others"),
            debezium("c", {"x": 1}, table="others"),
            debezium("c", ROW, schema=None),
            debezium("m", table="others"),
            debezium("t", table="others"),
        ],
        log,
    )
    assert [row["operation"] for row in decoded.rows.values()] == ["insert", "control"]
    assert {row: error for row, (error, _) in decoded.errors.items()} == dict.fromkeys((1, 2, 3, 5), "unknown_source")


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (b"{", "not_json", ""),
        (b"[]", "not_an_object", "got list"),
        (b"null", "not_an_object", "got null"),
        (b'{"op":"c","op":"\xff"}', "not_json", "UTF-8"),
        (debezium("c", {"id": "x"}), "wrong_type", "`after.id`: expected integer, got string"),
        (debezium("c", {"id": 2**63}), "out_of_range", "`after.id`"),
        (debezium("d", before={"id": 1.5}), "wrong_type", "`before.id`"),
        (debezium("c", [1]), "wrong_type", "`after`"),
        ({**debezium("c", ROW), "source": 1}, "unknown_position", ""),
        (wrapped([1]), "not_an_object", ""),
        (wrapped(None), "not_an_object", ""),
    ],
)
def test_what_cannot_be_read_says_where_and_never_what(value: Any, error: str, message: str) -> None:
    decoded = decode([debezium("c", ROW), value, wrapped(debezium("c", ROW))])
    assert decoded.errors[1][0] == error
    assert message in decoded.errors[1][1]
    assert sorted(decoded.rows) == [0, 2]


def test_short_timestamps_come_in_milliseconds_beside_long_ones() -> None:
    columns = {**THINGS, "short": T.TimestampNTZType(), "long": T.TimestampNTZType()}
    log = changelog(columns, format=Debezium(millis=("short",)))
    message = debezium("c", {**ROW, "short": 1_709_210_096_789, "long": 1_709_210_096_789_012})
    after = decode([message], log).only()["after"]
    assert after["short"] == dt.datetime(2024, 2, 29, 12, 34, 56, 789_000)  # noqa: DTZ001 - it has no zone
    assert after["long"] == dt.datetime(2024, 2, 29, 12, 34, 56, 789_012)  # noqa: DTZ001
