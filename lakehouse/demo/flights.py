"""The topic `flights`: the year 2013 with a handful of broken records, and then day after day for ever.

The days after 2013 are those of 2013 once more, under later dates: day 1 is 2014-01-01, day 366 is 2015-01-01.
"""

from collections.abc import Iterator
from datetime import date, timedelta
from functools import cached_property
from itertools import count

import polars as pl

from lakehouse.demo.broken import BROKEN_FLIGHTS, with_broken
from lakehouse.demo.sources import FLIGHTS, NEW_YORK, flights, json_lines

FIRST_YEAR = FLIGHTS + len(BROKEN_FLIGHTS)  # messages
FIRST_LATER_DAY = date(2014, 1, 1)


class FlightFeed:
    """All that is ever sent to `flights`, in one fixed order: message number i is the same on every machine."""

    def first_year(self) -> list[bytes]:
        """The messages 0 to FIRST_YEAR - 1."""
        return with_broken(json_lines(self._flights), BROKEN_FLIGHTS)

    def ends(self) -> Iterator[int]:
        """The number of messages up to the end of 2013, then up to the end of each later day."""
        end = FIRST_YEAR
        for number in count():
            yield end
            end += self._source(number).height

    def day(self, number: int) -> list[bytes]:
        """The messages of one later day, 0 being the first of January 2014."""
        today = FIRST_LATER_DAY + timedelta(days=number)
        shifted = self._source(number).with_columns(
            year=pl.lit(today.year), month=pl.lit(today.month), day=pl.lit(today.day)
        )
        # The hour on the clock is what stays; daylight saving begins on another date each year.
        local = pl.datetime("year", "month", "day", "hour", time_zone=NEW_YORK)
        return json_lines(
            shifted.with_columns(time_hour=local.dt.convert_time_zone("UTC").dt.strftime("%Y-%m-%dT%H:%M:%SZ"))
        )

    @cached_property
    def _flights(self) -> pl.DataFrame:
        return flights()

    @cached_property
    def _by_day(self) -> list[pl.DataFrame]:
        return self._flights.partition_by("year", "month", "day", maintain_order=True)

    def _source(self, number: int) -> pl.DataFrame:
        return self._by_day[number % len(self._by_day)]
