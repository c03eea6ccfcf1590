"""Stage: the workers' files go to each table's branch by metadata alone; where that cannot be, Spark writes them in."""

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql import SparkSession

from lakehouse.proofs.audit.coordinates import OFFSET, PARTITION
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit import branch_table, open_branch, stage_files
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.steps.ingest.duplicates.drop import written_rows
from lakehouse.steps.ingest.report import WriteResult


def stage_tables(
    spark: SparkSession, catalog: LakeCatalog, bases: Mapping[str, Base], attempt: Attempt, landed: WriteResult
) -> None:
    """Put what the workers wrote on the attempt's branches, table by table."""
    for name, files in landed.files.items():
        if files:
            stage_files(catalog, bases[name], attempt, files)
    for name, paths in landed.spooled.items():
        if paths:
            _write_spooled(spark, catalog, bases[name], attempt, paths, landed.duplicates.get(name))


def _write_spooled(
    spark: SparkSession,
    catalog: LakeCatalog,
    base: Base,
    attempt: Attempt,
    paths: Sequence[str],
    duplicates: pa.Table | None,
) -> None:
    """Let Spark's own writer lay out decoded rows: for layouts that it alone knows, or to leave out duplicates."""
    open_branch(catalog, base, attempt)
    for key, value in attempt.marks.items():
        spark.conf.set(f"spark.sql.iceberg.snapshot-property.{key}", value)
    try:
        rows = written_rows(spark, paths)
        if duplicates is not None:
            gone = spark.createDataFrame(duplicates)
            rows = rows.join(gone, [rows[PARTITION] == gone["partition"], rows[OFFSET] == gone["offset"]], "left_anti")
        rows.writeTo(branch_table(base, attempt)).append()
    finally:
        for key in attempt.marks:
            spark.conf.unset(f"spark.sql.iceberg.snapshot-property.{key}")
    for path in paths:
        base.table.io.delete(path)
