"""A table that changes all the time: every change goes to a topic, and what the table holds is known."""

import json
import random
import time
from collections.abc import Iterator

from lakehouse.engines.kafka import Record, create_topic, send
from lakehouse.settings import KafkaSettings

PARTITIONS = 2
DECLARATION = '''
"""Changes of {name}, and what it holds."""

from datetime import timedelta

import pandera.pyspark as pa
from pyspark.sql.types import LongType

from lakehouse import Changelog, Flat, Mirror


class Row(pa.DataFrameModel):
    """A row."""

    id: LongType = pa.Field(description="Its number")
    word: str = pa.Field(nullable=True, description="A word")
    amount: LongType = pa.Field(nullable=True, description="A number")


log = Changelog(
    name="changelog.{name}",
    topic="{name}",
    stream="{name}",
    row=Row,
    key=("id",),
    description="Changes of {name}.",
    owner="endurance",
    format=Flat(source_time="__source_ts_ms"),
)
mirror = Mirror(name="mirror.{name}", changelog=log, target_lag=timedelta(seconds=60))
'''
Row = tuple[str, int]


class Source:
    """One table, its topic and its rows.

    Attributes:
        name: of the table and of the topic.
        rows: number → word and amount, as the table holds them.
        sent: how many messages the topic has.
    """

    def __init__(self, name: str, seed: int, keys: int) -> None:
        """Begin with an empty table.

        Args:
            name: of the table and of the topic.
            seed: of the changes.
            keys: how many rows there can be.
        """
        self.name = name
        self.rows: dict[int, Row] = {}
        self.sent = 0
        self._random, self._keys = random.Random(seed), keys

    def declare(self) -> str:
        """The declaration of stream, changelog and mirror."""
        return DECLARATION.format(name=self.name).lstrip()

    def create(self, kafka: KafkaSettings) -> None:
        """Make the topic."""
        create_topic(kafka, self.name, PARTITIONS, config={"retention.ms": "-1"})

    def change(self, kafka: KafkaSettings, count: int) -> None:
        """Change rows, and send each change.

        Raises:
            NotDelivered: a message was not taken. What had been sent of these before counts.
            BrokerUnreachable: no broker answered, and nothing was changed.
        """
        send(kafka, self.name, self._changes(count), total=count)

    def _changes(self, count: int) -> Iterator[Record]:
        for _ in range(count):
            number = self._random.randrange(self._keys)
            before = self.rows.get(number)
            if before is not None and self._random.random() < 0.1:
                operation, row = "d", None
                del self.rows[number]
            else:
                operation = "c" if before is None else "u"
                row = self.rows[number] = (f"word {self._random.randrange(1000)}", self._random.randrange(1 << 40))
            self.sent += 1
            yield self._record(number, operation, row)

    def _record(self, number: int, operation: str, row: Row | None) -> Record:
        word, amount = row or (None, None)
        columns = {"id": number, "word": word, "amount": amount}
        origin = {"__op": operation, "__source_lsn": self.sent, "__source_ts_ms": time.time_ns() // 1_000_000}
        value = json.dumps(columns | origin).encode()
        return Record(value, json.dumps({"id": number}).encode(), partition=number % PARTITIONS)
