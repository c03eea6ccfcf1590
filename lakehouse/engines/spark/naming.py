"""Names in Spark's SQL, quoted, and the rows of a table at one snapshot: Spark looks a name up on every action."""

from pyspark.sql import DataFrame, SparkSession

from lakehouse.iceberg.names import identifier_of, split_catalog


def quoted_name(*parts: str) -> str:
    """An identifier of these parts, each in backticks; one within a part is doubled, so none ends the quotes."""
    return ".".join("`{}`".format(part.replace("`", "``")) for part in parts)


def quoted_table(name: str) -> str:
    """A table of the lake, `namespace.table`, or of another catalog, `catalog:namespace.table`."""
    catalog, table = split_catalog(name)
    return quoted_name(catalog or "lake", *identifier_of(table))


def quoted_text(text: str) -> str:
    """A text, as an argument of a procedure of Spark's."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def rows_at(spark: SparkSession, name: str, snapshot_id: int) -> DataFrame:
    """The rows of a table at exactly one snapshot, with the schema of that snapshot."""
    return spark.sql(f"SELECT * FROM {quoted_table(name)} VERSION AS OF {snapshot_id}")
