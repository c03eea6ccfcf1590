"""Tombstones that a run was cut off from their delete: what came before them is looked up in the changelog.

A tombstone has no position of its own; it goes by the change of its key that its Kafka partition brought before it. In
the middle of a range that is near at hand. Of one that opens a range the mirror cannot tell: where a delete is sent
again, one run may see the delete, a duplicate, and the next one its tombstone alone, long after the row was made anew.
"""

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from lakehouse.steps.cdc.fold.lookup import GONE, OF_A_ROW

_COORDINATES = ("key", "_kafka_topic", "_kafka_partition", "_kafka_offset")


def without_followers(changes: DataFrame, past: DataFrame) -> DataFrame:
    """Take out tombstones that follow a delete, or nothing, of an earlier range: they say nothing new.

    Args:
        changes: rows of the range.
        past: the changelog at the range's end.
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
    before = _named(_positioned(past), "past").join(
        sql.broadcast(bare), _same("past", "lone") & sql.expr("past_offset < lone_offset")
    )
    last_operations = before.groupBy(*bare.columns).agg(
        sql.max_by("past_operation", "past_offset").alias("last_operation")
    )
    alive = last_operations.filter(~sql.col("last_operation").isin(*GONE)).select(
        *(sql.col(name).alias(name.replace("lone", "alive")) for name in bare.columns)
    )
    idle = bare.join(alive, _same("lone", "alive") & sql.expr("lone_offset = alive_offset"), "left_anti")
    same_record = sql.expr(
        "_kafka_topic = lone_topic AND _kafka_partition = lone_partition AND _kafka_offset = lone_offset"
    )
    return changes.join(sql.broadcast(idle), same_record, "left_anti")


def _positioned(changes: DataFrame) -> DataFrame:
    """Changes of rows that have a position."""
    return changes.filter(sql.col("operation").isin(*OF_A_ROW) & sql.col("position").isNotNull())


def _named(changes: DataFrame, prefix: str) -> DataFrame:
    """Key, coordinates and operation under names of their own: a range is joined with itself."""
    return changes.select(
        *(sql.col(name).alias(f"{prefix}_{name.removeprefix('_kafka_')}") for name in (*_COORDINATES, "operation"))
    )


def _same(left: str, right: str) -> Expression:
    """Of one key and one Kafka partition."""
    parts = (f"{left}_{name} <=> {right}_{name}" for name in ("key", "topic", "partition"))
    return sql.expr(" AND ".join(parts))
