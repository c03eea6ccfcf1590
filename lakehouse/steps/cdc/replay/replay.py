"""The fold of a changelog, computed a second time: with polars, and by another way than the step's.

The step keeps registers. This keeps *changes*: of each key those that still say something, the newest of all and for
each column that some change left out the newest that sent it. What is kept of two parts together is kept of the
whole, so a changelog of any length is folded piece by piece in memory for its keys alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from lakehouse.declarations.mirror import BEHIND_COLUMN, DELETED_COLUMN, POSITION_COLUMN
from lakehouse.steps.cdc.position import ChangePosition
from lakehouse.steps.cdc.replay.column_versions import ORDER as _ORDER
from lakehouse.steps.cdc.replay.column_versions import behind_of, less, together

PLACE = ("_partition", "_offset")
_IMAGES = ("insert", "update", "read")
_ROW_OPERATIONS = (*_IMAGES, "delete", "tombstone")
_PIECE = 300_000
STORED = -2
"""Stands for the partition of what a mirror had stored where the fold begins; an initial copy's is below 0, too."""


@dataclass(frozen=True)
class ReplayedMirror:
    """What a mirror should hold.

    Attributes:
        rows: key and other columns, what is remembered of each row, and the place of its newest change.
        deletes: keys whose newest change is a delete, with its position, source time and place.
        truncated: position of the newest truncate.
    """

    rows: pl.DataFrame
    deletes: pl.DataFrame
    truncated: ChangePosition | None


class Fold:
    """Takes changes in any order, piece by piece, and says what they make."""

    def __init__(
        self, key: Sequence[str], columns: Sequence[str], *, soft: bool, truncated: ChangePosition | None = None
    ) -> None:
        """Begin with nothing.

        Args:
            key: the key's columns.
            columns: all columns of the source, key included.
            soft: whether deleted rows stay.
            truncated: position of the newest truncate before the changes.
        """
        self._key, self._soft = list(key), soft
        self._columns = [column for column in columns if column not in self._key]
        self._changes: list[pl.DataFrame] = []
        self._size = self._kept = 0
        self._positions: list[pl.DataFrame] = []
        self._lone_tombstones: list[pl.DataFrame] = []
        self._truncated = truncated
        self._absent: set[str] = set()

    def add(self, changes: pl.DataFrame) -> None:
        """Take changes as `lakehouse.steps.cdc.replay.changes` gives them."""
        self._truncate(changes.filter(pl.col("_operation") == "truncate"))
        rows = changes.filter(pl.col("_operation").is_in(_ROW_OPERATIONS)).drop("_topic")
        lone = (pl.col("_operation") == "tombstone") & pl.col("_epoch").is_null()
        self._lone_tombstones.append(rows.filter(lone).select(*self._key, *PLACE))
        self._keep(rows.filter(pl.col("_epoch").is_not_null()).with_columns(_lone=pl.lit(False)))
        if self._size >= max(_PIECE, 2 * self._kept):
            self._reduce()

    def note_positions(self, changes: pl.DataFrame) -> None:
        """Take changes that do not count, though a tombstone may go by their position.

        Those are contradictions, and changes from before a fold that begins with stored rows.
        """
        of_a_row = pl.col("_operation").is_in(_ROW_OPERATIONS) & pl.col("_epoch").is_not_null()
        self._positions.append(self._positions_of(changes.filter(of_a_row)))

    def lone_tombstones(self) -> pl.DataFrame:
        """Keys of the tombstones without position that were added."""
        return pl.concat(self._lone_tombstones).select(self._key).unique() if self._lone_tombstones else pl.DataFrame()

    def result(self) -> ReplayedMirror:
        """Everything that was added, folded."""
        self._keep(self._resolved())
        self._reduce()
        changes = self._changes[0]
        ordered = _newest_first(changes, self._key)
        heads = _first(ordered, self._key)
        rows = heads if self._soft else heads.filter(pl.col("_alive") & ~self._before_truncate(_ORDER))
        return ReplayedMirror(self._rows(changes, ordered, rows), self._deletes(heads), self._truncated)

    # Keeping

    def _truncate(self, changes: pl.DataFrame) -> None:
        if changes.height:
            newest = ChangePosition(*changes.select(pl.struct(*_ORDER)).to_series().sort(descending=True)[0].values())
            self._truncated = max(self._truncated or newest, newest)

    def _keep(self, rows: pl.DataFrame) -> None:
        if rows.height == 0 and self._changes:
            return
        self._changes.append(rows)
        self._size += rows.height
        self._positions.append(self._positions_of(rows))
        self._absent |= set(rows["_unavailable"].explode(empty_as_null=False).drop_nulls().unique().to_list())

    def _positions_of(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.select(*self._key, *_ORDER, *PLACE, "_time")

    def _reduce(self) -> None:
        """Keep of each key the newest change, and the newest that sent each column."""
        changes = pl.concat(self._changes, rechunk=True)
        ordered = _newest_first(changes, self._key)
        kept = [_first(ordered, self._key)["_row"], self._senders(ordered, None)["_row"]]
        kept += [self._senders(ordered, column)["_row"] for column in sorted(self._absent)]
        self._changes = [changes[pl.concat(kept).unique().sort()]]
        self._size = self._kept = self._changes[0].height

    def _senders(self, ordered: pl.DataFrame, column: str | None) -> pl.DataFrame:
        """Of each key the newest change that says what is in a column: or, if None, in one that none left out."""
        sends = pl.col("_alive") if self._soft else pl.lit(True)
        if column is not None:
            sends &= ~pl.col("_unavailable").list.contains(column).fill_null(value=False)
        return _first(ordered.filter(sends), self._key)

    def _resolved(self) -> pl.DataFrame:
        """Tombstones without position, each as a delete at the position that its partition has said last before it."""
        lone = pl.concat(self._lone_tombstones) if self._lone_tombstones else pl.DataFrame()
        if lone.is_empty():
            return self._changes[0].clear()
        where = [*self._key, PLACE[0]]
        positions = pl.concat(self._positions).sort(_ORDER).with_columns(_rank=pl.struct(*_ORDER).rle_id())
        positions = positions.join(lone.select(where).unique(), on=where, how="semi", nulls_equal=True)
        both = pl.concat([positions.select(*where, PLACE[1], "_rank"), lone], how="diagonal")
        latest = pl.col("_rank").forward_fill().over(where)
        both = both.sort(*where, PLACE[1]).with_columns(_latest=latest).filter(pl.col("_rank").is_null())
        deletes = both.select(*where, PLACE[1], _rank="_latest").join(
            positions.unique([*where, "_rank"]).drop(PLACE[1]), on=[*where, "_rank"], nulls_equal=True
        )
        deletes = deletes.filter(pl.col("_rank").is_not_null()).drop("_rank")
        deletes = pl.concat([deletes, self._by_stored(lone, deletes)], how="diagonal")
        deletes = deletes.with_columns(_operation=pl.lit("delete"), _lone=pl.lit(True))
        return pl.concat([self._changes[0].clear(), deletes], how="diagonal")

    def _by_stored(self, lone: pl.DataFrame, resolved: pl.DataFrame) -> pl.DataFrame:
        """Where a fold begins with rows, tombstones that follow on nothing else go by those: the newest of their key.

        A row whose own change is in the changelog stands for nothing: that change came in another partition.
        """
        positions = pl.concat(self._positions)
        is_stored = pl.col(PLACE[0]) < 0
        stored = positions.filter(is_stored).sort(_ORDER, descending=True)
        rest = lone.join(resolved, on=[*self._key, *PLACE], how="anti", nulls_equal=True)
        newest = stored.unique(self._key, keep="first", maintain_order=True).drop(PLACE)
        unknown = newest.join(positions.filter(~is_stored), on=[*self._key, *_ORDER], how="anti", nulls_equal=True)
        return rest.join(unknown, on=self._key, nulls_equal=True)

    # Telling

    def _before_truncate(self, position: Sequence[str]) -> pl.Expr:
        if self._truncated is None:
            return pl.lit(False)
        return less([pl.col(name) for name in position], [pl.lit(part) for part in self._truncated])

    def _rows(self, changes: pl.DataFrame, ordered: pl.DataFrame, heads: pl.DataFrame) -> pl.DataFrame:
        late = self._before_truncate(_ORDER) if self._soft else pl.lit(False)
        coordinates = changes["_offset"].gather(heads["_row"]), changes["_partition"].gather(heads["_row"])
        rows = heads.select(*self._key, *_ORDER, "_row", _gone=~pl.col("_alive") | late).with_columns(
            pl.when(late).then(pl.lit(part)).otherwise(pl.col(name)).alias(name)
            for name, part in zip(_ORDER, self._truncated or (0, 0, 0), strict=True)
        )
        common = self._register(rows, self._senders(ordered, None))
        values: dict[str, pl.Series] = {}
        behind: list[pl.Series] = []
        for column in self._columns:
            register = self._register(rows, self._senders(ordered, column)) if column in self._absent else common
            values[column] = changes["_after"].struct.field(column).gather(register["_source"])
            if column in self._absent or self._soft:
                behind.append(behind_of(rows, register, column))
        return rows.select(
            *self._key,
            *(series.alias(name) for name, series in values.items()),
            together(behind, rows.height).alias(BEHIND_COLUMN.name),
            _position().alias(POSITION_COLUMN.name),
            *((pl.col("_gone").alias(DELETED_COLUMN.name),) if self._soft else ()),
            coordinates[1].alias(PLACE[0]),
            coordinates[0].alias(PLACE[1]),
        )

    def _register(self, rows: pl.DataFrame, senders: pl.DataFrame) -> pl.DataFrame:
        """For each row the position of a column's value, and the change that holds it; null where nobody said it."""
        register = rows.select(self._key).join(
            senders.select(*self._key, *_ORDER, _source=pl.when("_alive").then("_row")),
            on=self._key,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        if self._soft or self._truncated is None:
            return register
        wiped = self._before_truncate(_ORDER) | pl.col("_epoch").is_null()
        return register.with_columns(
            pl.when(wiped).then(None).otherwise(pl.col("_source")).alias("_source"),
            *(
                pl.when(wiped).then(pl.lit(part)).otherwise(pl.col(name)).alias(name)
                for name, part in zip(_ORDER, self._truncated, strict=True)
            ),
        )

    def _deletes(self, heads: pl.DataFrame) -> pl.DataFrame:
        deletes = heads.filter(~pl.col("_alive") & ~self._before_truncate(_ORDER))
        return deletes.select(*self._key, _position().alias(POSITION_COLUMN.name), "_time", *PLACE)


def _newest_first(changes: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    narrow = changes.select(
        *key, *_ORDER, *PLACE, "_lone", "_unavailable", "_time", _alive=pl.col("_operation").is_in(_IMAGES)
    )
    # Of equal positions the first to arrive; only a tombstone that took its position from a change comes after it.
    falling = [True, True, True, True, False, False]
    return narrow.with_row_index("_row").sort(*_ORDER, "_lone", *PLACE, descending=falling)


def _first(ordered: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    return ordered.unique(subset=key, keep="first", maintain_order=True)


def _position() -> pl.Expr:
    return pl.struct(epoch="_epoch", commit="_commit", sequence="_sequence")
