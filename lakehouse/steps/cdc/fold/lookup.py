"""What is stored of the keys of a range, and the range itself: as events of one shape, so that one fold takes both.

What is stored is nothing but what arrived first.
"""

from collections.abc import Callable
from functools import reduce

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from lakehouse.declarations import Changelog
from lakehouse.declarations.mirror import BEHIND_COLUMN, DELETED_COLUMN, DIGEST_COLUMN, POSITION_COLUMN, TIME_COLUMN
from lakehouse.engines.spark.naming import quoted_name
from lakehouse.steps.cdc.fold.expressions import field, hashed, literal
from lakehouse.steps.cdc.fold.scope import FoldScope

GONE = ("delete", "tombstone")
OF_A_ROW = ("insert", "update", "read", *GONE)
MOVED = "_moved"
"""Column of changes: what a change of key left out, where it was looked up."""
PLACED = "placed"
"""Operation of tombstones without position that got that of the change which they follow, from before the range."""
ANEW = "moved"
"""Operation of rows that say that an earlier change of key left out other values than was known then."""


def events_of(changes: DataFrame, scope: FoldScope) -> DataFrame:
    """Changes of rows, one event each; truncates are in the scope, and control records say nothing.

    Args:
        changes: rows of the changelog; `after` has exactly the declared columns.
        scope: of the fold.
    """
    operation = sql.col("operation")
    gone = operation.isin(*GONE, PLACED)
    image = sql.struct(*(_sent(column.name, scope).alias(column.name) for column in scope.columns))
    unsent = sql.when(sql.col(MOVED).isNull(), sql.col("unavailable")) if scope.moving else sql.col("unavailable")
    return changes.filter(operation.isin(*OF_A_ROW, PLACED)).select(
        *(field("key", name).alias(name) for name in scope.keys),
        sql.lit(False).alias("_stored"),
        sql.lit(False).alias("_row"),
        gone.alias("_gone"),
        ((operation == PLACED) | ((operation == "tombstone") & sql.col("position").isNull())).alias("_lone"),
        sql.col("position").alias("_position"),
        sql.col("source_time").alias("_time"),
        digest_of(scope.log).alias("_digest"),
        sql.when(~gone, image).alias("_image"),
        *((sql.when(~gone, unsent).alias("_unavailable"), _no_behind()) if scope.whole_rows else ()),
        *((sql.lit(False).alias("_corrected"),) if scope.anew is not None else ()),
        operation.alias("_operation"),
        sql.col("_kafka_topic").alias("_topic"),
        sql.col("_kafka_partition").alias("_partition"),
        sql.col("_kafka_offset").alias("_offset"),
    )


def _sent(name: str, scope: FoldScope) -> Expression:
    value = field("after", name)
    if not scope.moving or name not in scope.tracked:
        return value
    left_out = sql.col(MOVED).isNotNull() & sql.array_contains("unavailable", name)
    return sql.when(left_out, field(MOVED, name)).otherwise(value)


def digest_of(log: Changelog) -> Expression:
    """Hash of what a change says; where and when it came, and by which record, does not count."""
    operation = sql.col("operation")
    gone = operation.isin(*GONE, PLACED)
    values = [(f"key.{column.name}", field("key", column.name), column.type) for column in log.key_columns]
    values += [(f"after.{c.name}", sql.when(~gone, field("after", c.name)), c.type) for c in log.columns]
    unsent = sql.when(~gone & (sql.size("unavailable") > 0), sql.array_sort("unavailable"))
    return sql.xxhash64(sql.when(gone, sql.lit("delete")).otherwise(operation), hashed(values), unsent)


def keys_of(changes: DataFrame, log: Changelog) -> DataFrame:
    """The keys that a range has changes of, each once: what a caller prunes its tables by."""
    changed = changes.filter(sql.col("operation").isin(*OF_A_ROW, PLACED, ANEW))
    return changed.select(*(field("key", name).alias(name) for name in log.key)).distinct()


def look_up(
    changes: DataFrame, scope: FoldScope, mirror_rows: DataFrame | None, tombstones: DataFrame | None, *, few: bool
) -> DataFrame | None:
    """Find what is stored of the range's keys; where the range truncates, also of every key older than that.

    Args:
        changes: rows of the changelog.
        scope: of the fold.
        mirror_rows: the mirror, or the part of it that can hold these keys; if the range truncates, all of it.
        tombstones: the ledger, likewise.
        few: whether the range is small enough to be sent to every worker.

    Returns:
        Events, or None where nothing is stored.
    """
    keys = keys_of(changes, scope.log)
    keys = sql.broadcast(keys) if few else keys
    stored: list[DataFrame] = []
    if mirror_rows is not None:
        touched = _touched(mirror_rows, keys, scope)
        touched = touched if scope.anew is None else _corrected(touched, changes, scope)
        stored.append(_stored(touched, scope, gone=sql.col(DELETED_COLUMN.name) if scope.soft else sql.lit(False)))
    if tombstones is not None and not scope.soft:
        ledger = tombstones.join(keys, _same_key(tombstones, keys, scope.keys), "left_semi")
        stored.append(_stored(ledger, scope, gone=sql.lit(True), row=False))
    return reduce(DataFrame.unionByName, stored) if stored else None


def _touched(rows: DataFrame, keys: DataFrame, scope: FoldScope) -> DataFrame:
    same = _same_key(rows, keys, scope.keys)
    if not scope.truncating or scope.barrier is None:
        return rows.join(keys, same, "left_semi")
    barrier = literal(scope.barrier)
    older = sql.col(POSITION_COLUMN.name) < barrier
    if scope.tracked:
        older |= sql.exists(sql.map_values(BEHIND_COLUMN.name), lambda position: position < barrier)
    older = sql.coalesce(older, sql.lit(False))
    return rows.filter(older).unionByName(rows.filter(~older).join(keys, same, "left_semi"))


def _corrected(rows: DataFrame, changes: DataFrame, scope: FoldScope) -> DataFrame:
    """Put what changes of key left out, by what is known now, where rows still hold what was known then."""
    kinds = {column.name: column.type for column in scope.log.columns}
    correction = sql.struct("position", "unavailable", MOVED)
    anew = (
        changes.filter(sql.col("operation") == ANEW)
        .groupBy(*(field("key", name).alias(f"_of_{name}") for name in scope.keys))
        .agg(sql.collect_list(correction).alias("_anew"))
    )
    same = reduce(Expression.__and__, (rows[name].eqNullSafe(anew[f"_of_{name}"]) for name in scope.keys))
    values: dict[str, Expression] = {}
    corrected = sql.lit(False)
    for name in scope.tracked:
        corrections = sql.filter("_anew", _of_value(name))
        old, new = sql.col(quoted_name(name)).cast(kinds[name]), sql.get(corrections, 0)[MOVED][name]
        values[name] = sql.when(sql.size(corrections) > 0, new).otherwise(old)
        differs = hashed([("", old, kinds[name])]) != hashed([("", new, kinds[name])])
        corrected |= (sql.size(corrections) > 0) & differs
    joined = rows.join(anew, same, "left")
    return joined.withColumn("_corrected", sql.coalesce(corrected, sql.lit(False))).withColumns(values)


def _of_value(name: str) -> Callable[[Expression], Expression]:
    """Whether a correction is of the change that a row has this column's value from."""
    position = sql.coalesce(
        sql.try_element_at(sql.col(BEHIND_COLUMN.name), sql.lit(name)), sql.col(POSITION_COLUMN.name)
    )
    return lambda correction: (correction["position"] == position) & sql.array_contains(correction["unavailable"], name)


def _same_key(left: DataFrame, right: DataFrame, names: tuple[str, ...]) -> Expression:
    return reduce(Expression.__and__, (left[name].eqNullSafe(right[name]) for name in names))


def _stored(rows: DataFrame, scope: FoldScope, *, gone: Expression, row: bool = True) -> DataFrame:
    kinds = {column.name: column.type for column in scope.log.columns}
    whole = row and scope.whole_rows
    values = ((sql.col(c.name) if whole else sql.lit(None)).cast(c.type).alias(c.name) for c in scope.columns)
    behind = sql.col(BEHIND_COLUMN.name).alias("_behind") if whole else _no_behind()
    return rows.select(
        *(sql.col(name).cast(kinds[name]).alias(name) for name in scope.keys),
        sql.lit(True).alias("_stored"),
        sql.lit(row).alias("_row"),
        gone.alias("_gone"),
        sql.lit(False).alias("_lone"),
        sql.col(POSITION_COLUMN.name).alias("_position"),
        sql.col(TIME_COLUMN.name).alias("_time"),
        sql.col(DIGEST_COLUMN.name).alias("_digest"),
        sql.when(sql.lit(row), sql.struct(*values)).alias("_image"),
        *((sql.lit(None).cast("array<string>").alias("_unavailable"), behind) if scope.whole_rows else ()),
        *(((sql.col("_corrected") if row else sql.lit(False)).alias("_corrected"),) if scope.anew is not None else ()),
        sql.lit("").alias("_operation"),
        sql.lit("").alias("_topic"),
        sql.lit(-1).alias("_partition"),
        sql.lit(-1).cast("bigint").alias("_offset"),
    )


def _no_behind() -> Expression:
    return sql.lit(None).cast(BEHIND_COLUMN.type).alias("_behind")
