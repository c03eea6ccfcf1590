"""Which old changes stay, since a tombstone that is still to come could go by them, and no row tells as much.

A tombstone without position goes by the change of its key that its partition brought before it. Where that is gone, it
goes by the mirror's row. For nearly every key that is the same: the last change of its partition is what the row is
made of, or there is no row. It is not where a delete or an older change was sent again, after the row was made anew.
"""

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from lakehouse.declarations.mirror import DELETED_COLUMN, POSITION_COLUMN
from lakehouse.proofs.audit.coordinates import OFFSET, PARTITION
from lakehouse.protocol.seals.base import Base
from lakehouse.steps.cdc.changelog_cleanup.proven_mirrors import ProvenMirror
from lakehouse.steps.cdc.replay.piecewise import equal, frames, offsets_between

_IMAGES = ("insert", "update", "read")
_OF_A_ROW = (*_IMAGES, "delete", "tombstone")
_NEEDED = ("operation", "key", "position", PARTITION, OFFSET)


def kept_changes(
    changelog: Base, mirrors: Sequence[ProvenMirror], proven: Mapping[int, int], before: Mapping[int, int]
) -> Mapping[int, frozenset[int]]:
    """Kafka partition → offsets of the changes that stay though they lie before the bound.

    Args:
        changelog: as it was loaded.
        mirrors: of the changelog, with the checkpoint that stands for its old changes.
        proven: Kafka partition → offset up to where every checkpoint stands for the changes.
        before: Kafka partition → offset before which everything else may go.
    """
    last = _last_changes(changelog, proven, before)
    if last.is_empty():
        return {}
    kept = [_awaited(changelog, last, before), *(_superseded(last, mirror) for mirror in mirrors)]
    offsets = pl.concat(kept).unique().group_by(PARTITION).agg(OFFSET)
    return {partition: frozenset(values) for partition, values in offsets.iter_rows()}


def _last_changes(changelog: Base, proven: Mapping[int, int], before: Mapping[int, int]) -> pl.DataFrame:
    """Of each key the last proven change of each partition, where that lies before the bound.

    Tombstones that follow an earlier one are proven as well: nobody asks again what they follow.
    """
    last = pl.DataFrame()
    for piece in frames(changelog.table, changelog.snapshot_id, _NEEDED, offsets_between(None, proven)):
        placed = piece.filter(pl.col("operation").is_in(_OF_A_ROW) & pl.col("position").is_not_null())
        both = pl.concat([last, placed.select(_NEEDED)]) if last.height else placed.select(_NEEDED)
        last = both.sort(PARTITION, OFFSET).unique(["key", PARTITION], keep="last", maintain_order=True)
    return last.filter(pl.col(OFFSET) < _of_partition(before)) if last.height else last


def _superseded(last: pl.DataFrame, mirror: ProvenMirror) -> pl.DataFrame:
    """Those of keys whose row is made of another change."""
    kept = [last.select(PARTITION, OFFSET).clear()]
    is_image = pl.col("operation").is_in(_IMAGES)
    parts = ("epoch", "commit", "sequence")
    same = [pl.col("position").struct.field(p) == pl.col(POSITION_COLUMN.name).struct.field(p) for p in parts]
    kind = last.schema["key"]
    for rows in _rows(mirror):
        keyed = rows.with_columns(key=pl.struct(mirror.key).cast(kind))
        joined = last.join(keyed, on="key", nulls_equal=True)
        kept.append(joined.filter(~(is_image & pl.all_horizontal(same))).select(PARTITION, OFFSET))
    return pl.concat(kept)


def _rows(mirror: ProvenMirror) -> Iterator[pl.DataFrame]:
    """Key and position of the rows of its checkpoint that are not marked as deleted, in pieces."""
    soft = [DELETED_COLUMN.name] if DELETED_COLUMN.name in mirror.table.schema().column_names else []
    for piece in frames(mirror.table, mirror.snapshot_id, [*mirror.key, POSITION_COLUMN.name, *soft]):
        yield piece.filter(~pl.col(DELETED_COLUMN.name)) if soft else piece


def _awaited(changelog: Base, last: pl.DataFrame, before: Mapping[int, int]) -> pl.DataFrame:
    """Those of keys of which another partition has a tombstone already, which follows nothing and is to stay so."""
    pieces = [last.select("key", pl.col(PARTITION).alias("_lone")).clear()]
    for piece in frames(changelog.table, changelog.snapshot_id, _NEEDED, equal("operation", "tombstone")):
        lone = piece.filter(pl.col("position").is_null() & (pl.col(OFFSET) >= _of_partition(before)))
        pieces.append(lone.select("key", pl.col(PARTITION).alias("_lone")))
    joined = last.join(pl.concat(pieces).unique(), on="key", nulls_equal=True)
    return joined.filter(pl.col(PARTITION) != pl.col("_lone")).select(PARTITION, OFFSET)


def _of_partition(before: Mapping[int, int]) -> pl.Expr:
    return pl.col(PARTITION).replace_strict(dict(before), default=0, return_dtype=pl.Int64)
