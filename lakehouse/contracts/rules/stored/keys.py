"""Uniqueness: is any key of a table there twice? One job over the key's columns; null counts as a value.

What is unique among new rows may still be there among the old. Where the old ones are known to be unique, only the
keys of new rows are looked for, in the files that can hold one of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table as IcebergTable
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from lakehouse.contracts.rules.stored.count import RowCount
from lakehouse.contracts.rules.stored.examples import describe_row, shown_columns, texts_of
from lakehouse.contracts.rules.stored.expressions import named
from lakehouse.contracts.rules.stored.frequent import ROWS, TEXTS, Frequent, most_frequent
from lakehouse.contracts.rules.stored.scope import RowScope
from lakehouse.contracts.rules.stored.spark_jobs import Session
from lakehouse.declarations import Table
from lakehouse.engines.spark import single_job
from lakehouse.engines.spark.naming import quoted_name
from lakehouse.iceberg.spark_literals import ORDERED, literal

# So many new keys go to every worker.
_BROADCAST_ROWS = 1_000_000


@dataclass(frozen=True)
class KeyReport:
    """How often keys are there.

    Attributes:
        snapshot_id: the snapshot that was judged.
        since: only keys of rows that were added after this snapshot were looked for; None: all keys were.
        rows: rows of the snapshot; at most so many where some of them are deleted.
        repeated: keys that are there more than once.
        surplus: rows beyond the first of their key.
        examples: some of these keys, the most frequent first.
    """

    snapshot_id: int
    since: int | None
    rows: int
    repeated: int
    surplus: int
    examples: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether no key is there twice."""
        return not self.repeated


def check_key(
    declared: Table, table: IcebergTable, snapshot_id: int, session: Session, *, proven: int | None = None
) -> KeyReport:
    """Look for keys that are there more than once.

    Args:
        declared: the table with its key.
        table: the same, loaded.
        snapshot_id: which snapshot.
        session: opens a Spark session.
        proven: a snapshot in which no key is twice. It counts where rows were only added after it.

    Raises:
        SnapshotGone: there is no such snapshot.
    """
    scope, added = RowScope.of(table, snapshot_id, None), RowScope.of(table, snapshot_id, proven)
    repeated = Frequent(0, 0, ())
    if any(True for _ in added.files()):
        with session() as spark, single_job(spark):
            rows = scope.frame(spark) if added.since is None else _suspects(scope, added, declared, spark)
            repeated = most_frequent(_repeated(rows, declared))
    shown = shown_columns(declared, declared.key)
    return KeyReport(
        snapshot_id=snapshot_id,
        since=added.since,
        rows=RowCount.by_summary(scope.snapshot).most or 0,
        repeated=repeated.values,
        surplus=repeated.rows - repeated.values,
        examples=tuple(f"{describe_row(shown, texts)}: {rows:,} rows" for texts, rows in repeated.most if shown),
    )


def _suspects(scope: RowScope, added: RowScope, declared: Table, spark: SparkSession) -> DataFrame:
    """All rows, new and old, that have a new row's key."""
    files, rows = list(added.files()), scope.frame(spark)
    for condition in _bounds_of(files, added, declared):
        rows = rows.where(condition)
    # Under names of their own: the table is joined with itself.
    keys = added.frame(spark).select(*(named(name).alias(f"_new_{name}") for name in declared.key)).distinct()
    if sum(file.record_count for file in files) <= _BROADCAST_ROWS:
        keys = f.broadcast(keys)
    same = (named(name).eqNullSafe(named(f"_new_{name}")) for name in declared.key)
    return rows.join(keys, reduce(Expression.__and__, same), "left_semi")


def _bounds_of(files: list[DataFile], added: RowScope, declared: Table) -> Iterator[str]:
    """Conditions that each key of these files keeps, by their manifests: files without such keys are not opened.

    A literal stands in Spark's plans and logs, where no value of a sensitive column may be.
    """
    for name in declared.key:
        column = added.schema.find_field(name)
        if declared.column(name).sensitive or not isinstance(column.field_type, ORDERED):
            continue
        bounds = [
            (file.lower_bounds[column.field_id], file.upper_bounds[column.field_id])
            for file in files
            if column.field_id in (file.lower_bounds or {})
            and column.field_id in (file.upper_bounds or {})
            and (file.null_value_counts or {}).get(column.field_id) == 0
        ]
        if len(bounds) < len(files):
            continue
        least = min(from_bytes(column.field_type, lower) for lower, _ in bounds)
        greatest = max(from_bytes(column.field_type, upper) for _, upper in bounds)
        low, high = literal(least, column.field_type), literal(greatest, column.field_type)
        yield f"{quoted_name(name)} BETWEEN {low} AND {high}"


def _repeated(rows: DataFrame, declared: Table) -> DataFrame:
    keys = rows.groupBy(*map(named, declared.key)).agg(f.count(f.lit(1)).alias(ROWS))
    texts = texts_of(shown_columns(declared, declared.key))
    return keys.where(f.col(ROWS) > 1).select(ROWS, texts.alias(TEXTS))
