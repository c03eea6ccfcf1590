"""From registers to what has to be written: rows, tombstones, and changes that are refused."""

from dataclasses import dataclass

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from lakehouse.declarations.mirror import BEHIND_COLUMN, DELETED_COLUMN, DIGEST_COLUMN, POSITION_COLUMN, TIME_COLUMN
from lakehouse.steps.cdc.fold.expressions import field, literal, solid
from lakehouse.steps.cdc.fold.last_writer_wins import (
    CONTRADICTION,
    DUPLICATE,
    TOO_LATE,
    TRUNCATED,
    classify_events,
    reduce,
)
from lakehouse.steps.cdc.fold.lookup import events_of, look_up
from lakehouse.steps.cdc.fold.scope import FoldScope
from lakehouse.steps.cdc.statement import Applied

_MESSAGES = {
    CONTRADICTION: "Another change at this position says something else and came first: find out which is right, and "
    "let the source write the row again.",
    TOO_LATE: "Older than the mirror's lateness, and the key is not known any more: rebuild the mirror if it is true.",
}


@dataclass(frozen=True)
class Delta:
    """What a range does to a mirror.

    Attributes:
        rows: those that change: the mirror's columns and `_action`: insert, update, delete (key and position alone).
        tombstones: for the ledger.
        refused: for the quarantine, without build and run.
        applied: counts; of rows those that will be inserted, updated and deleted.
        behind: columns that some row may hold older than its other columns from now on.
    """

    rows: DataFrame
    tombstones: DataFrame
    refused: DataFrame
    applied: Applied
    behind: frozenset[str]


def resolve(
    changes: DataFrame,
    scope: FoldScope,
    mirror_rows: DataFrame | None = None,
    tombstones: DataFrame | None = None,
    *,
    few: bool = False,
) -> Delta:
    """Fold a range onto what is stored. Rows, tombstones and refused changes are computed once, and stay.

    Args:
        changes: rows of the changelog; `after` has exactly the declared columns.
        scope: of the fold.
        mirror_rows: the mirror, or the part of it that can hold the range's keys; None: there are none.
        tombstones: the ledger, likewise.
        few: whether the range is small enough to be sent to every worker.
    """
    stored = look_up(changes, scope, mirror_rows, tombstones, few=few)
    judged = classify_events(events_of(changes, scope), stored, scope)
    # A plan that runs twice could see two truths, and MERGE runs its source twice.
    decided = _decided(reduce(judged, scope), scope).localCheckpoint()
    applied = _counted(decided, scope)
    refused = judged.filter(sql.col("_verdict").isin(CONTRADICTION, TOO_LATE))
    if applied.contradictions or applied.too_late:
        refused = _refused(refused, scope).localCheckpoint()
    else:
        refused = _refused(refused.filter(sql.lit(False)), scope)
    memory = [c.name for c in (POSITION_COLUMN, TIME_COLUMN, DIGEST_COLUMN)]
    rest = [BEHIND_COLUMN.name, *([DELETED_COLUMN.name] if scope.soft else [])]
    return Delta(
        rows=decided.filter(sql.col("_action").isNotNull()).select(
            *(column.name for column in scope.log.columns), *memory, *rest, "_action"
        ),
        tombstones=decided.filter("_tombstone").select(*scope.keys, *memory),
        refused=refused,
        applied=applied,
        behind=frozenset(scope.tracked),
    )


def _decided(reduced: DataFrame, scope: FoldScope) -> DataFrame:
    """Each key's row as it is from now on, and what to do with it."""
    head, barrier = sql.col("_head"), scope.barrier
    barred = sql.lit(False) if barrier is None else sql.coalesce(head["_position"] < literal(barrier), sql.lit(False))
    position = head["_position"]
    if barrier is not None:
        position = sql.when(sql.col("_barred"), literal(barrier)).otherwise(position)
    reduced = reduced.withColumns({"_barred": barred, "_gone": barred | head["_gone"]})
    reduced = reduced.withColumns(
        {
            POSITION_COLUMN.name: solid(position),
            TIME_COLUMN.name: sql.when(~sql.col("_barred"), head["_time"]),
            DIGEST_COLUMN.name: sql.when(sql.col("_barred"), sql.lit(TRUNCATED).cast("bigint")).otherwise(
                head["_digest"]
            ),
            DELETED_COLUMN.name: sql.col("_gone"),
        }
    )
    reduced = _with_columns(reduced, scope)
    known, gone, new_head = sql.col("_known"), sql.col("_gone"), sql.col("_barred") | ~head["_old"]
    changed = new_head | ~_same_behind() if scope.whole_rows else new_head
    changed = changed | sql.col("_corrected") if scope.anew is not None else changed
    if scope.soft:
        action = sql.when(known & changed, "update").when(~known & head.isNotNull(), "insert")
    else:
        action = sql.when(known & gone, "delete").when(known & changed, "update").when(~known & ~gone, "insert")
    tombstone = gone & ~sql.col("_barred") & ~head["_old"] if not scope.soft else sql.lit(False)
    return reduced.select(
        *scope.keys,
        *(column.name for column in scope.columns),
        *(c.name for c in (POSITION_COLUMN, TIME_COLUMN, DIGEST_COLUMN, BEHIND_COLUMN, DELETED_COLUMN)),
        action.alias("_action"),
        sql.coalesce(tombstone, sql.lit(False)).alias("_tombstone"),
        "_was_gone",
        "_changes",
        *(f"_{verdict}" for verdict in (DUPLICATE, CONTRADICTION, TOO_LATE)),
    )


def _with_columns(reduced: DataFrame, scope: FoldScope) -> DataFrame:
    """Take each column from its register, and remember which are older than the row."""
    values = {name: field("_image", name) for name in scope.together}
    positions: dict[str, Expression] = {}
    if scope.soft:  # the image may be older than a delete
        positions = dict.fromkeys(scope.together, sql.col("_image_position"))
    for number, name in enumerate(scope.tracked):
        values[name], positions[name] = _register(number, scope)
    if not positions:
        return reduced.withColumns(values | {BEHIND_COLUMN.name: sql.lit(None).cast(BEHIND_COLUMN.type)})
    entries = sql.filter(
        sql.array(*(sql.struct(sql.lit(n).alias("key"), solid(p).alias("value")) for n, p in positions.items())),
        lambda entry: entry["value"] < sql.col(POSITION_COLUMN.name),
    )
    behind = sql.when(sql.size(entries) > 0, sql.map_from_entries(entries))
    return reduced.withColumns(values | {BEHIND_COLUMN.name: behind})


def _register(number: int, scope: FoldScope) -> tuple[Expression, Expression]:
    """Value and position of a tracked column: a hard delete and a truncate have set it to null, if they are newer."""
    value, position = sql.col(f"_value_{number}"), sql.col(f"_position_{number}")
    if scope.soft:
        return value, position
    gone = sql.col("_gone_position")
    wiped, newest = position <= gone, gone
    if scope.barrier is not None:
        barrier = literal(scope.barrier)
        wiped = sql.coalesce(wiped, sql.lit(False)) | (position < barrier)
        newest = sql.greatest(gone, barrier)
    stands = position.isNotNull() & ~sql.coalesce(wiped, sql.lit(False))
    return sql.when(stands, value), sql.when(stands, position).otherwise(newest)


def _same_behind() -> Expression:
    now, was = (sql.array_sort(sql.map_entries(name)) for name in (BEHIND_COLUMN.name, "_was_behind"))
    return now.eqNullSafe(was)


def _counted(decided: DataFrame, scope: FoldScope) -> Applied:
    action = sql.col("_action")
    marked = (
        (action == "update") & sql.col(DELETED_COLUMN.name) & ~sql.col("_was_gone") if scope.soft else sql.lit(False)
    )
    row = decided.agg(
        sql.count_if(action == "insert").alias("inserted"),
        sql.count_if((action == "update") & ~marked).alias("updated"),
        sql.count_if((action == "delete") | marked).alias("deleted"),
        sql.count_if(action.isNull() & (sql.col("_changes") > 0)).alias("unchanged"),
        *(
            sql.coalesce(sql.sum(f"_{verdict}"), sql.lit(0)).alias(name)
            for name, verdict in (("duplicates", DUPLICATE), ("contradictions", CONTRADICTION), ("too_late", TOO_LATE))
        ),
    ).first()
    assert row is not None  # without groups there is always one
    return Applied(**row.asDict())


def _refused(judged: DataFrame, scope: FoldScope) -> DataFrame:
    verdict = sql.col("_verdict")
    message = sql.when(verdict == CONTRADICTION, _MESSAGES[CONTRADICTION]).otherwise(_MESSAGES[TOO_LATE])
    return judged.select(
        verdict.alias("reason"),
        message.alias("message"),
        sql.col("_operation").alias("operation"),
        sql.to_json(sql.struct(*scope.keys), {"ignoreNullFields": "false"}).alias("key"),
        sql.col("_position").alias("position"),
        sql.col("_time").alias("source_time"),
        sql.col("_topic").alias("topic"),
        sql.col("_partition").alias("partition"),
        sql.col("_offset").alias("offset"),
    )
