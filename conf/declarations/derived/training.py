"""The training table: each flight with what was known an hour before it, and how it went.

No feature tells the outcome. Weather is that of the hour before, history ends two days before, the fleet is last
month's, the load is the schedule's. The plane's own age is left out on purpose: cancelled flights often have no tail
number, so whether the age is there would tell that they were cancelled.
"""

from typing import Any

import pandera.pyspark as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DateType, DecimalType, DoubleType, TimestampType

from lakehouse import References, SampleOf, Table, derived


class Training(pa.DataFrameModel):
    """A flight: what it is (key), what was known (features), how it went (outcome)."""

    time_hour: TimestampType = pa.Field(description="Key: scheduled departure to the hour")
    carrier: str = pa.Field(str_matches="^[0-9A-Z]{2}$", description="Key: carrier's two-letter code")
    flight: int = pa.Field(gt=0, description="Key: flight number")
    origin: str = pa.Field(isin=["EWR", "JFK", "LGA"], description="Feature: airport of departure")
    dest: str = pa.Field(str_matches="^[0-9A-Z]{3}$", description="Feature: airport of arrival")
    day: DateType = pa.Field(description="Feature: local date of the scheduled departure")
    weekday: int = pa.Field(ge=0, le=6, description="Feature: day of the week, Monday is 0")
    minute_of_day: int = pa.Field(ge=0, le=1439, description="Feature: scheduled departure, minutes after midnight")
    distance: int = pa.Field(gt=0, description="Feature: miles between the airports")
    temp: DoubleType = pa.Field(nullable=True, ge=-80, le=140, description="Feature: °F in the hour before")
    wind_speed: DoubleType = pa.Field(nullable=True, ge=0, le=250, description="Feature: mph in the hour before")
    precip: DecimalType(5, 2) = pa.Field(nullable=True, ge=0, description="Feature: inches of rain in the hour before")
    low_visibility: BooleanType = pa.Field(nullable=True, description="Feature: under 3 miles in the hour before")
    departures: int = pa.Field(ge=1, description="Feature: departures scheduled at the airport in this hour")
    long_haul: int = pa.Field(ge=0, description="Feature: long ones among them")
    route_flights: int = pa.Field(ge=0, description="Feature: flights on this route in the four weeks before")
    route_delay: DoubleType = pa.Field(nullable=True, description="Feature: their mean arrival delay in minutes")
    route_late: DoubleType = pa.Field(nullable=True, ge=0, le=1, description="Feature: share of them that was late")
    route_cancelled: DoubleType = pa.Field(nullable=True, ge=0, le=1, description="Feature: share that was cancelled")
    fleet_planes: int = pa.Field(nullable=True, ge=0, description="Feature: planes of the carrier in the month before")
    fleet_age: DoubleType = pa.Field(nullable=True, ge=0, le=110, description="Feature: their mean age in years")
    cancelled: BooleanType = pa.Field(description="Outcome: it never departed")
    arr_delay: int = pa.Field(nullable=True, description="Outcome: arrival delay in minutes; null if it did not arrive")
    late: BooleanType = pa.Field(
        nullable=True, description="Outcome: later than the parameter late_after_minutes; null if it did not arrive"
    )
    runtime_date: DateType = pa.Field(description="Runtime date of the run that computed the row")


table = Table(
    name="features.training",
    schema=Training,
    description="Flights with what was known an hour before their departure, and how they went.",
    owner="demo",
    key=("time_hour", "carrier", "flight"),
    write_mode="overwrite",
    runtime_date_column="runtime_date",
    expects=(
        References(columns=("carrier",), table="raw.airlines"),
        # The joins have neither lost nor doubled a kind of flight.
        SampleOf(column="distance", table="raw.flights", largest=0.01),
    ),
)


@derived(
    table=table,
    inputs={
        "flights": "raw.flights",
        "weather": "features.hourly_weather",
        "load": "features.airport_load",
        "history": "features.route_history",
        "fleet": "features.carrier_fleet",
    },
)
def training(
    flights: DataFrame,
    weather: DataFrame,
    load: DataFrame,
    history: DataFrame,
    fleet: DataFrame,
    parameters: dict[str, Any],
) -> DataFrame:
    """Put beside each flight what was known; every join has at most one partner, so a flight stays one row."""
    scheduled = flights.withColumn("day", F.make_date("year", "month", "day")).select(
        *("time_hour", "carrier", "flight", "origin", "dest", "day", "distance", "arr_delay"),
        F.weekday("day").alias("weekday"),
        (F.col("hour") * 60 + F.col("minute")).alias("minute_of_day"),
        F.col("dep_time").isNull().alias("cancelled"),
        (F.col("arr_delay") > parameters["late_after_minutes"]).alias("late"),
        F.add_months(F.trunc("day", "month"), -1).alias("month_before"),
    )
    known = weather.select(
        "origin", F.col("known_from").alias("time_hour"), "temp", "wind_speed", "precip", "low_visibility"
    )
    busy = load.select("origin", "time_hour", "departures", "long_haul")
    route = history.select(
        "origin",
        "dest",
        "day",
        F.col("flights").alias("route_flights"),
        F.col("mean_delay").alias("route_delay"),
        F.col("late_share").alias("route_late"),
        F.col("cancelled_share").alias("route_cancelled"),
    )
    planes = fleet.select(
        "carrier",
        F.col("month").alias("month_before"),
        F.col("planes").alias("fleet_planes"),
        F.col("mean_age").alias("fleet_age"),
    )
    # All that is joined is small: the flights stay where they are.
    return (
        scheduled.join(F.broadcast(known), ["origin", "time_hour"], "left")
        .join(F.broadcast(busy), ["origin", "time_hour"], "left")
        .join(F.broadcast(route), ["origin", "dest", "day"], "left")
        .join(F.broadcast(planes), ["carrier", "month_before"], "left")
        .drop("month_before")
    )
