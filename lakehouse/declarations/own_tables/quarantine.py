"""The table that keeps what a stream could not accept: the record as it came, and why."""

import pandera.pyspark as pa
import pyspark.sql.types as spark

from lakehouse.declarations.columns import dtypes as _dtypes  # registers the struct of a header
from lakehouse.declarations.stream import Stream
from lakehouse.declarations.table import Table

assert _dtypes.Struct

_HEADER = spark.StructType(
    [spark.StructField("key", spark.StringType(), nullable=False), spark.StructField("value", spark.BinaryType())]
)
# What came in is sensitive as long as nobody could read it.
_SENSITIVE = {"sensitive": True}


class Quarantined(pa.DataFrameModel):  # pyright: ignore[reportMissingTypeArgument]
    """One record that was not accepted."""

    key: spark.BinaryType = pa.Field(nullable=True, description="Key as it came", metadata=_SENSITIVE)
    value: spark.BinaryType = pa.Field(nullable=True, description="Value as it came", metadata=_SENSITIVE)
    headers: spark.ArrayType(_HEADER, False) = pa.Field(  # pyright: ignore[reportInvalidTypeForm]
        nullable=True, description="Headers as they came", metadata=_SENSITIVE
    )
    error_class: str = pa.Field(description="Kind of error, such as not_json or missing_field")
    error_message: str = pa.Field(description="What was wrong, without the value")
    run_id: str = pa.Field(description="Dagster run that put the record here")


def quarantine_table(stream: Stream, owner: str) -> Table:
    """Declare a stream's quarantine."""
    return Table(
        name=stream.quarantine_table,
        schema=Quarantined,
        description=f"Records of topic {stream.topic} that stream {stream.name} could not accept, and why.",
        owner=owner,
        coordinates=True,
    )
