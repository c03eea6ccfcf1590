"""Reads what a step needs with Spark, each at a snapshot that was chosen before: a name alone may change any moment."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from pyiceberg import types as iceberg
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform, IdentityTransform
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from lakehouse.declarations import Changelog, MirrorTables
from lakehouse.engines.spark import set_for
from lakehouse.engines.spark.naming import quoted_name, quoted_table
from lakehouse.iceberg.names import identifier_of
from lakehouse.iceberg.spark_literals import ORDERED
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit.rebase import added_files
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.history import ancestry, head_of, is_rewrite
from lakehouse.protocol.seals.read_group import read_group
from lakehouse.steps.cdc.fold.expressions import field
from lakehouse.steps.cdc.plan.file_pruning import Part, Touched
from lakehouse.steps.cdc.plan.initial_load import as_reads
from lakehouse.steps.cdc.plan.range import Range
from lakehouse.steps.cdc.refusals import FilesGone, InitialGone

# So many changes are kept in memory, as far as it goes, and not read again for each look.
_KEPT_CHANGES = 1_000_000
_CHANGES_PER_PARTITION = 25_000
_PARTITIONS = "spark.sql.shuffle.partitions"


def changes_of(spark: SparkSession, change_range: Range) -> DataFrame:
    """The rows of a range, as they are in the changelog."""
    if change_range.start is None:
        return history_of(spark, change_range)
    options = {"start-snapshot-id": str(change_range.start), "end-snapshot-id": str(change_range.end)}
    return spark.read.options(**options).table(quoted_table(change_range.name))


def history_of(spark: SparkSession, change_range: Range) -> DataFrame:
    """The changelog's rows up to the end of a range."""
    return spark.read.option("versionAsOf", str(change_range.end)).table(quoted_table(change_range.name))


@contextmanager
def kept(frame: DataFrame, rows: int) -> Generator[DataFrame]:
    """The frame, in memory or on local disk for a while, where it is not large."""
    if rows > _KEPT_CHANGES:
        yield frame
        return
    persisted = frame.persist()
    try:
        yield persisted
    finally:
        persisted.unpersist()


@contextmanager
def small_shuffles(spark: SparkSession, rows: int) -> Generator[None]:
    """No more partitions than so many rows fill; a MERGE, which shuffles the mirror as well, keeps the session's."""
    configured = spark.conf.get(_PARTITIONS, "200") or "200"
    with set_for(spark, {_PARTITIONS: str(max(1, min(int(configured), 1 + rows // _CHANGES_PER_PARTITION)))}):
        yield


def rows_at(spark: SparkSession, base: Base, literals: Sequence[str] = ()) -> DataFrame | None:
    """A table of the mirror as the step found it, only the part that the conditions name; None if it has no rows."""
    if base.snapshot_id is None or not base.has_rows:
        return None
    rows = spark.read.option("versionAsOf", str(base.snapshot_id)).table(quoted_table(base.name)).alias("t")
    for literal in literals:
        rows = rows.where(literal)
    return rows


def require_files(mirror: str, change_range: Range) -> None:
    """Refuse a range whose files are gone from storage, before a task fails on one in the middle of the run.

    Only a compaction leaves files that nobody but the range still names, so without one nothing is looked at.

    Raises:
        FilesGone: some are.
    """
    history = list(ancestry(change_range.table, head_of(change_range.table)))
    end_index = next((index for index, snapshot in enumerate(history) if snapshot.snapshot_id == change_range.end), 0)
    if not any(is_rewrite(s) for s in (*history[:end_index], *change_range.snapshots)):
        return
    for snapshot in change_range.snapshots:
        if is_rewrite(snapshot):
            continue
        try:
            files = [file.file_path for file in added_files(change_range.table, snapshot)]
            missing = [path for path in files if not change_range.table.io.new_input(path).exists()]
        except FileNotFoundError as error:  # a manifest
            missing = [str(error.filename or error)]
        if missing:
            raise FilesGone(mirror, change_range.name, snapshot.snapshot_id, missing)


def touched_by(changes: DataFrame, log: Changelog, mirror: Base) -> Touched:
    """Where the keys of the changes lie: one small aggregation."""
    schema, key = mirror.table.schema(), [column.name for column in log.key_columns]
    secret = {column.name for column in log.key_columns if column.sensitive}
    aggregations: dict[str, Expression] = {}
    parts: dict[str, Part] = {}
    for name in key:
        aggregations[f"null {name}"] = f.count_if(f.col(quoted_name(name)).isNull())
        # A literal stands in Spark's plans and logs, where no value of a sensitive column may be.
        if name not in secret and isinstance(schema.find_field(name).field_type, ORDERED):
            value = _stored(name, schema.find_field(name).field_type)
            aggregations[f"min {name}"], aggregations[f"max {name}"] = f.min(value), f.max(value)
    for index, term in enumerate(mirror.table.spec().fields):
        name, transform = schema.find_column_name(term.source_id) or "", term.transform
        if name in key and isinstance(transform, BucketTransform):
            bucket = f.expr(f"lake.system.bucket({transform.num_buckets}, `{name}`)")
            aggregations[f"part {index}"], parts[f"part {index}"] = f.collect_set(bucket), (name, str(transform))
        elif name in key and f"min {name}" in aggregations and isinstance(transform, IdentityTransform):
            value = f.collect_set(_stored(name, schema.find_field(name).field_type))
            aggregations[f"part {index}"], parts[f"part {index}"] = value, (name, str(transform))
    of_rows = changes.where(~f.col("operation").isin("truncate", "control"))
    keys = of_rows.select(*(field("key", name).alias(name) for name in key))
    row = keys.agg(*(value.alias(name) for name, value in aggregations.items())).first()
    aggregates = row.asDict() if row is not None else {}
    return Touched(
        bounds={
            n: (aggregates[f"min {n}"], aggregates[f"max {n}"]) for n in key if aggregates.get(f"min {n}") is not None
        },
        parts={part: frozenset(aggregates[name]) for name, part in parts.items()},
        nulls=frozenset(name for name in key if aggregates.get(f"null {name}")),
    )


def _stored(name: str, kind: iceberg.IcebergType) -> Expression:
    """A value as Iceberg stores it, which is how manifests tell it."""
    column = f.col(quoted_name(name))
    match kind:
        case iceberg.DateType():
            return f.unix_date(column)
        case iceberg.TimestamptzType() | iceberg.TimestampType():
            return f.unix_micros(column.cast("timestamp"))
        case _:
            return column


def initial_rows(
    spark: SparkSession, catalog: LakeCatalog, tables: MirrorTables, pinned: str
) -> tuple[DataFrame | None, str]:
    """The rows with which the mirror begins, as reads, and `table@snapshot`; None where it begins without.

    Args:
        spark: the session.
        catalog: where the table lives.
        tables: the mirror.
        pinned: `table@snapshot` of an earlier build; the declared table's present snapshot where empty.

    Raises:
        InitialGone: the table, or that snapshot of it, is not there, or it lacks a column of the key.
    """
    initial = tables.mirror.initial
    if initial is None:
        return None, ""
    mirror = tables.mirror.name
    if not catalog.table_exists(identifier_of(initial)):
        raise InitialGone(mirror, initial, "there is no such table")
    table: Table = read_group(catalog, [initial])[initial].table
    name, _, pinned_id = pinned.partition("@")
    snapshot_id = int(pinned_id) if name == initial and pinned_id else head_of(table)
    if snapshot_id is None:
        return None, ""
    if table.metadata.snapshot_by_id(snapshot_id) is None:
        raise InitialGone(mirror, initial, f"its snapshot {snapshot_id} has expired")
    rows = spark.read.option("versionAsOf", str(snapshot_id)).table(quoted_table(initial))
    try:
        return as_reads(rows, tables.changelog), f"{initial}@{snapshot_id}"
    except ValueError as error:
        raise InitialGone(mirror, initial, str(error)) from error
