"""How busy an airport is in an hour, by the schedule: known long before the hour."""

import pandera.pyspark as pa
from pyspark.sql.types import DateType, TimestampType

from lakehouse import Derived, Table


class AirportLoad(pa.DataFrameModel):
    """Departures that are scheduled at an airport within an hour."""

    origin: str = pa.Field(isin=["EWR", "JFK", "LGA"], description="Airport of departure")
    time_hour: TimestampType = pa.Field(description="The hour; joins a flight's time_hour")
    departures: int = pa.Field(ge=1, description="Flights scheduled, whether they went or not")
    carriers: int = pa.Field(ge=1, description="Carriers that they are of")
    long_haul: int = pa.Field(ge=0, description="Those of at least so many miles as the parameter long_haul_miles says")
    runtime_date: DateType = pa.Field(description="Runtime date of the run that computed the row")


airport_load = Derived(
    table=Table(
        name="features.airport_load",
        schema=AirportLoad,
        description="Scheduled departures by airport and hour.",
        owner="demo",
        key=("origin", "time_hour"),
        write_mode="overwrite",
        runtime_date_column="runtime_date",
    ),
    inputs={"flights": "raw.flights"},
    compute="""
        SELECT origin,
               time_hour,
               CAST(count(*) AS INT) AS departures,
               CAST(count(DISTINCT carrier) AS INT) AS carriers,
               CAST(count_if(distance >= :long_haul_miles) AS INT) AS long_haul
        FROM flights
        GROUP BY origin, time_hour
    """,
)
