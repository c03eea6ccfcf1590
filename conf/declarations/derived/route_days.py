"""How each route did on each day, for people who look at months. One can be computed alone, by a backfill from the UI.

A partitioned table is computed in a run of its own, so nothing else is computed from this one.
"""

from datetime import date
from typing import Any

import pandera.pyspark as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, DoubleType, LongType

from lakehouse import ByMonth, Table, derived


class RouteDays(pa.DataFrameModel):
    """A route's flights of one day, by the local date of their scheduled departure."""

    origin: str = pa.Field(isin=["EWR", "JFK", "LGA"], description="Airport of departure")
    dest: str = pa.Field(str_matches="^[0-9A-Z]{3}$", description="Airport of arrival")
    day: DateType = pa.Field(description="Local date of the scheduled departure")
    flights: int = pa.Field(ge=1, description="Flights scheduled")
    cancelled: int = pa.Field(ge=0, description="Flights that never departed")
    arrived: int = pa.Field(ge=0, description="Flights that arrived at this airport of arrival")
    late: int = pa.Field(
        ge=0, description="Of those, flights that were later than the parameter late_after_minutes says"
    )
    delay_minutes: LongType = pa.Field(
        description="Arrival delays of those that arrived, added up; early ones subtract"
    )
    worst_delay: int = pa.Field(nullable=True, description="The longest arrival delay in minutes; null if none arrived")
    mean_delay: DoubleType = pa.Field(nullable=True, description="Mean arrival delay in minutes; null if none arrived")
    runtime_date: DateType = pa.Field(description="Runtime date of the run that computed the row")


table = Table(
    name="features.route_days",
    schema=RouteDays,
    description="Delays by route and day.",
    owner="demo",
    key=("origin", "dest", "day"),
    partitioning=("month(day)",),
    write_mode="overwrite",
    runtime_date_column="runtime_date",
)


@derived(
    table=table,
    inputs={"flights": "raw.flights"},
    partitions=ByMonth(column="day", start=date(2013, 1, 1)),
)
def route_days(flights: DataFrame, parameters: dict[str, Any]) -> DataFrame:
    """Count and add up, so that days can be put together to weeks and months."""
    delay = F.col("arr_delay")
    return flights.groupBy("origin", "dest", F.make_date("year", "month", "day").alias("day")).agg(
        F.count("*").cast("int").alias("flights"),
        F.count_if(F.col("dep_time").isNull()).cast("int").alias("cancelled"),
        F.count(delay).cast("int").alias("arrived"),
        F.count_if(delay > parameters["late_after_minutes"]).cast("int").alias("late"),
        F.coalesce(F.sum(delay), F.lit(0)).cast("long").alias("delay_minutes"),
        F.max(delay).alias("worst_delay"),
        F.avg(delay).alias("mean_delay"),
    )
