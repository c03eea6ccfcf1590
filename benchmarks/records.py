"""What is ingested: orders of about 130 bytes in JSON, eight fields, one of them a timestamp. The same at each call."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from lakehouse.engines.kafka import Record

KINDS = ("books", "tools", "games", "music", "plant")
PARTITIONS = 4
_CITIES = ("lisbon", "berlin", "dublin", "vienna", "madrid", "athens", "warsaw")
_START = datetime(2026, 1, 1, tzinfo=UTC)


def records(count: int) -> Iterator[Record]:
    """Orders in turn over the partitions."""
    for number in range(count):
        yield Record(value=order(number), partition=number % PARTITIONS)


def order(number: int) -> bytes:
    """The record of this number."""
    mixed = number * 2_654_435_761 % 2**32  # spreads neighbours, so that columns compress as real ones do
    # The kind must not follow from the partition, or each table would get its own.
    kind = KINDS[mixed // 7 % len(KINDS)]
    placed = (_START + timedelta(milliseconds=number * 37 + mixed % 1000)).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
    return (
        f'{{"id":{number},"kind":"{kind}","account":"a-{mixed % 100_000:05d}","quantity":{mixed % 90 + 1},'
        f'"price":{mixed % 50_000 / 100},"paid":{"true" if mixed % 3 else "false"},'
        f'"city":"{_CITIES[mixed % len(_CITIES)]}","placed":"{placed}Z"}}'
    ).encode()
