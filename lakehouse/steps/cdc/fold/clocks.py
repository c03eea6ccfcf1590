"""Whose clock is believed: the source tells when it made a change, and only we know by when it had arrived.

Kafka's timestamp is the producer's word too (CreateTime), so it is no witness. By the time that an ingest has sealed a
range, all of it had arrived. A change that is said to be later than that comes from a clock that is ahead: a little
ahead, it counts as made when the range was sealed; further than changes may be late, it says nothing of how far the
source has come, or one such change would make all others too late.
"""

from dataclasses import dataclass
from datetime import timedelta

from pyspark.sql import Column as Expression
from pyspark.sql import functions as sql


@dataclass(frozen=True)
class Arrival:
    """By when some changes had arrived.

    Attributes:
        by_us: by our clock, microseconds since the epoch.
        ahead: how far ahead of that a clock may be, and still be believed that its changes are new.
    """

    by_us: int
    ahead: timedelta

    def believed(self, time_us: Expression) -> Expression:
        """Of a time that is told, microseconds, what is believed; null where nothing is."""
        latest_us = self.by_us + self.ahead // timedelta(microseconds=1)
        return sql.when(time_us <= latest_us, sql.least(time_us, sql.lit(self.by_us)))
