"""The topic `flight_changes`: how a table of flights changed through 2013, as a change data capture would send it.

All messages of a flight go to one partition, chosen by their key. Message number i of a partition is the same whenever
it is asked for with the same switches, so the ends of the partitions say what is still missing.
"""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property

import polars as pl

from lakehouse.demo.change_delivery import Disorder, delivered
from lakehouse.demo.change_history import history
from lakehouse.demo.change_messages import MessageFormat, keys, values
from lakehouse.demo.sources import flights as all_flights
from lakehouse.engines.kafka import Record

CHANGES = 1_001_615
CANCELLED_FLIGHTS = 8_255
CHANGE_MESSAGES = CHANGES + CANCELLED_FLIGHTS  # each delete is followed by a tombstone
PARTITIONS = 4
_CHUNK = 20_000  # messages that are held in memory as text


@dataclass(frozen=True, kw_only=True)
class FlightChanges:
    """Histories of flights as messages, in the order in which they are sent.

    Attributes:
        message_format: how changes are written; with `debezium` a delete is followed by a tombstone.
        flights: the complete histories of so many flights, in the order of their schedule; of all if None.
        days: only what is sent in the first days, by the source's clock; the beginning of the whole if not None.
        partitions: of the topic.
        disorder: what goes wrong on the way.
    """

    message_format: MessageFormat = "debezium"
    flights: int | None = None
    days: int | None = None
    partitions: int = PARTITIONS
    disorder: Disorder = field(default_factory=Disorder)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row per message, in the order of sending, with `partition` and `place` (its number in the partition)."""
        changes = history(self.table)
        messages = delivered(changes, self.disorder, tombstones=self.message_format == "debezium")
        if self.days is not None:
            messages = messages.filter(pl.col("delivered") < pl.col("time").min() + timedelta(days=self.days))
        partition = pl.Series([zlib.crc32(key) % self.partitions for key in self._keys], dtype=pl.Int32)
        return messages.with_columns(partition=pl.lit(partition).gather(pl.col("flight_row"))).with_columns(
            place=pl.int_range(pl.len()).over("partition")
        )

    @cached_property
    def table(self) -> pl.DataFrame:
        """The flights as they ended, the cancelled ones among them."""
        frame = all_flights()
        return frame if self.flights is None else frame.head(self.flights)

    @property
    def ends(self) -> list[int]:
        """How many messages belong in each partition."""
        counts = dict(self.frame["partition"].value_counts().iter_rows())
        return [counts.get(partition, 0) for partition in range(self.partitions)]

    def records(self, stored_ends: Sequence[int] | None = None) -> Iterator[Record]:
        """The messages that a topic does not hold yet.

        Args:
            stored_ends: of its partitions; all messages if None.
        """
        frame = self.frame
        if stored_ends is not None:
            ends = pl.Series(list(stored_ends), dtype=pl.Int64)
            frame = frame.filter(pl.col("place") >= pl.lit(ends).gather(pl.col("partition")))
        for chunk in frame.iter_slices(_CHUNK):
            yield from self._rendered(chunk)

    def record(self, partition: int, position: int) -> Record:
        """One message."""
        return next(self._rendered(self.frame.filter(partition=partition, place=position)))

    def _rendered(self, chunk: pl.DataFrame) -> Iterator[Record]:
        rendered = values(chunk, self.table, self.message_format)
        columns = (chunk[name].to_list() for name in ("tombstone", "flight_row", "partition"))
        for value, tombstone, flight, partition in zip(rendered, *columns, strict=True):
            yield Record(None if tombstone else value, self._keys[flight], partition)

    @cached_property
    def _keys(self) -> list[bytes]:
        return keys(self.table)


def flight_changes(
    *,
    message_format: MessageFormat = "debezium",
    flights: int | None = None,
    days: int | None = None,
    partitions: int = PARTITIONS,
    disorder: Disorder | None = None,
) -> Iterator[Record]:
    """Yield the messages of `FlightChanges` one by one, in the order in which they are sent."""
    feed = FlightChanges(
        message_format=message_format,
        flights=flights,
        days=days,
        partitions=partitions,
        disorder=disorder or Disorder(),
    )
    return feed.records()
