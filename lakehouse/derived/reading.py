"""Tables for Spark, each at a snapshot that was chosen before: Spark looks a name up anew on every action."""

from pyspark.sql import DataFrame, SparkSession


def rows_at(spark: SparkSession, name: str, snapshot_id: int) -> DataFrame:
    """The rows of a table at a snapshot."""
    return spark.sql(f"SELECT * FROM {quoted(name)} VERSION AS OF {snapshot_id}")


def quoted(name: str) -> str:
    """A declared table's name for Spark; its parts hold nothing that could end the quotes."""
    return ".".join(f"`{part}`" for part in ("lake", *name.split(".")))
