"""What was known of a route when a day began: how it did over four weeks."""

from typing import Any

import pandera.pyspark as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, DoubleType

from lakehouse import Table, derived


class RouteHistory(pa.DataFrameModel):
    """A route's four weeks that ended two days before a day on which it was flown."""

    origin: str = pa.Field(isin=["EWR", "JFK", "LGA"], description="Airport of departure")
    dest: str = pa.Field(str_matches="^[0-9A-Z]{3}$", description="Airport of arrival")
    day: DateType = pa.Field(description="The day on which this is known; joins a flight's local date")
    flights: int = pa.Field(ge=0, description="Flights scheduled in the four weeks")
    mean_delay: DoubleType = pa.Field(
        nullable=True, description="Mean arrival delay in minutes; null below the parameter min_flights"
    )
    late_share: DoubleType = pa.Field(
        nullable=True, ge=0, le=1, description="Late among those that arrived; null below the parameter min_flights"
    )
    cancelled_share: DoubleType = pa.Field(
        nullable=True, ge=0, le=1, description="Cancelled among those scheduled; null below the parameter min_flights"
    )
    runtime_date: DateType = pa.Field(description="Runtime date of the run that computed the row")


table = Table(
    name="features.route_history",
    schema=RouteHistory,
    description="Delays by route over the four weeks that are known when a day begins.",
    owner="demo",
    key=("origin", "dest", "day"),
    write_mode="overwrite",
    runtime_date_column="runtime_date",
)
# Yesterday's late flights may still be in the air when today's first one leaves, so the weeks end the day before.
FIRST, LAST = -29, -2


@derived(table=table, inputs={"flights": "raw.flights"})
def route_history(flights: DataFrame, parameters: dict[str, Any]) -> DataFrame:
    """Add up the days before each day; a route that was hardly flown says nothing."""
    delay = F.col("arr_delay")
    days = flights.groupBy("origin", "dest", F.make_date("year", "month", "day").alias("day")).agg(
        F.count("*").alias("flights"),
        F.count_if(F.col("dep_time").isNull()).alias("cancelled"),
        F.count(delay).alias("arrived"),
        F.count_if(delay > parameters["late_after_minutes"]).alias("late"),
        F.sum(delay).alias("minutes"),
    )
    before = Window.partitionBy("origin", "dest").orderBy(F.unix_date("day")).rangeBetween(FIRST, LAST)
    weeks = days.select(
        *("origin", "dest", "day"),
        *(F.sum(name).over(before).alias(name) for name in ("flights", "cancelled", "arrived", "late", "minutes")),
    )
    enough = F.col("flights") >= parameters["min_flights"]
    return weeks.select(
        *("origin", "dest", "day"),
        F.coalesce("flights", F.lit(0)).cast("int").alias("flights"),
        F.when(enough, F.try_divide("minutes", "arrived")).alias("mean_delay"),
        F.when(enough, F.try_divide("late", "arrived")).alias("late_share"),
        F.when(enough, F.try_divide("cancelled", "flights")).alias("cancelled_share"),
    )
