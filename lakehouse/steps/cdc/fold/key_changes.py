"""Changes of key that leave values out: what the row held under its old key is looked up before anything is folded.

A source writes a changed key as a delete and an insert at one position, and the insert need not send a large value that
did not change. It counts as if it had sent what the old key held just before; so the fold may take each key alone.

Of the old key everything counts that the changelog has with a position of its own, also what a mirror refused as too
late: a mirror forgets deletes, a changelog does not. Of equal positions the first by Kafka's coordinates counts.
"""

from functools import reduce

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from lakehouse.steps.cdc.fold.expressions import field, left_out, literal
from lakehouse.steps.cdc.fold.key_versions import changed_versions, fields_of, stored_versions
from lakehouse.steps.cdc.fold.lookup import ANEW, MOVED
from lakehouse.steps.cdc.fold.scope import FoldScope


def complete(
    changes: DataFrame,
    scope: FoldScope,
    *,
    past: DataFrame | None = None,
    mirror_rows: DataFrame | None = None,
    few: bool = False,
) -> DataFrame:
    """Find what changes of key have left out.

    Where the range brings changes that are older than a change of key which was folded before, what that one left out
    is looked up anew. If it is something else by now, a row of the operation `ANEW` says so.

    Args:
        changes: rows of the changelog; images have exactly the declared columns.
        scope: of the fold.
        past: the changelog at the range's end, in the same shape; None where the range is all of it.
        mirror_rows: the mirror, whole: it knows what was in an initial copy, or what retention has let go; or None.
        few: whether the range is small enough to be sent to every worker.

    Returns:
        The changes with what was found, in a column `MOVED`.
    """
    senders = changed_versions(changes, scope, new=True)
    if past is not None:
        senders = senders.unionByName(changed_versions(past, scope, new=False))
    if mirror_rows is not None:
        senders = senders.unionByName(stored_versions(mirror_rows, scope))
    completions = _completions(
        _look_up(_missing_values(changes, past, scope), senders, scope, few=few), scope
    ).localCheckpoint()
    same = left_out() & _same_key("key", "_move.key", scope) & _same_key("other_key", "_move.other_key", scope)
    same &= sql.col("position") == sql.col("_move.position")
    joinable = sql.broadcast(completions) if few else completions
    completed = (
        changes.join(joinable, same, "left").withColumn(MOVED, sql.col("_values")).select(*changes.columns, MOVED)
    )
    if scope.anew is None:
        return completed
    anew = _that_count(completions.filter(sql.size("_anew") > 0), senders, scope, few=few).select(
        sql.lit(ANEW).alias("operation"),
        sql.col("_move.key").alias("key"),
        sql.col("_move.position").alias("position"),
        sql.col("_anew").alias("unavailable"),
        sql.col("_values").alias(MOVED),
    )
    return completed.unionByName(anew, allowMissingColumns=True)


def _missing_values(changes: DataFrame, past: DataFrame | None, scope: FoldScope) -> DataFrame:
    """What is to be found: of each change of key each column that it left out."""
    parts = ("key", "position", "other_key", "unavailable")
    moves = changes.filter(left_out()).select(*parts)
    if past is not None and scope.anew is not None:
        newer = left_out() & (sql.col("position") > literal(scope.anew))
        moves = moves.unionByName(past.filter(newer).select(*parts))
    missing = moves.select(
        sql.struct("key", "position", "other_key").alias("_move"), sql.explode("unavailable").alias("_column")
    )
    return (
        missing.filter(sql.col("_column").isin(*scope.tracked))
        .distinct()
        .select(
            "_move",
            "_column",
            sql.col("_move.other_key").alias("_from"),
            sql.col("_move.position").alias("_before"),
            sql.lit(False).alias("_fresh"),
            sql.lit(None).cast(fields_of(scope, scope.tracked)).alias("_spare"),
        )
    )


def _look_up(missing: DataFrame, senders: DataFrame, scope: FoldScope, *, few: bool) -> DataFrame:
    """Go from key to key, as long as the change that should say a value is itself a change of key that left it out.

    That is one round for most, and one more for each key that a row had before. Positions fall, so it ends.
    """
    resolved: DataFrame | None = None
    while True:
        answers = _round(missing, senders, scope, few=few).localCheckpoint()
        done = answers.filter(~sql.col("_onward")).select("_move", "_column", "_value", "_found", "_fresh")
        resolved = done if resolved is None else resolved.unionByName(done)
        missing = answers.filter("_onward").select(
            "_move",
            "_column",
            sql.col("_best._other").alias("_from"),
            sql.col("_best._position").alias("_before"),
            "_fresh",
            "_spare",
        )
        if missing.isEmpty():
            return resolved


def _round(missing: DataFrame, senders: DataFrame, scope: FoldScope, *, few: bool) -> DataFrame:
    """For each column asked for, the newest change of the old key that says it, or says who does."""
    before = _same_key("_from", "_key", scope) & (sql.col("_position") < sql.col("_before"))
    first = _first(senders.join(sql.broadcast(missing) if few else missing, before), "_move", "_column", "_position")
    sent = ~sql.col("_gone") & ~sql.array_contains("_unavailable", sql.col("_column"))
    # Soft deletes do not touch a row's values.
    says = sent if scope.soft else sent | sql.col("_gone")
    newest = sql.struct("_position", ~sql.col("_kept"))
    sender = sql.struct("_position", says.alias("_says"), "_gone", "_other", "_image", "_new")
    best = (
        first.filter(says | sql.col("_other").isNotNull())
        .groupBy("_move", "_column")
        .agg(
            sql.max_by(sender, newest).alias("_best"),
            sql.max_by(
                sql.when(sql.col("_kept"), sql.struct("_position", "_image")), sql.when(sql.col("_kept"), newest)
            ).alias("_stored"),
        )
    )
    answers = missing.join(best, ["_move", "_column"], "left")
    wiped = sql.lit(False)
    if scope.barrier is not None and not scope.soft:
        wiped = sql.coalesce(sql.col("_best._position") < literal(scope.barrier), sql.lit(False))
    onward = sql.coalesce(~sql.col("_best._says"), sql.lit(False)) & ~wiped
    # What the mirror holds of a change of key stands in where nobody says any more what that one had left out.
    stored = sql.when(sql.col("_stored._position") == sql.col("_best._position"), sql.col("_stored._image"))
    value = (
        sql.when(sql.col("_best").isNull(), sql.col("_spare"))
        .when(sql.col("_best._gone") | wiped, sql.lit(None))
        .otherwise(sql.col("_best._image"))
    )
    fresh = sql.col("_fresh") | sql.coalesce(sql.col("_best._new"), sql.lit(False))
    return answers.withColumns(
        {
            "_onward": onward,
            "_value": value,
            "_found": sql.col("_best").isNotNull(),
            "_fresh": fresh | (wiped & sql.lit(scope.truncating)),
            "_spare": sql.coalesce("_spare", stored),
        }
    )


def _that_count(completions: DataFrame, senders: DataFrame, scope: FoldScope, *, few: bool) -> DataFrame:
    """Without changes of key that were refused, because another change at their position came first."""
    same_change = _same_key("_move.key", "_key", scope) & (sql.col("_move.position") == sql.col("_position"))
    matching = senders.filter(~sql.col("_kept")).join(sql.broadcast(completions) if few else completions, same_change)
    first = _first(matching, "_move").filter(
        _same_key("_other", "_move.other_key", scope) & sql.col("_other").isNotNull()
    )
    return completions.join(first.select("_move"), "_move", "left_semi")


def _first(changes: DataFrame, *group: str) -> DataFrame:
    """Of several changes of a key at one position the first, the others being duplicates or contradictions."""
    order = sql.struct("_topic", "_partition", "_offset", ~sql.col("_new"))
    change = sql.struct("_gone", "_unavailable", "_other", "_image", "_new")
    first = changes.groupBy(*group, "_kept").agg(sql.min_by(change, order).alias("_said"))
    return first.select(*group, "_kept", "_said.*")


def _completions(resolved: DataFrame, scope: FoldScope) -> DataFrame:
    """One row for each change of key: what it left out, and which of that a change of this range says."""
    values = (
        sql.first(sql.when(sql.col("_column") == name, field("_value", name)), ignorenulls=True).alias(name)
        for name in scope.tracked
    )
    anew = sql.collect_set(sql.when(sql.col("_found") & sql.col("_fresh"), sql.col("_column")))
    return resolved.groupBy("_move").agg(sql.struct(*values).alias("_values"), sql.array_sort(anew).alias("_anew"))


def _same_key(left: str, right: str, scope: FoldScope) -> Expression:
    return reduce(Expression.__and__, (field(left, name).eqNullSafe(field(right, name)) for name in scope.keys))
