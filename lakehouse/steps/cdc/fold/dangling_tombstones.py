"""Tombstones that a run was cut off from the change before them: that change is looked up in the changelog.

A tombstone has no position of its own; it goes by the change of its key that its Kafka partition brought before it. In
the middle of a range that is near at hand. Of one that opens a range the mirror cannot tell: where changes are sent
again, one run may see an old one, a duplicate, and the next one its tombstone alone, long after the row was made anew.

What retention has removed cannot be looked up. It removes only what the mirror's row tells as well, so the row stands
for its change; and a copied row, with which the mirror began, for the read of it.
"""

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from lakehouse.declarations import Changelog
from lakehouse.declarations.mirror import DELETED_COLUMN, POSITION_COLUMN, TIME_COLUMN
from lakehouse.engines.spark.naming import quoted_name
from lakehouse.steps.cdc.fold.lookup import GONE, OF_A_ROW, PLACED

_COORDINATES = ("key", "_kafka_topic", "_kafka_partition", "_kafka_offset")


def placed(changes: DataFrame, past: DataFrame, rows: DataFrame | None) -> DataFrame:
    """Give tombstones that open a range the position of the change that they follow; `PLACED` is their operation then.

    Those that follow a delete of an earlier range, or nothing, are taken out: they say nothing new. Not where that
    delete may have been refused, since another change had its position: then the tombstone is the first to count.

    Args:
        changes: rows of the range.
        past: the changelog at the range's end.
        rows: key, position and source time of the rows that may stand for changes which `past` has not; None: no row
            does.
    """
    lone = changes.filter((sql.col("operation") == "tombstone") & sql.col("position").isNull())
    lone = _named(lone, "lone").drop("lone_operation")
    positioned = _named(_positioned(changes), "positioned").groupBy(
        "positioned_key", "positioned_topic", "positioned_partition"
    )
    first = positioned.agg(sql.min("positioned_offset").alias("positioned_offset"))
    bare = lone.join(first, _same("lone", "positioned") & sql.expr("positioned_offset < lone_offset"), "left_anti")
    bare = bare.localCheckpoint()
    if bare.isEmpty():
        return changes
    of_keys = (
        _named(_positioned(past), "past", "position", "source_time")
        .join(sql.broadcast(bare), sql.expr("past_key <=> lone_key"))
        .localCheckpoint()
    )
    change = sql.struct("past_operation", "past_position", "past_source_time")
    last = (
        of_keys.filter(_same("past", "lone") & sql.expr("past_offset < lone_offset"))
        .groupBy(*bare.columns)
        .agg(sql.max_by(change, "past_offset").alias("last"))
        .select(*bare.columns, "last.*")
        .toDF(*bare.columns, "operation", "position", "source_time")
        .localCheckpoint()
    )
    followed = last.filter(~sql.col("operation").isin(*GONE)).unionByName(_refused(last, of_keys)).drop("operation")
    if rows is not None:
        unknown = _without(bare, last)
        followed = followed.unionByName(_by_rows(unknown, rows, of_keys))
    same_record = sql.expr(
        "_kafka_topic = lone_topic AND _kafka_partition = lone_partition AND _kafka_offset = lone_offset"
    )
    others = changes.join(sql.broadcast(bare), same_record, "left_anti")
    tombstones = changes.drop("position", "source_time", "operation").join(sql.broadcast(followed), same_record)
    return others.unionByName(tombstones.withColumn("operation", sql.lit(PLACED)).select(*changes.columns))


def standing_rows(rows: DataFrame, log: Changelog, *, soft: bool) -> DataFrame:
    """Key, position and source time of a mirror's rows, those that are marked as deleted left out."""
    alive = rows.filter(~sql.col(DELETED_COLUMN.name)) if soft else rows
    key = (sql.col(quoted_name(column.name)).cast(column.type).alias(column.name) for column in log.key_columns)
    return alive.select(
        sql.struct(*key).alias("row_key"),
        sql.col(POSITION_COLUMN.name).alias("position"),
        sql.col(TIME_COLUMN.name).alias("source_time"),
    )


def copied_rows(reads: DataFrame) -> DataFrame:
    """The same of the rows with which a mirror begins, as reads."""
    return reads.select(sql.col("key").alias("row_key"), "position", "source_time")


def _by_rows(unknown: DataFrame, rows: DataFrame, of_keys: DataFrame) -> DataFrame:
    """Tombstones of rows whose own change is not in the changelog: they delete the row."""
    of_rows = rows.join(sql.broadcast(unknown), sql.expr("row_key <=> lone_key"))
    known = of_keys.select(sql.col("past_key").alias("known_key"), sql.col("past_position").alias("known_position"))
    is_known = sql.expr("known_key <=> lone_key AND known_position = position")
    return of_rows.join(known, is_known, "left_anti").select(*unknown.columns, "position", "source_time")


def _refused(last: DataFrame, of_keys: DataFrame) -> DataFrame:
    """Of tombstones that follow a delete, those where the changelog has a row of the same key at its position."""
    gone = sql.col("operation").isin(*GONE)
    alive = of_keys.filter(~sql.col("past_operation").isin(*GONE)).select(
        sql.col("past_key").alias("alive_key"), sql.col("past_position").alias("alive_position")
    )
    same = sql.expr("alive_key <=> lone_key AND alive_position = position")
    return last.filter(gone).join(alive, same, "left_semi")


def _without(bare: DataFrame, last: DataFrame) -> DataFrame:
    coordinates = ("lone_topic", "lone_partition", "lone_offset")
    return bare.join(last.select(*coordinates), list(coordinates), "left_anti").select(*bare.columns)


def _positioned(changes: DataFrame) -> DataFrame:
    """Changes of rows that have a position."""
    return changes.filter(sql.col("operation").isin(*OF_A_ROW) & sql.col("position").isNotNull())


def _named(changes: DataFrame, prefix: str, *more: str) -> DataFrame:
    """Key, coordinates and operation under names of their own: a range is joined with itself."""
    names = (*_COORDINATES, "operation", *more)
    return changes.select(*(sql.col(name).alias(f"{prefix}_{name.removeprefix('_kafka_')}") for name in names))


def _same(left: str, right: str) -> Expression:
    """Of one key and one Kafka partition."""
    parts = (f"{left}_{name} <=> {right}_{name}" for name in ("key", "topic", "partition"))
    return sql.expr(" AND ".join(parts))
