"""References: does every value of some columns stand in another table? One anti-join of the distinct values."""

from dataclasses import dataclass
from functools import reduce
from operator import and_

from pyiceberg.table import Table as IcebergTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import IntegerType, LongType

from lakehouse.contracts.rules.stored.count import RowCount
from lakehouse.contracts.rules.stored.examples import describe_row, shown_columns, texts_of
from lakehouse.contracts.rules.stored.expressions import named
from lakehouse.contracts.rules.stored.frequent import ROWS, TEXTS, most_frequent
from lakehouse.contracts.rules.stored.scope import RowScope
from lakehouse.contracts.rules.stored.spark_jobs import Session
from lakehouse.declarations import Column, Table
from lakehouse.declarations.policies.expectation import References
from lakehouse.engines.spark import single_job
from lakehouse.errors import LakehouseError


class NotComparable(LakehouseError):
    """Columns that refer to each other are of different types."""


@dataclass(frozen=True)
class TableAt:
    """A table at a snapshot, as declared and as loaded; of a table without rows yet there is none."""

    declared: Table
    table: IcebergTable
    snapshot_id: int | None

    def frame(self, spark: SparkSession) -> DataFrame | None:
        """The rows; None if there were never any."""
        if self.snapshot_id is None:
            return None
        return RowScope.of(self.table, self.snapshot_id, None).frame(spark)


@dataclass(frozen=True)
class ReferenceReport:
    """How many values have no counterpart.

    Attributes:
        rows: rows of the table that was judged; at most so many where some of them are deleted.
        dangling: rows whose value is missing there; rows where a column is null do not count.
        missing: distinct values that are.
        examples: some of these values, the most frequent first; none of a sensitive column.
    """

    rows: int
    dangling: int
    missing: int
    examples: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether every value is there."""
        return not self.dangling

    @property
    def share(self) -> float:
        """Which share of the rows refers to nothing."""
        return self.dangling / self.rows if self.rows else 0.0


def check_references(expected: References, referring: TableAt, referred: TableAt, session: Session) -> ReferenceReport:
    """Look for values that the other table does not have.

    Args:
        expected: which columns refer to which.
        referring: the table that refers.
        referred: the table that is referred to, of the same moment.
        session: opens a Spark session.

    Raises:
        NotComparable: the columns are of different types.
        SnapshotGone: one of the snapshots is gone.
    """
    own = [referring.declared.column(name) for name in expected.columns]
    others = [referred.declared.column(name) for name in expected.to or expected.columns]
    _require_comparable(expected, referring.declared, own, others)
    with session() as spark, single_job(spark):
        rows = referring.frame(spark)
        if rows is None:
            return ReferenceReport(0, 0, 0, ())
        values = [named(column.name).alias(f"value {n}") for n, column in enumerate(own)]
        shown = shown_columns(referring.declared, expected.columns)
        texts = texts_of(shown).alias(TEXTS)
        # Not `dropna`, for which a number that is none is missing as well.
        complete = reduce(and_, (named(column.name).isNotNull() for column in own))
        counted = rows.where(complete).groupBy(*values, texts)
        missing = counted.agg(f.count(f.lit(1)).alias(ROWS))
        if (known := referred.frame(spark)) is not None:
            keys = known.select(*(named(column.name).alias(f"key {n}") for n, column in enumerate(others)))
            same = [f.col(f"`value {n}`") == f.col(f"`key {n}`") for n in range(len(own))]
            missing = missing.join(keys, same, "left_anti")
        frequent = most_frequent(missing)
    summary = referring.table.metadata.snapshot_by_id(referring.snapshot_id or 0)
    return ReferenceReport(
        rows=(RowCount.by_summary(summary).most or 0) if summary else 0,
        dangling=frequent.rows,
        missing=frequent.values,
        examples=tuple(f"{describe_row(shown, texts)}: {times:,} rows" for texts, times in frequent.most if shown),
    )


def _require_comparable(expected: References, declared: Table, own: list[Column], others: list[Column]) -> None:
    for column, referred in zip(own, others, strict=True):
        whole = (IntegerType, LongType)
        if column.type != referred.type and not (isinstance(column.type, whole) and isinstance(referred.type, whole)):
            raise NotComparable(
                f"{declared.name}.{column.name} is {column.type.simpleString()} and refers to "
                f"{expected.table}.{referred.name}, which is {referred.type.simpleString()}.",
                remedy="declare both of the same type.",
            )
