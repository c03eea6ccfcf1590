"""With what planes a carrier flew in a month: how many, how old, how large."""

import pandera.pyspark as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, DoubleType

from lakehouse import References, Table, derived


class CarrierFleet(pa.DataFrameModel):
    """A carrier's planes of one month, each counted once, however often it flew."""

    carrier: str = pa.Field(str_matches="^[0-9A-Z]{2}$", description="Carrier's two-letter code")
    month: DateType = pa.Field(description="The month's first day")
    planes: int = pa.Field(ge=0, description="Tail numbers that flew from New York City")
    known: int = pa.Field(ge=0, description="Of those, tail numbers that raw.planes knows")
    mean_age: DoubleType = pa.Field(
        nullable=True, ge=0, le=110, description="Mean age in years of those whose year of manufacture is known"
    )
    mean_seats: DoubleType = pa.Field(nullable=True, ge=1, description="Mean number of seats of those that are known")
    runtime_date: DateType = pa.Field(description="Runtime date of the run that computed the row")


table = Table(
    name="features.carrier_fleet",
    schema=CarrierFleet,
    description="Planes by carrier and month, with age and size.",
    owner="demo",
    key=("carrier", "month"),
    write_mode="overwrite",
    runtime_date_column="runtime_date",
    expects=(References(columns=("carrier",), table="raw.airlines"),),
)


@derived(table=table, inputs={"flights": "raw.flights", "planes": "raw.planes"})
def carrier_fleet(flights: DataFrame, planes: DataFrame) -> DataFrame:
    """Take each tail number once a month and look it up; American's and Envoy's fleet numbers are mostly not found."""
    flown = flights.select("carrier", F.make_date("year", "month", F.lit(1)).alias("month"), "tailnum").distinct()
    registry = planes.select("tailnum", F.col("year").alias("built"), "seats")
    return (
        flown.join(F.broadcast(registry), "tailnum", "left")
        .groupBy("carrier", "month")
        .agg(
            F.count("tailnum").cast("int").alias("planes"),
            F.count("seats").cast("int").alias("known"),
            F.avg(F.year("month") - F.col("built")).alias("mean_age"),
            F.avg("seats").alias("mean_seats"),
        )
    )
