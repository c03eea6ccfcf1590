"""One pass over a range of a changelog: how much there is, what has to be reckoned with, and what a seal says of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyspark.sql.types as spark
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from lakehouse.declarations import Changelog
from lakehouse.steps.cdc.fold.clocks import Arrival
from lakehouse.steps.cdc.fold.expressions import hashed, left_out
from lakehouse.steps.cdc.position import ChangePosition

_OPERATIONS = ("insert", "update", "delete", "read", "truncate", "tombstone", "control")


@dataclass(frozen=True)
class RangeSurvey:
    """A range of a changelog.

    Attributes:
        rows: how many.
        operations: operation → rows; those that occur.
        digest: order-free digest of the rows with their coordinates, decimal.
        position: greatest source position.
        source_time_us: greatest source time, microseconds; 0 if none is told.
        oldest_us: least source time of a change of a row.
        progress: Kafka partition → greatest source time of a logged change, no later than its arrival; without
            partitions whose clocks are not believed.
        truncated: position of the newest truncate.
        lone_tombstones: tombstones without position.
        unplaced: changes that need a position and have none; they cannot be folded.
        unkeyed: changes of a row without a key, from before one was declared; they cannot be folded.
        unavailable: columns that some change does not send.
        oldest: least source position of a change of a row, or of a truncate.
        moved: greatest position of a change of key that leaves values out.
        arrived_ms: Kafka's newest timestamp, milliseconds.
        kafka_end: Kafka partition → offset after the last row's.
    """

    rows: int = 0
    operations: Mapping[str, int] = field(default_factory=dict[str, int])
    digest: str = "0"
    position: ChangePosition | None = None
    source_time_us: int = 0
    oldest_us: int | None = None
    progress: Mapping[int, int] = field(default_factory=dict[int, int])
    truncated: ChangePosition | None = None
    lone_tombstones: int = 0
    unplaced: int = 0
    unkeyed: int = 0
    unavailable: frozenset[str] = frozenset()
    oldest: ChangePosition | None = None
    moved: ChangePosition | None = None
    arrived_ms: int = 0
    kafka_end: Mapping[int, int] = field(default_factory=dict[int, int])


def survey(changes: DataFrame, log: Changelog, arrival: Arrival | None = None) -> RangeSurvey:
    """Read the range once.

    Args:
        changes: rows of the changelog; `after` has exactly the declared columns.
        log: the changelog.
        arrival: by when they had arrived; None: nobody asks how far the source has come.
    """
    operation, position = sql.col("operation"), sql.col("position")
    time = sql.unix_micros("source_time")
    of_a_row = ~operation.isin("truncate", "control")
    lone = (operation == "tombstone") & position.isNull()
    # A snapshot is read later than what is logged meanwhile, and no clock is ahead of a message's arrival.
    clock = sql.when(operation != "read", sql.least(time, sql.unix_micros("_kafka_timestamp")))
    partitions = (
        changes.groupBy(sql.col("_kafka_partition").alias("partition"))
        .agg(
            sql.count("*").alias("rows"),
            *(sql.count_if(operation == name).alias(name) for name in _OPERATIONS),
            sql.sum(_row_hash(changes, log).cast("decimal(20,0)")).alias("digest"),
            sql.max(position).alias("position"),
            sql.max(time).alias("newest"),
            sql.max(clock if arrival is None else arrival.believed(clock)).alias("clock"),
            sql.min(sql.when(of_a_row, time)).alias("oldest"),
            sql.max(sql.when(operation == "truncate", position)).alias("truncated"),
            sql.count_if(lone).alias("lone"),
            sql.count_if(position.isNull() & ~operation.isin("tombstone", "control")).alias("unplaced"),
            sql.count_if(sql.col("key").isNull() & of_a_row).alias("unkeyed"),
            sql.array_distinct(sql.flatten(sql.collect_set("unavailable"))).alias("unavailable"),
            sql.min(sql.when(operation != "control", position)).alias("least"),
            sql.max(sql.when(left_out(), position)).alias("moved"),
            sql.max(sql.unix_millis("_kafka_timestamp")).alias("arrived"),
            (sql.max("_kafka_offset") + 1).alias("end"),
        )
        .collect()
    )
    return _together([row.asDict() for row in partitions])


def _row_hash(changes: DataFrame, log: Changelog) -> Expression:
    """Of everything in a row: a column that is declared later, null in older rows, changes nothing."""
    image = [(column.name, column.type) for column in log.columns]
    key = [(column.name, column.type) for column in log.key_columns]
    position = [(name, spark.LongType()) for name in ChangePosition._fields]
    structs = {"after": image, "before": image, "key": key, "other_key": key, "position": position}
    parts: list[tuple[str, Expression, spark.DataType]] = []
    for struct, fields in structs.items():
        if isinstance(stored := changes.schema[struct].dataType, spark.StructType):
            stored_fields = set(stored.fieldNames())
            parts += [
                (f"{struct}.{name}", sql.col(f"{struct}.`{name}`"), kind)
                for name, kind in fields
                if name in stored_fields
            ]
    for name in ("operation", "extra", "source", "transaction_id", "_kafka_topic"):
        parts.append((name, sql.col(name), spark.StringType()))
    parts += [
        ("source_time", sql.col("source_time"), spark.TimestampType()),
        ("unavailable", sql.col("unavailable"), spark.ArrayType(spark.StringType())),
        ("_kafka_partition", sql.col("_kafka_partition"), spark.IntegerType()),
        ("_kafka_offset", sql.col("_kafka_offset"), spark.LongType()),
    ]
    return hashed(parts)


def _together(partitions: list[dict[str, Any]]) -> RangeSurvey:
    def known(name: str) -> list[Any]:
        return [part[name] for part in partitions if part[name] is not None]

    def newest(name: str) -> ChangePosition | None:
        return max((ChangePosition(*struct) for struct in known(name)), default=None)

    operations = {name: sum(known(name)) for name in _OPERATIONS}
    return RangeSurvey(
        rows=sum(known("rows")),
        operations={name: count for name, count in operations.items() if count},
        digest=str(int(sum(known("digest")))),
        position=newest("position"),
        source_time_us=max(known("newest"), default=0),
        oldest_us=min(known("oldest"), default=None),
        progress={part["partition"]: part["clock"] for part in partitions if part["clock"] is not None},
        truncated=newest("truncated"),
        lone_tombstones=sum(known("lone")),
        unplaced=sum(known("unplaced")),
        unkeyed=sum(known("unkeyed")),
        unavailable=frozenset[str]().union(*known("unavailable")),
        oldest=min((ChangePosition(*struct) for struct in known("least")), default=None),
        moved=newest("moved"),
        arrived_ms=max(known("arrived"), default=0),
        kafka_end={part["partition"]: part["end"] for part in partitions},
    )
