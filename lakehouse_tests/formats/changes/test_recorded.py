"""What real Debezium connectors sent for a real PostgreSQL, bare, beside schemas, and with everything as text."""

import base64
import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import Debezium
from lakehouse_tests.formats.changes.decoding import changelog, decoder_of
from lakehouse_tests.steps.cdc.messages import Message, recorded

STRING, LONG, INT, PRICE = T.StringType(), T.LongType(), T.IntegerType(), T.DecimalType(12, 2)
ORDERS = {
    "id": LONG,
    "name": STRING,
    "amount": PRICE,
    "rate": T.DecimalType(38, 10),
    "ratio": T.DoubleType(),
    "active": T.BooleanType(),
    "day": T.DateType(),
    "at": T.TimestampNTZType(),
    "at_zone": T.TimestampType(),
    "note": STRING,
    "payload": T.BinaryType(),
}
TABLES: dict[str, tuple[dict[str, T.DataType], tuple[str, ...]]] = {
    "orders": (ORDERS, ("id",)),
    "lines": (
        {"order_id": LONG, "line": INT, "sku": STRING, "quantity": INT, "price": PRICE, "remark": STRING},
        ("order_id", "line"),
    ),
    "prices": ({"price": PRICE, "day": T.DateType(), "code": T.BinaryType()}, ("price", "day", "code")),
    "kinds": (
        {
            "id": STRING,
            "number": STRING,
            "small": INT,
            "single": T.FloatType(),
            "free": T.DecimalType(38, 10),
            "whole": T.DecimalType(30, 0),
            "doc": STRING,
            "tags": T.ArrayType(STRING),
            "numbers": T.ArrayType(INT),
            "days": T.ArrayType(T.DateType()),
            "amounts": T.ArrayType(T.DecimalType(10, 2)),
            "bits": T.BinaryType(),
            "flag": T.BooleanType(),
        },
        ("id",),
    ),
}
FORMS = {
    "debezium_postgres": Debezium(),
    "debezium_postgres_schema": Debezium(),
    "debezium_postgres_strings": Debezium(decimals="string", timestamps="text"),
}
Rows = dict[str, list[tuple[Message, dict[str, Any]]]]
# PostgreSQL knows days and numbers that no column of ours can hold: infinity, and years beyond 9999.
NOT_OURS = {"wrong_type", "out_of_range"}


@pytest.fixture(params=FORMS)
def read(request: pytest.FixtureRequest) -> tuple[str, Rows, dict[str, list[Message]]]:
    """Which recording, its rows by table, and its errors by class."""
    name = request.param
    messages = recorded(name)
    logs = [
        changelog(columns, name=f"cdc.{table}", key=key, source=f"shop.{table}", format=FORMS[name])
        for table, (columns, key) in TABLES.items()
    ]
    routed = decoder_of(*logs).decode(
        pa.array([coded(message.value) for message in messages], pa.binary()),
        pa.array([coded(message.key) for message in messages], pa.binary()),
        pa.array([headers(message) for message in messages], pa.string()),
    )
    rows = {
        table: [(messages[i], row) for i, row in zip(part.rows.tolist(), part.batch.to_pylist(), strict=True)]
        for table, part in routed.parts.items()
    }
    errors: dict[str, list[Message]] = {}
    for number, error in routed.errors.items():
        errors.setdefault(error.error_class, []).append(messages[number])
    assert sum(map(len, rows.values())) + len(routed.errors) == len(messages)
    return name, rows, errors


def coded(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def headers(message: Message) -> str | None:
    listed = [
        {"key": key, "value": base64.b64encode((value or "").encode()).decode()} for key, value in message.headers
    ]
    return json.dumps(listed) if listed else None


Read = tuple[str, Rows, dict[str, list[Message]]]


def test_every_operation_is_the_one_that_the_connector_wrote(read: Read) -> None:
    name, rows, errors = read
    operations = {"c": "insert", "u": "update", "d": "delete", "r": "read", "t": "truncate", None: "control"}
    for message, row in (pair for pairs in rows.values() for pair in pairs):
        wanted = "tombstone" if message.value is None else operations[message.document.get("op")]
        assert row["operation"] == wanted
    assert errors.keys() <= {*NOT_OURS, "unknown_source"}
    for message in errors.get("unknown_source", []):
        # Only the key's schema tells whose tombstone it is, on a topic of several tables.
        assert message.value is None
    assert ("unknown_source" in errors) == (name != "debezium_postgres_schema")


def test_keys_and_positions_are_those_of_the_message(read: Read) -> None:
    _, rows, _ = read
    for message, row in (pair for pairs in rows.values() for pair in pairs):
        if message.value is None or "op" not in message.document:
            continue
        source = message.document["source"]
        commit, own = json.loads(source["sequence"])
        snapshot = row["operation"] == "read"
        wanted = {"epoch": 0, "commit": 0 if snapshot else int(commit or own), "sequence": int(own)}
        assert row["position"] == wanted
        assert row["source"] == f"{source['schema']}.{source['table']}"
        if isinstance(key := (message.key_document or {}).get("id"), int | str):
            assert row["key"] == {"id": key}


def test_values_of_every_type(read: Read) -> None:
    _, rows, _ = read
    order = next(row["after"] for _, row in rows["cdc.orders"] if row["operation"] == "read")
    assert order["amount"] == Decimal("12.34")
    assert order["rate"] == Decimal("-1234567890123456789.0123456789")
    assert (order["ratio"], order["active"], order["day"]) == (0.1, True, dt.date(2024, 2, 29))
    assert order["at"] == dt.datetime(2024, 2, 29, 12, 34, 56, 789012)  # noqa: DTZ001
    assert order["at_zone"] == dt.datetime(2024, 2, 29, 10, 34, 56, 789012, tzinfo=dt.UTC)
    kind = next(row["after"] for _, row in rows["cdc.kinds"] if row["operation"] == "insert")
    assert (kind["single"], kind["free"], kind["whole"]) == (1.5, Decimal("123.456"), Decimal(12345678901234567890))
    assert (kind["tags"], kind["numbers"], kind["days"]) == (["a", None, "b"], [1, 2], [dt.date(2024, 2, 29)])
    assert (kind["amounts"], kind["bits"], kind["flag"]) == ([Decimal("1.50"), Decimal("2.25")], b"\xaa", True)


def test_unchanged_large_values_and_columns_that_came_later(read: Read) -> None:
    _, rows, _ = read
    unavailable = [row["unavailable"] for _, row in rows["cdc.orders"] if row["unavailable"]]
    assert sorted(unavailable) == [["note"], ["payload"], ["payload"]]
    assert {row["extra"] for _, row in rows["cdc.orders"]} >= {'{"extra":"default"}', '{"extra":"written"}'}


def test_a_changed_key_is_told_on_both_sides(read: Read) -> None:
    _, rows, _ = read
    orders = [(row["key"], row["other_key"]) for _, row in rows["cdc.orders"] if row["other_key"]]
    assert orders == [({"id": 3}, {"id": 30}), ({"id": 30}, {"id": 3})]
    prices = [row["other_key"]["price"] for _, row in rows["cdc.prices"] if row["other_key"]]
    assert prices == [Decimal("300.00"), Decimal("1.50")]
