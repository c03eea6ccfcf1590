"""Rows of some partitions at a snapshot, as Spark sees them: how many, and which are first of their key."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from pyiceberg.table import Table
from pyiceberg.transforms import VoidTransform
from pyspark.sql import DataFrame, SparkSession

from lakehouse.declarations import Deduplicate
from lakehouse.engines.spark.naming import quoted_name
from lakehouse.iceberg.names import table_name
from lakehouse.protocol.errors import ContentChanged
from lakehouse.steps.maintenance.verify.spark_hash import row_hashes

_PARTITION = "_lakehouse_place"
_NUMBER = "_lakehouse_number"


@dataclass(frozen=True)
class Count:
    """Of one partition.

    Attributes:
        rows: that it holds.
        keys: of them that are distinct.
        nameless: rows without a value in a column of the key.
    """

    rows: int
    keys: int
    nameless: int


@dataclass(frozen=True)
class Keyed:
    """Rows that have a key.

    Args:
        spark: with the catalog `lake`.
        table: whose they are.
        snapshot_id: at which.
        key: the columns that tell rows apart.
        condition: for the rows of some partitions; empty for all.
    """

    spark: SparkSession
    table: Table
    snapshot_id: int
    key: tuple[str, ...]
    condition: str

    @cached_property
    def counts(self) -> Mapping[object, Count]:
        """Rows and keys, partition by partition."""
        rows = self.spark.sql(
            f"SELECT {self._partition_value}, count(*), count(DISTINCT {self._keys}), count_if({self._nameless}) "
            f"FROM {self._rows} GROUP BY 1"
        )
        return {partition: Count(*map(int, counts)) for partition, *counts in rows.collect()}

    @property
    def nameless(self) -> int:
        """Rows without a value in a column of the key."""
        return sum(count.nameless for count in self.counts.values())

    @property
    def surplus(self) -> int:
        """Rows that are not the first of their key."""
        return sum(count.rows - count.keys for count in self.counts.values())

    def first(self, policy: Deduplicate) -> DataFrame:
        """The first row of each key, of partitions that hold more rows than keys; the others are complete as they are.

        Where the order leaves it open, the row's place in its file decides: the same row at every look.
        """
        order = ", ".join([*(_ordered(text) for text in policy.order_by), "_file", "_pos"])
        first = f"row_number() OVER (PARTITION BY {self._partition_value}, {self._keys} ORDER BY {order})"
        return self.spark.sql(
            f"SELECT {self._columns} FROM "
            f"(SELECT {self._columns}, {self._partition_value} AS {_PARTITION}, {first} AS {_NUMBER} "
            f"FROM {self._rows}) AS numbered "
            f"LEFT SEMI JOIN (SELECT {self._partition_value} AS {_PARTITION} FROM {self._rows} GROUP BY 1 "
            f"HAVING count(*) > count(DISTINCT {self._keys})) AS doubled "
            f"ON numbered.{_PARTITION} <=> doubled.{_PARTITION} WHERE numbered.{_NUMBER} = 1"
        )

    def require_first_of(self, before: "Keyed") -> None:
        """Refuse, unless these are the rows of before with each key once: none changed, none new, no key lost.

        Raises:
            ContentChanged: they are not.
        """
        keys = {partition: count.keys for partition, count in before.counts.items()}
        if {partition: count.rows for partition, count in self.counts.items()} != keys or self.surplus:
            expected, remaining = sum(keys.values()), sum(count.rows for count in self.counts.values())
            raise self._changed(f"there are {expected} keys, and {remaining} rows would be left")
        if new_rows := self._hashes.exceptAll(before._hashes).count():  # noqa: SLF001 - of the same class
            raise self._changed(f"{new_rows} of the rows that would be left were not there before")

    @property
    def _hashes(self) -> DataFrame:
        return row_hashes(self.spark.sql(f"SELECT {self._columns} FROM {self._rows}"))

    @property
    def _columns(self) -> str:
        return ", ".join(quoted_name(field.name) for field in self.table.schema().fields)

    @property
    def _rows(self) -> str:
        name = quoted_name("lake", *self.table.name())
        # Rows in files of an older partitioning may satisfy the condition too, and are not of these partitions.
        where = f" WHERE ({self.condition}) AND _spec_id = {self.table.spec().spec_id}" if self.condition else ""
        partition_column = f", {self._partition_value}" if self._partitioned else ""
        return f"(SELECT *{partition_column}, _file, _pos FROM {name} VERSION AS OF {self.snapshot_id}{where})"

    @property
    def _partition_value(self) -> str:
        return "_partition" if self._partitioned else "0"

    @property
    def _partitioned(self) -> bool:
        return any(not isinstance(field.transform, VoidTransform) for field in self.table.spec().fields)

    @property
    def _keys(self) -> str:
        return ", ".join(quoted_name(name) for name in self.key)

    @property
    def _nameless(self) -> str:
        return " OR ".join(f"{quoted_name(name)} IS NULL" for name in self.key)

    def _changed(self, what: str) -> ContentChanged:
        return ContentChanged(
            f"{table_name(self.table)}: the deduplicating rewrite was not published: {what}.",
            remedy="the table is as it was; the attempt's branch is kept: compare it with main, and report it",
        )


def _ordered(text: str) -> str:
    """A term of `order_by`, whose form its declaration has checked."""
    column, *direction = text.split()
    return " ".join([quoted_name(column), *direction])
