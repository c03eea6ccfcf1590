"""What is sent is what the tables are compared with."""

from collections import Counter

import msgspec

from lakehouse.acceptance.messages import changes, customers, orders, totals
from lakehouse.acceptance.scratch import PARTITIONS


def test_totals_are_of_the_orders() -> None:
    sums: Counter[str] = Counter()
    for record in [*orders(0, 50), *orders(50, 150)]:
        order = msgspec.json.decode(record.value or b"")
        sums[order["shop"]] += order["amount"]
    assert sums == totals(200)


def test_customers_are_what_the_changes_leave() -> None:
    left: dict[int, str] = {}
    for record in changes(10):
        change = msgspec.json.decode(record.value or b"")
        assert record.partition == change["customer_id"] % PARTITIONS  # or its changes could come in another order
        if change["__op"] == "d":
            del left[change["customer_id"]]
        else:
            left[change["customer_id"]] = change["name"]
    assert left == customers(10)
