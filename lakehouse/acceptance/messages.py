"""What is sent to the topics of an acceptance run: the same for every run, so that the tables are known beforehand."""

from collections.abc import Iterator

import msgspec

from lakehouse.acceptance.scratch import PARTITIONS
from lakehouse.engines.kafka import Record

SHOPS: tuple[str, ...] = ("Kiel", "Bonn", "Jena")
_OPERATIONS = ("c", "u", "d")


def orders(first: int, count: int) -> Iterator[Record]:
    """Orders with these numbers, over all partitions."""
    for number in range(first, first + count):
        value = {"order_id": number, "shop": SHOPS[number % len(SHOPS)], "amount": number % 100}
        yield Record(msgspec.json.encode(value), partition=number % PARTITIONS)


def totals(count: int) -> dict[str, int]:
    """Shop → what the first orders come to."""
    sums = dict.fromkeys(SHOPS, 0)
    for number in range(count):
        sums[SHOPS[number % len(SHOPS)]] += number % 100
    return sums


def changes(count: int) -> Iterator[Record]:
    """So many customers, each created, renamed, and every third deleted; a customer keeps to its partition."""
    for operation in _OPERATIONS:
        for number in range(count):
            if operation == "d" and number % 3:
                continue
            value = {"customer_id": number, "name": f"{operation}{number}", "__op": operation}
            key = msgspec.json.encode({"customer_id": number})
            yield Record(msgspec.json.encode(value), key=key, partition=number % PARTITIONS)


def customers(count: int) -> dict[int, str]:
    """Who is left of them: number → name."""
    return {number: f"u{number}" for number in range(count) if number % 3}
