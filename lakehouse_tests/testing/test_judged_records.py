"""What a user's test of a stream sees: rows as an ingest would write them, refusals in the quarantine's words."""

import json
from pathlib import Path

import pytest

from lakehouse.declarations import DeclarationError, Declarations, load_declarations
from lakehouse.engines.kafka import Record
from lakehouse.testing import judge_records

TABLES = """
import pandera.pyspark as pa
from pyspark.sql.types import DecimalType, LongType
from lakehouse import ByField, Changelog, Debezium, Stream, Table, ToTable


class Orders(pa.DataFrameModel):
    order_id: LongType = pa.Field(gt=0, description="Order number")
    amount: DecimalType(12, 2) = pa.Field(ge=0, description="Total")
    note: str = pa.Field(nullable=True, isin=["gift"], description="Note")


orders = Table(name="shop.orders", schema=Orders, description="Orders.", owner="team:shop", key=("order_id",))
refunds = Table(name="shop.refunds", schema=Orders, description="Refunds.", owner="team:shop", key=("order_id",))
customers = Changelog(
    name="changelog.orders", topic="db.orders", row=Orders, key=("order_id",), description="Changes.",
    owner="team:shop", format=Debezium(decimals="string"),
)
stream = Stream(
    name="orders", topic="orders", route=ByField("kind", {"order": "shop.orders", "refund": "shop.refunds"})
)
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Declarations:
    folder: Path = tmp_path_factory.mktemp("declarations")
    (folder / "shop.py").write_text(TABLES, encoding="utf-8")
    return load_declarations([folder])


def order(**changes: object) -> str:
    return json.dumps({"kind": "order", "order_id": 1, "amount": "9.90", **changes})


def test_records_become_rows_of_the_tables_they_are_routed_to(shop: Declarations) -> None:
    judgement = judge_records(shop, "orders", [order(), order(kind="refund", order_id=2).encode()])
    assert [row["order_id"] for row in judgement.rows["shop.orders"]] == [1]
    assert [str(row["amount"]) for row in judgement.rows["shop.refunds"]] == ["9.90"]
    assert not judgement.refused


def test_a_refused_record_says_why_and_the_others_stay(shop: Declarations) -> None:
    judgement = judge_records(
        shop,
        "orders",
        ["{", order(), order(amount="-1"), order(kind="other"), order(note="?"), Record(None), order(order_id=7)],
    )
    assert {position: error.error_class for position, error in judgement.refused.items()} == {
        0: "not_json",
        2: "rule",
        3: "unknown_route",
        4: "rule",
        5: "tombstone",
    }
    assert "`amount`" in judgement.refused[2].message
    assert [row["order_id"] for row in judgement.rows["shop.orders"]] == [1, 7]
    assert judgement.rows["shop.refunds"] == []


def test_no_records_are_no_rows(shop: Declarations) -> None:
    assert judge_records(shop, "orders", []).rows == {"shop.orders": [], "shop.refunds": []}


def test_changes_are_read_with_their_keys_and_headers(shop: Declarations) -> None:
    (stream,) = (name for name, declared in shop.streams.items() if declared.changes)
    source = {"connector": "postgresql", "lsn": 10, "ts_ms": 1_763_900_000_000, "schema": "public", "table": "orders"}
    created = {"op": "c", "after": {"order_id": 1, "amount": "9.90", "note": None}, "source": source}
    judgement = judge_records(
        shop,
        stream,
        [
            Record(json.dumps(created).encode(), key=b'{"order_id": 1}', headers=(("trace", b"\x00"),)),
            json.dumps({**created, "op": "?"}),
        ],
    )
    (change,) = judgement.rows["changelog.orders"]
    assert (change["operation"], change["key"]) == ("insert", {"order_id": 1})
    assert judgement.refused[1].error_class == "unknown_operation"


def test_an_unknown_stream_names_those_that_are_there(shop: Declarations) -> None:
    with pytest.raises(DeclarationError, match=r"'order'.*orders"):
        judge_records(shop, "order", [])
