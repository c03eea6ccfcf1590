"""Changes that were taken up from quarantine come late, so they are folded with all that is known of their keys.

A mirror forgets: it keeps deletes only for a while, and refuses what is older. The changelog does not. So where a range
brings reprocessed changes, every change that the changelog has of the same keys is folded again, with theirs in its
place: nothing is too late, a tombstone without position goes by the change that came before it in its partition, and
a newer change wins. What the mirror has refused stays refused.
"""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql

from lakehouse.declarations import Changelog, Declarations, Stream
from lakehouse.engines.spark.naming import quoted_name
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.steps.cdc.evidence import read_evidence
from lakehouse.steps.cdc.fold.expressions import field
from lakehouse.steps.cdc.fold.lookup import GONE, OF_A_ROW, keys_of
from lakehouse.steps.cdc.replay.consumed import missing_history

_KEY = "_recalled_"
_COORDINATES = ("topic", "partition", "offset")


def recalled(changes: DataFrame, past: DataFrame, refused: DataFrame | None, log: Changelog) -> DataFrame:
    """A range's changes, and all others of their keys.

    Args:
        changes: rows of the range.
        past: the changelog at the range's end, which has them as well, in the same shape.
        refused: topic, partition, offset and position of the changes that this build of the mirror has refused; None:
            there are none.
        log: the changelog.
    """
    # Under names of their own: a changelog is joined with itself.
    keys = keys_of(changes, log).select(*(sql.col(quoted_name(n)).alias(f"{_KEY}{n}") for n in log.key))
    same = [field("key", name).eqNullSafe(sql.col(quoted_name(f"{_KEY}{name}"))) for name in log.key]
    of_a_row = past.filter(sql.col("operation").isin(*OF_A_ROW))
    of_keys = of_a_row.join(sql.broadcast(keys), reduce(Expression.__and__, same), "left_semi")
    of_keys = of_keys if refused is None else without_refused(of_keys, refused)
    others = changes.filter(~sql.col("operation").isin(*OF_A_ROW))
    return _without_followers(of_keys).unionByName(others)


def without_refused(changes: DataFrame, refused: DataFrame) -> DataFrame:
    """The changes that a build of a mirror has not refused.

    Args:
        changes: rows of the changelog.
        refused: rows of the mirror's quarantine.
    """
    same_coordinates = [sql.col(f"_kafka_{name}") == sql.col(f"refused_{name}") for name in _COORDINATES]
    # In a topic that was made anew offsets come again, and positions go on.
    position = sql.col("position")
    same_coordinates.append(position.isNull() | (position == sql.col("refused_position")))
    names = (*_COORDINATES, "position")
    coordinates = refused.select(*(sql.col(name).alias(f"refused_{name}") for name in names))
    return changes.join(sql.broadcast(coordinates), reduce(Expression.__and__, same_coordinates), "left_anti")


def _without_followers(changes: DataFrame) -> DataFrame:
    """Tombstones without position that follow a delete say nothing new."""
    lone = (sql.col("operation") == "tombstone") & sql.col("position").isNull()
    before = (
        Window.partitionBy("key", "_kafka_topic", "_kafka_partition")
        .orderBy("_kafka_offset")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    last_operation = sql.last(sql.when(~lone, sql.col("operation")), ignorenulls=True).over(before)
    follows = lone & sql.coalesce(last_operation.isin(*GONE), sql.lit(False))
    return changes.withColumn("_follows", follows).filter(~sql.col("_follows")).drop("_follows")


def mirrors_without_history(catalog: LakeCatalog, declarations: Declarations, stream: Stream) -> Sequence[str]:
    """Why changes of a stream cannot be folded late, mirror by mirror; nothing where they can.

    Raises:
        NoSuchTableError: a table of a mirror that has begun does not exist.
    """
    reasons: list[str] = []
    for tables in declarations.mirrors.values():
        exists = all(catalog.table_exists(table.identifier) for table in tables.tables)
        if tables.changelog.name in stream.tables and exists:
            evidence = read_evidence(catalog, tables)
            if evidence.newest is not None and (reason := missing_history(catalog, evidence)):
                reasons.append(reason)
    return reasons
