"""Weather as it is known when an hour begins: the observations of the hour before, cleaned."""

import pandera.pyspark as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DateType, DecimalType, DoubleType, TimestampType

from lakehouse import SameValues, Table, derived


class HourlyWeather(pa.DataFrameModel):
    """What was known of an airport's weather at a full hour."""

    origin: str = pa.Field(isin=["EWR", "JFK", "LGA"], description="Airport of the station")
    known_from: TimestampType = pa.Field(description="End of the hour of the observation; joins a flight's time_hour")
    time_hour: TimestampType = pa.Field(description="The hour of the observation, as in raw.weather")
    temp: DoubleType = pa.Field(nullable=True, ge=-80, le=140, description="Temperature in °F")
    wind_speed: DoubleType = pa.Field(
        nullable=True, ge=0, le=250, description="Wind speed in mph; null where more was claimed than any wind blows"
    )
    precip: DecimalType(5, 2) = pa.Field(ge=0, description="Precipitation in inches, to the hundredth")
    visib: DoubleType = pa.Field(ge=0, description="Visibility in miles")
    low_visibility: BooleanType = pa.Field(description="Under 3 miles, where instrument flight rules begin")
    runtime_date: DateType = pa.Field(description="Runtime date of the run that computed the row")


table = Table(
    name="features.hourly_weather",
    schema=HourlyWeather,
    description="Weather by airport and hour, as it is known when the hour begins.",
    owner="demo",
    key=("origin", "known_from"),
    runtime_date_column="runtime_date",
    expects=(SameValues(column="precip", table="raw.weather", key=("origin", "time_hour")),),
)


# Each observation is a row of its own, so new ones are appended and old ones are not read again.
@derived(table=table, inputs={"weather": "raw.weather"}, mode="incremental", follows="weather")
def hourly_weather(weather: DataFrame) -> DataFrame:
    """Move each observation to the hour that it is known from, and clean it."""
    return weather.select(
        "origin",
        (F.col("time_hour") + F.expr("INTERVAL 1 HOUR")).alias("known_from"),
        "time_hour",
        "temp",
        F.when(F.col("wind_speed") <= 250, F.col("wind_speed")).alias("wind_speed"),
        F.col("precip").cast("decimal(5,2)").alias("precip"),
        "visib",
        (F.col("visib") < 3).alias("low_visibility"),
    )
