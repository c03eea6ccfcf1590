"""The statistics of columns: one row for each column and each snapshot that a check has looked at."""

from pathlib import Path

import pandera.pyspark as pa
import pyspark.sql.types as spark

from lakehouse.declarations.own_tables.upkeep import RECORD_UPKEEP
from lakehouse.declarations.table import Table

STATISTICS_FILE = Path(__file__)  # where a declaration that has the same name is told to look


class StatisticsRow(pa.DataFrameModel):  # pyright: ignore[reportMissingTypeArgument]
    """One column at one snapshot."""

    table_name: str = pa.Field(description="Table that was measured")
    table_uuid: str = pa.Field(description="Which table of that name, should it be made anew")
    column_name: str = pa.Field(description="Column that was measured")
    snapshot_id: spark.LongType = pa.Field(description="Snapshot that brought the rows that were measured")
    committed_at: spark.TimestampType = pa.Field(description="When that snapshot was made")
    statistics: str = pa.Field(description="What was found, as JSON: counts, quantiles, bins, frequent texts")
    run_id: str = pa.Field(description="Dagster run that measured")


STATISTICS = Table(
    name="lakehouse.statistics",
    schema=StatisticsRow,
    description="Statistics of columns by snapshot: the history that drift is judged against.",
    owner="lakehouse",
    key=("table_uuid", "column_name", "snapshot_id"),
    partitioning=("table_name",),
    maintenance=RECORD_UPKEEP,
)
