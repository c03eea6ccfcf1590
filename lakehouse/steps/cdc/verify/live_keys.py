"""Inserts of a key that was there already: what no source says whose key is unique.

Where a table is declared with columns that are no key of it, two of its rows are one in the mirror, and the next delete
takes both. So the log of each key is looked at in the order of positions: after an insert or an update there has to be
a delete or a truncate before the next insert. What a snapshot reads says nothing of the log.
"""

from collections.abc import Sequence

import polars as pl

ORDER = ("_epoch", "_commit", "_sequence")
_ALIVE = ("insert", "update")
_GONE = ("delete", "tombstone")


def inserts_onto_live_keys(changes: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Find them.

    Args:
        changes: key, `_operation`, position, coordinates and `_said`, a hash of what a change says; those with a
            position, truncates among them.
        key: the key's columns.

    Returns:
        The inserts, by key and position.
    """
    wanted = changes.filter(pl.col("_operation").is_in([*_ALIVE, *_GONE, "truncate"]) & pl.col("_epoch").is_not_null())
    # A truncate comes before whatever else is at its position.
    wanted = wanted.sort(*ORDER, pl.col("_operation") != "truncate")
    wanted = wanted.with_columns(_truncates=(pl.col("_operation") == "truncate").cum_sum())
    rows = _once(wanted.filter(pl.col("_operation") != "truncate"), key)
    before = pl.col("_operation", "_truncates", "_epoch").shift(1).over(list(key)).name.prefix("_before")
    inserts = rows.with_columns(before).filter(
        (pl.col("_operation") == "insert")
        & pl.col("_before_operation").is_in(_ALIVE)
        & (pl.col("_before_truncates") == pl.col("_truncates"))
        # Of what happened before the source began to count anew nobody knows all.
        & (pl.col("_before_epoch") == pl.col("_epoch"))
    )
    return inserts.sort(*key, *ORDER).select(changes.columns)


def _once(rows: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Each change once, in order.

    A connector that sends again after a restart may not know the commit before (see `decode.changes.debezium_place`):
    the same change then stands at its own place in the log, with the same content.
    """
    rows = rows.unique([*key, *ORDER], keep="first", maintain_order=True)
    same = [*key, "_epoch", "_sequence", "_said"]
    unsure = (pl.col("_commit") == pl.col("_sequence")).any().over(same)
    first = pl.int_range(pl.len()).over(same) == 0
    return rows.filter(~unsure | first)
