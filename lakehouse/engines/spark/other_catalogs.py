"""Rows of tables of other catalogs, in a session that has been told of these."""

from pyspark.sql import SparkSession

from lakehouse.engines.spark.catalog import is_in_memory
from lakehouse.engines.spark.naming import quoted_name, quoted_table, quoted_text
from lakehouse.iceberg.names import identifier_of, split_catalog


def show_table(spark: SparkSession, name: str, metadata_location: str) -> None:
    """Let a session find a table of another catalog, where it cannot ask that catalog itself.

    A table that it was shown before is shown anew: as `metadata_location` has it.

    Args:
        spark: a session of ours.
        name: `catalog:namespace.table`; one of the own catalog needs nothing.
        metadata_location: of the document that was read.
    """
    catalog, table = split_catalog(name)
    if not catalog or not is_in_memory(spark, catalog):
        return
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {quoted_name(catalog, *identifier_of(table)[:-1])}")
    spark.sql(f"DROP TABLE IF EXISTS {quoted_table(name)}")  # in this session's memory, and nowhere else
    arguments = f"table => {quoted_text(table)}, metadata_file => {quoted_text(metadata_location)}"
    spark.sql(f"CALL {quoted_name(catalog)}.system.register_table({arguments})").collect()
