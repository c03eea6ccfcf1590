"""From events to one row per key: which events count, and the registers that they make.

One shuffle: everything here is grouped or windowed by the key.
"""

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql

from lakehouse.steps.cdc.fold.expressions import literal
from lakehouse.steps.cdc.fold.scope import FoldScope

TRUNCATED = 0  # the digest of a row that a truncate has marked as deleted
COUNTS, DUPLICATE, CONTRADICTION, TOO_LATE, NOTHING = "counts", "duplicate", "contradiction", "too_late", "nothing"


def classify_events(changes: DataFrame, stored: DataFrame | None, scope: FoldScope) -> DataFrame:
    """Say of each event whether it counts (`_verdict`).

    Args:
        changes: the range's events.
        stored: those of what is stored.
        scope: of the fold.
    """
    events = changes if stored is None else changes.unionByName(stored)
    # Distributed by the key, so that no window below shuffles by more than it.
    events = events.repartition(*(sql.col(name) for name in scope.keys))
    events = events.withColumn("_too_late", _too_late(scope))
    if scope.lone_tombstones:
        events = _placed(events, scope)
    events = events.withColumn("_marked", _marked(scope))
    at_position = Window.partitionBy(*scope.keys, "_too_late", "_marked", "_position").orderBy(
        sql.desc("_stored"), "_lone", "_topic", "_partition", "_offset", "_digest"
    )
    events = events.withColumns(
        {"_first": sql.first("_digest").over(at_position), "_rank": sql.row_number().over(at_position)}
    )
    verdict = (
        sql.when(sql.col("_too_late"), TOO_LATE)
        .when(sql.col("_position").isNull(), NOTHING)
        .when((sql.col("_rank") == 1) | sql.col("_lone") | sql.col("_stored"), COUNTS)
        .when(sql.col("_digest") == sql.col("_first"), DUPLICATE)
        .otherwise(CONTRADICTION)
    )
    # A tombstone goes by the change that it follows: when that comes again, it is a duplicate.
    digest = sql.when(sql.col("_lone"), sql.col("_first")).otherwise(sql.col("_digest"))
    return events.withColumns({"_verdict": verdict, "_digest": digest}).drop("_first", "_rank", "_too_late")


def _marked(scope: FoldScope) -> Expression:
    """Whether a stored row owes its position to a truncate, which comes before any change at that position."""
    if not scope.soft:
        return sql.lit(False)
    return sql.col("_stored") & sql.col("_gone") & (sql.col("_digest") == TRUNCATED)


def _too_late(scope: FoldScope) -> Expression:
    """Whether a change could be from before a delete that is forgotten: it is old, and nothing is stored of its key."""
    if scope.low_watermark_us is None:
        return sql.lit(False)
    old = ~sql.col("_stored") & (sql.unix_micros("_time") < scope.low_watermark_us) & ~sql.col("_lone")
    if scope.barrier is not None:
        old &= sql.col("_position") >= literal(scope.barrier)
    known = sql.max("_stored").over(Window.partitionBy(*scope.keys))
    return sql.coalesce(old & ~known, sql.lit(False))


def _placed(events: DataFrame, scope: FoldScope) -> DataFrame:
    """Give tombstones without position the one of the change before them in their partition, or of what is stored."""
    positioned = sql.when(
        sql.col("_position").isNotNull() & ~sql.col("_too_late") & ~sql.col("_stored"),
        sql.struct("_topic", "_partition", "_position", "_time"),
    )
    in_order = Window.partitionBy(*scope.keys).orderBy(sql.desc("_stored"), "_topic", "_partition", "_offset")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    newest = sql.max(sql.when(sql.col("_stored") & ~_marked(scope), sql.struct("_position", "_time"))).over(
        Window.partitionBy(*scope.keys)
    )
    events = events.withColumns({"_before": sql.last(positioned, ignorenulls=True).over(before), "_newest": newest})
    same = (sql.col("_before._topic") == sql.col("_topic")) & (sql.col("_before._partition") == sql.col("_partition"))
    position_and_time = sql.when(same, sql.struct("_before._position", "_before._time")).otherwise(sql.col("_newest"))
    lone = sql.col("_lone") & sql.col("_position").isNull()
    return (
        events.withColumn("_place", position_and_time)
        .withColumns(
            {
                "_position": sql.when(lone, sql.col("_place._position")).otherwise(sql.col("_position")),
                "_time": sql.when(lone, sql.col("_place._time")).otherwise(sql.col("_time")),
            }
        )
        .drop("_before", "_newest", "_place")
    )


def reduce(judged: DataFrame, scope: FoldScope) -> DataFrame:
    """Make one row per key: the newest head, the newest image, and of tracked columns the newest value each.

    Args:
        judged: events with their verdicts.
        scope: of the fold.
    """
    counts = sql.col("_verdict") == COUNTS
    order = sql.struct("_position", "_lone", ~sql.col("_marked"))
    head = sql.struct("_gone", "_position", "_time", "_digest", (sql.col("_stored") & ~sql.col("_lone")).alias("_old"))
    image = counts & sql.col("_image").isNotNull()
    ours = ~sql.col("_stored")
    registers = [
        sql.max_by(sql.when(counts, head), sql.when(counts, order)).alias("_head"),
        sql.max_by("_image", sql.when(image, _image_position(scope))).alias("_image"),
        sql.max(sql.col("_row")).alias("_known"),
        sql.max(sql.col("_row") & sql.col("_gone")).alias("_was_gone"),
        sql.count_if(ours).alias("_changes"),
        *(
            sql.count_if(sql.col("_verdict") == verdict).alias(f"_{verdict}")
            for verdict in (DUPLICATE, CONTRADICTION, TOO_LATE)
        ),
    ]
    if scope.whole_rows:
        registers += [
            sql.max(sql.when(image, _image_position(scope))).alias("_image_position"),
            sql.max(sql.when(counts & sql.col("_gone"), sql.col("_position"))).alias("_gone_position"),
            sql.first(sql.when(sql.col("_row"), sql.col("_behind")), ignorenulls=True).alias("_was_behind"),
        ]
    if scope.anew is not None:
        registers.append(sql.max("_corrected").alias("_corrected"))
    for number, name in enumerate(scope.tracked):
        sent = ~sql.coalesce(sql.array_contains("_unavailable", name), sql.lit(False))
        position = sql.when(image & sent, _position_of(name))
        registers += [
            sql.max_by(sql.col(f"_image.`{name}`"), _order_of(position, scope)).alias(f"_value_{number}"),
            sql.max(position).alias(f"_position_{number}"),
        ]
    return judged.groupBy(*scope.keys).agg(*registers)


def _position_of(column: str) -> Expression:
    return sql.coalesce(sql.try_element_at(sql.col("_behind"), sql.lit(column)), sql.col("_position"))


def _order_of(position: Expression, scope: FoldScope) -> Expression:
    """When a change of key comes again, what it left out may be forgotten; what is stored of it is not."""
    return sql.when(position.isNotNull(), sql.struct(position, "_stored")) if scope.moving else position


def _image_position(scope: FoldScope) -> Expression:
    """Of the columns that go together: any of them tells."""
    return _position_of(scope.together[0]) if scope.soft and scope.together else sql.col("_position")
