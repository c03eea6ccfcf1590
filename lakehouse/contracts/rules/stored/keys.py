"""Uniqueness: is any key of a table there twice? One job over the key's columns; null counts as a value.

What is unique among new rows may still be there among the old, so this asks all rows, every time.
"""

from dataclasses import dataclass

from pyiceberg.table import Table as IcebergTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from lakehouse.contracts.rules.stored.count import RowCount
from lakehouse.contracts.rules.stored.examples import describe_row, shown_columns, texts_of
from lakehouse.contracts.rules.stored.expressions import named
from lakehouse.contracts.rules.stored.frequent import ROWS, TEXTS, most_frequent
from lakehouse.contracts.rules.stored.scope import RowScope
from lakehouse.contracts.rules.stored.spark_jobs import Session
from lakehouse.declarations import Table
from lakehouse.engines.spark import single_job


@dataclass(frozen=True)
class KeyReport:
    """How often keys are there.

    Attributes:
        snapshot_id: the snapshot that was judged.
        rows: rows of the snapshot; at most so many where some of them are deleted.
        repeated: keys that are there more than once.
        surplus: rows beyond the first of their key.
        examples: some of these keys, the most frequent first.
    """

    snapshot_id: int
    rows: int
    repeated: int
    surplus: int
    examples: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether no key is there twice."""
        return not self.repeated


def check_key(declared: Table, table: IcebergTable, snapshot_id: int, session: Session) -> KeyReport:
    """Look for keys that are there more than once.

    Args:
        declared: the table with its key.
        table: the same, loaded.
        snapshot_id: which snapshot.
        session: opens a Spark session.

    Raises:
        SnapshotGone: there is no such snapshot.
    """
    scope = RowScope.of(table, snapshot_id, None)
    with session() as spark, single_job(spark):
        repeated = most_frequent(_repeated(scope, declared, spark))
    shown = shown_columns(declared, declared.key)
    return KeyReport(
        snapshot_id=snapshot_id,
        rows=RowCount.by_summary(scope.snapshot).most or 0,
        repeated=repeated.values,
        surplus=repeated.rows - repeated.values,
        examples=tuple(f"{describe_row(shown, texts)}: {rows:,} rows" for texts, rows in repeated.most if shown),
    )


def _repeated(scope: RowScope, declared: Table, spark: SparkSession) -> DataFrame:
    keys = scope.frame(spark).groupBy(*map(named, declared.key)).agg(f.count(f.lit(1)).alias(ROWS))
    texts = texts_of(shown_columns(declared, declared.key))
    return keys.where(f.col(ROWS) > 1).select(ROWS, texts.alias(TEXTS))
