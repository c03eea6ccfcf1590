"""Takes duplicates out of what the workers wrote, before it is staged.

Only files that may hold one are written anew, by Spark; most runs have none, and then nothing is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import pyarrow as pa
from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.types import PrimitiveType
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from lakehouse.declarations import Declarations
from lakehouse.engines.kafka.statement import DUPLICATE, Counts
from lakehouse.engines.kafka.tally import Tally, added
from lakehouse.engines.spark.naming import rows_at
from lakehouse.proofs.audit.coordinates import OFFSET, PARTITION
from lakehouse.protocol.seals.base import Base
from lakehouse.steps.ingest.duplicates.find import duplicates, type_names
from lakehouse.steps.ingest.report import WriteResult

Ranges = Mapping[int, tuple[int, int]]
"""Partition → first offset, and the offset after the last."""


def without_duplicates(
    spark: SparkSession,
    declarations: Declarations,
    bases: Mapping[str, Base],
    landed: WriteResult,
    *,
    ranges: Ranges | None = None,
) -> WriteResult:
    """What the workers wrote, less what the tables say are duplicates.

    Args:
        spark: a session.
        declarations: with the tables' policies.
        bases: the tables before the run.
        landed: what the workers wrote.
        ranges: of offsets that are read again, whose rows in the tables are not looked at.

    Returns:
        The same, where the files that hold duplicates are among those that Spark writes anew, without them.
    """
    for name, base in bases.items():
        policy = declarations.tables[name].duplicates
        paths = [*(file.file_path for file in landed.files.get(name, [])), *landed.spooled.get(name, [])]
        if policy is None or not paths:
            continue
        new = written_rows(spark, paths)
        known = None if base.snapshot_id is None else _outside(rows_at(spark, name, base.snapshot_id), ranges)
        key = policy.key or declarations.tables[name].key
        places = duplicates(new, known, policy, key, type_names(new.schema)).toArrow()
        if places.num_rows:
            landed = _less(landed, name, base.table, places)
    return landed


def written_rows(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """The rows of data files; what folders are called is no column."""
    return spark.read.option("recursiveFileLookup", "true").parquet(*paths)


def tallied(places: pa.Table) -> dict[int, Tally]:
    """Partition → tally of some places, each of which is there once."""
    partitions, offsets = places["partition"].to_numpy(), places["offset"].to_numpy().astype(np.int64)
    return {int(partition): Tally.of(offsets[partitions == partition]) for partition in np.unique(partitions)}


def _outside(known: DataFrame, ranges: Ranges | None) -> DataFrame:
    for partition, (start, end) in (ranges or {}).items():
        inside = (sql.col(PARTITION) == partition) & sql.col(OFFSET).between(start, end - 1)
        known = known.where(~sql.coalesce(inside, sql.lit(False)))
    return known


def _less(landed: WriteResult, name: str, table: Table, places: pa.Table) -> WriteResult:
    """What is left of a table's rows; which of its files Spark has to write anew."""
    gone = tallied(places)
    count = places.num_rows
    files = landed.files.get(name, [])
    kept = [file for file in files if not _may_hold(table, file, places)]
    kept_paths = {file.file_path for file in kept}
    anew = [file.file_path for file in files if file.file_path not in kept_paths]
    less = {name: {partition: -tally for partition, tally in gone.items()}, DUPLICATE: gone}
    tallies = {
        table_name: {partition: tally for partition, tally in by_partition.items() if tally != Tally()}
        for table_name, by_partition in added(landed.tallies, less).items()
    }
    return replace(
        landed,
        files={**landed.files, name: kept},
        spooled={**landed.spooled, name: [*landed.spooled.get(name, []), *anew]},
        duplicates={**landed.duplicates, name: places},
        tallies=tallies,
        counts=landed.counts + Counts(written=-count, filtered=count),
        dropped={**landed.dropped, "duplicate": {**landed.dropped.get("duplicate", {}), name: count}},
    )


def _may_hold(table: Table, file: DataFile, places: pa.Table) -> bool:
    """Whether one of the places may be in a file, by its bounds."""
    inside = np.ones(places.num_rows, np.bool_)
    for column, numbers in ((PARTITION, places["partition"]), (OFFSET, places["offset"])):
        field = table.schema().find_field(column)
        lower, upper = ((file.lower_bounds or {}).get(field.field_id), (file.upper_bounds or {}).get(field.field_id))
        if lower is None or upper is None:
            return True
        kind = cast("PrimitiveType", field.field_type)
        values = numbers.to_numpy()
        inside &= (values >= from_bytes(kind, lower)) & (values <= from_bytes(kind, upper))
    return bool(inside.any())
