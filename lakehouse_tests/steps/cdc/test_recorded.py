"""What Debezium's messages look like, as facts about the recordings that the decoder's tests read."""

import base64
import json
from collections import Counter

import pytest

from lakehouse_tests.steps.cdc.messages import Message, recorded

PLAIN, SCHEMA, STRINGS = "debezium_postgres", "debezium_postgres_schema", "debezium_postgres_strings"
ALL = [PLAIN, SCHEMA, STRINGS]
ENVELOPE = {"before", "after", "source", "transaction", "op", "ts_ms", "ts_us", "ts_ns"}
SOURCE = {
    *("version", "connector", "name", "db", "schema", "table", "snapshot"),
    *("ts_ms", "ts_us", "ts_ns", "txId", "lsn", "sequence", "xmin", "origin", "origin_lsn"),
}
UNAVAILABLE = "__debezium_unavailable_value"


def changes(name: str, table: str = "") -> list[Message]:
    """Messages of the tables, without tombstones."""
    return [m for m in recorded(name) if f".shop.{table}" in m.topic and m.value is not None]


def row(name: str, key: int) -> list[dict[str, object]]:
    """Each state of an order."""
    return [m.document["after"] for m in changes(name, "orders") if m.key_document == {"id": key}]


@pytest.mark.parametrize("name", ALL)
def test_every_change_has_the_same_envelope(name: str) -> None:
    for message in changes(name):
        assert message.document.keys() == ENVELOPE
        assert message.document["source"].keys() == SOURCE


@pytest.mark.parametrize("name", ALL)
def test_every_operation_was_recorded(name: str) -> None:
    assert Counter(m.document["op"] for m in changes(name)).keys() == {"r", "c", "u", "d", "t"}


def test_with_schemas_every_part_is_wrapped_and_without_none_is() -> None:
    for message in recorded(SCHEMA):
        for part in (message.key, message.value):
            assert part is None or json.loads(part).keys() == {"schema", "payload"}
    for message in recorded(PLAIN):
        for part in (message.key, message.value):
            assert part is None or "schema" not in json.loads(part)


@pytest.mark.parametrize("name", ALL)
def test_a_truncate_has_neither_key_nor_images_and_keeps_its_position(name: str) -> None:
    truncates = [m for m in changes(name) if m.document["op"] == "t"]
    assert [m.topic.split(".")[-1] for m in truncates] == ["kinds", "lines", "lines"]
    for message in truncates:
        assert (message.key, message.document["before"], message.document["after"]) == (None, None, None)
        assert json.loads(message.document["source"]["sequence"])[1] == str(message.document["source"]["lsn"])
    # One statement truncated two tables, at one position.
    assert truncates[0].document["source"]["sequence"] == truncates[2].document["source"]["sequence"]


@pytest.mark.parametrize("name", ALL)
def test_the_tombstone_of_a_key_change_has_the_header_of_its_delete(name: str) -> None:
    orders = [m for m in recorded(name) if m.topic.endswith(".shop.orders")]
    delete, tombstone, create = next(
        orders[position : position + 3]
        for position, m in enumerate(orders)
        if m.value and m.header("__debezium.newkey")
    )
    assert (delete.key_document, tombstone.key_document, create.key_document) == ({"id": 3}, {"id": 3}, {"id": 30})
    assert (delete.document["op"], tombstone.value, create.document["op"]) == ("d", None, "c")
    assert delete.header("__debezium.newkey") == tombstone.header("__debezium.newkey")
    assert create.header("__debezium.newkey") is None
    # Both halves are at one position.
    assert delete.document["source"]["sequence"] == create.document["source"]["sequence"]


def test_a_key_in_a_header_is_json_and_its_decimals_are_numbers_though_the_messages_key_has_bytes() -> None:
    delete, create = [m for m in changes(PLAIN, "prices") if len(m.headers) > 4]
    assert delete.header("__debezium.newkey") == '{"price":300.00,"day":19782,"code":"AP8="}'
    assert create.key == '{"price":"dTA=","day":19782,"code":"AP8="}'
    assert create.header("__debezium.oldkey") == '{"price":1.50,"day":19782,"code":"AP8="}'


def test_a_key_in_a_header_has_the_form_of_a_key_where_headers_are_written_by_the_json_converter() -> None:
    delete, create = [m for m in changes(SCHEMA, "prices") if m.header("__debezium.newkey") or len(m.headers) > 4]
    assert json.loads(delete.header("__debezium.newkey") or "") == json.loads(create.key or "")
    assert json.loads(create.header("__debezium.oldkey") or "") == json.loads(delete.key or "")


def test_an_unchanged_large_value_is_a_placeholder_and_in_bytes_its_base64() -> None:
    assert [state and state["note"] for state in row(PLAIN, 1)][1] == UNAVAILABLE
    assert base64.b64decode(str(row(PLAIN, 3)[1]["payload"])).decode() == UNAVAILABLE


def test_after_a_key_change_the_placeholder_stands_for_the_value_at_the_old_key() -> None:
    assert base64.b64decode(str(row(PLAIN, 30)[0]["payload"])).decode() == UNAVAILABLE


def test_what_a_delete_says_of_other_columns_than_the_key_is_not_what_was_there() -> None:
    delete = next(m for m in changes(PLAIN, "orders") if m.key_document == {"id": 20} and m.document["op"] == "d")
    # `amount` was 1. `extra` shows the column's default, not null.
    assert (delete.document["before"]["amount"], delete.document["before"]["extra"]) == (None, "default")


def test_with_a_full_replica_identity_updates_and_deletes_tell_the_row_that_was() -> None:
    update = next(m for m in changes(PLAIN, "kinds") if m.document["op"] == "u")
    assert (update.document["before"]["small"], update.document["after"]["small"]) == (7, 8)


def test_decimals() -> None:
    def amount(key: int, name: str) -> object:
        return row(name, key)[0]["amount"]

    assert [amount(key, PLAIN) for key in (1, 5, 6, 7)] == ["BNI=", "AA==", "Mf8=", "AIA="]
    assert [amount(key, STRINGS) for key in (1, 5, 6, 7)] == ["12.34", "0.00", "127.99", "1.28"]
    # Without precision each value has a scale of its own.
    kinds = changes(PLAIN, "kinds")[0].document["after"]
    assert (kinds["free"], kinds["whole"]) == ({"scale": 3, "value": "AeJA"}, "AKtUqYzrHwrS")
    # What is no number is lost, or has a name that no parser knows.
    assert (amount(15, PLAIN), amount(15, STRINGS)) == (None, "NAN")


def test_times() -> None:
    first = row(PLAIN, 1)[0]
    assert (first["day"], first["at"], first["at_zone"]) == (19782, 1709210096789012, "2024-02-29T10:34:56.789012Z")
    # Up to three digits a timestamp counts milliseconds, beyond microseconds, in one and the same message.
    kinds = changes(PLAIN, "kinds")[0].document["after"]
    assert (kinds["at_0"], kinds["at_3"]) == (1709210096000, 1709210096789)
    iso = row(STRINGS, 1)[0]
    assert (iso["day"], iso["at"]) == ("2024-02-29Z", "2024-02-29T12:34:56.789012Z")


def test_infinite_times_are_odd_numbers() -> None:
    # The smallest days of 32 bits stand for both infinities.
    assert [(row(PLAIN, key)[0]["day"], row(PLAIN, key)[0]["at"]) for key in (10, 11)] == [
        (-2147472692, 9223372036825200000),
        (-2147472691, -9223372036832400000),
    ]
    assert [row(PLAIN, key)[0]["at_zone"] for key in (10, 11, 12, 14)] == [
        "infinity",
        "-infinity",
        "-0043-03-15T12:00:00.000000Z",
        "+12024-01-01T00:00:00.000000Z",
    ]


def test_doubles_that_json_has_no_number_for_are_text() -> None:
    assert [row(PLAIN, key)[0]["ratio"] for key in (10, 11)] == ["NaN", "-Infinity"]
    assert str(row(PLAIN, 12)[0]["ratio"]) == "-0.0"


def test_an_added_column_appears_and_a_dropped_one_is_gone() -> None:
    assert "extra" not in row(PLAIN, 14)[0]
    assert [("ratio" in state, state["extra"]) for state in row(PLAIN, 20) if state] == [
        (True, "default"),
        (False, "default"),
    ]


def test_rows_that_were_copied_share_one_position_and_have_different_keys() -> None:
    copied = [m for m in changes(PLAIN, "lines") if m.document["after"] and m.document["after"]["order_id"] == 200]
    assert len({m.document["source"]["sequence"] for m in copied}) == 1
    assert len({m.key for m in copied}) == 3


def test_what_is_sent_twice_differs_only_in_when_it_was_sent() -> None:
    first, again = [m for m in changes(PLAIN, "orders") if "sent twice as well" in (m.value or "")]
    for part in ("before", "after", "source", "op"):
        assert first.document[part] == again.document[part]
    assert first.document["ts_us"] < again.document["ts_us"]


def test_a_transactions_id_is_another_one_in_each_of_its_messages() -> None:
    slow = [m for m in changes(PLAIN) if "slow" in (m.value or "")]
    ids = {m.document["transaction"]["id"] for m in slow}
    assert len(ids) == len(slow) == 4
    assert {identity.split(":")[0] for identity in ids} == {str(slow[0].document["source"]["txId"])}


def test_messages_of_transactions_and_heartbeats() -> None:
    begin, end = [m for m in recorded(PLAIN) if m.topic == "plain.transaction"][:2]
    assert begin.document.keys() == end.document.keys() == {"status", "id", "event_count", "data_collections", "ts_ms"}
    assert (begin.document["status"], begin.document["event_count"]) == ("BEGIN", None)
    assert (end.document["status"], end.document["event_count"]) == ("END", 2)
    assert begin.document["id"].split(":")[0] == end.document["id"].split(":")[0]
    assert begin.document["id"] != end.document["id"]  # the position after the colon is each message's own
    beat = next(m for m in recorded(PLAIN) if m.topic.startswith("__debezium-heartbeat."))
    assert (beat.key, beat.document.keys(), beat.headers) == ('{"serverName":"plain"}', {"ts_ms"}, ())
