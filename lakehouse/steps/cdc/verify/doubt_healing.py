"""Which refused changes still leave a row stale: until a good change of its key, and along every change of its key.

A change of key may leave out values that the source does not send again: the new key then holds what the old one held.
So where a refused change came before it, the row is as stale at its new key as it was at its old one.

A good change is a newer one, by the order in which the mirror applies them: else it changed nothing. Of most refused
messages the position can be read. Of others what is sound is Kafka's order within a partition: a change that came later
is newer, if nothing as new of its key had come before. One that had is sent again, or is older.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce

import polars as pl
from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression, GreaterThanOrEqual, Or

from lakehouse.proofs.audit.coordinates import OFFSET, PARTITION
from lakehouse.steps.cdc.replay.changes import Types
from lakehouse.steps.cdc.replay.column_versions import ORDER, less
from lakehouse.steps.cdc.replay.piecewise import equal

KEY = "_key_"
"""Before the names of a key's columns, out of the way of all others."""
COLUMNS = ("operation", "key", "other_key", "unavailable", "position", PARTITION, OFFSET, "_kafka_timestamp")
"""What has to be read of a changelog."""
_OTHER = "_other_"
# A snapshot read is older than every logged change, so it does not say how the row is now.
_HEALING = ("insert", "update", "delete", "tombstone")
_IMAGES = ("insert", "update")
_REACHED = tuple(f"_reached{name}" for name in ORDER)
_PLACE = {"_partition": pl.Int64(), "_offset": pl.Int64(), "_time": pl.Datetime("us", "UTC")}


@dataclass(frozen=True)
class KeysInDoubt:
    """The columns of a mirror's key, by name and type."""

    types: Types

    @property
    def key(self) -> list[str]:
        """As they are named here."""
        return [f"{KEY}{name}" for name in self.types]

    @property
    def _other(self) -> list[str]:
        """Those of the key on the other side of a change of key."""
        return [f"{_OTHER}{name}" for name in self.types]

    def as_changes(self, piece: pl.DataFrame) -> pl.DataFrame:
        """Rows of a changelog as changes: both keys, operation, place, and whether a part of the row is left out."""
        return piece.select(
            *(
                pl.col(column).struct.field(name).cast(kind).alias(f"{before}{name}")
                for column, before in (("key", KEY), ("other_key", _OTHER))
                for name, kind in self.types.items()
            ),
            pl.col("operation").alias("_operation"),
            (pl.col("unavailable").list.len().fill_null(0) > 0).alias("_left_out"),
            *(pl.col(n).cast(k).alias(p) for n, (p, k) in zip(COLUMNS[-3:], _PLACE.items(), strict=True)),
            *(pl.col("position").struct.field(name.removeprefix("_")).alias(name) for name in ORDER),
        )

    def changes(self, refused: pl.DataFrame, pieces: Callable[[], Iterator[pl.DataFrame]]) -> pl.DataFrame:
        """Those of the refused changes' keys, those of keys that their rows moved to, and truncates.

        Args:
            refused: with the key's columns.
            pieces: reads all changes, as `told` gives them; once more for each time that a row moved on.
        """
        keys = refused.select(self.key).unique()
        while True:
            changes = pl.concat([self._nothing, *(self._of(keys, piece) for piece in pieces())])
            more = pl.concat([keys, self._moves(changes).select(self.key)]).unique()
            if more.height == keys.height:
                return changes
            keys = more

    def unhealed(self, refused: pl.DataFrame, changes: pl.DataFrame) -> pl.DataFrame:
        """Find the refused changes that leave a row stale.

        Args:
            refused: `_row`, the key's columns, `_partition`, `_offset`, `_time`, and the position where it is known.
            changes: as `changes` gives them; all of them where `needs_all` says so.

        Returns:
            `_row`, and the key that is stale now.
        """
        changes = self._placed(changes)
        whole = changes.filter(~pl.col("_left_out"))
        doubts = self.along(self._bounded(refused, changes), changes).with_row_index("_doubt")
        good = whole.filter(pl.col("_operation").is_in(_HEALING)).select(*self.key, *_PLACE, *ORDER, "_since")
        truncates = whole.filter(pl.col("_operation") == "truncate").select(*_PLACE, *ORDER, "_since")
        healed = [doubts.join(good, on=self.key, nulls_equal=True), doubts.join(truncates, how="cross")]
        done = pl.concat([later(pairs)["_doubt"] for pairs in healed])
        return doubts.filter(~pl.col("_doubt").is_in(done.implode())).select("_row", *self.key).unique()

    @property
    def _nothing(self) -> pl.DataFrame:
        kinds = {f"{before}{name}": kind for before in (KEY, _OTHER) for name, kind in self.types.items()}
        order = dict.fromkeys(ORDER, pl.Int64())
        return pl.DataFrame(schema={**kinds, "_operation": pl.String(), "_left_out": pl.Boolean(), **_PLACE, **order})

    def _placed(self, changes: pl.DataFrame) -> pl.DataFrame:
        """Changes with `_since`, the offset of their position: of a tombstone the change of its key before it."""
        own = pl.when(pl.col("_epoch").is_not_null()).then("_offset").alias("_since")
        before = [pl.col(name).forward_fill().over("_partition", *self.key) for name in (*ORDER, "_since")]
        return changes.with_columns(own).sort("_partition", "_offset").with_columns(before)

    def _bounded(self, refused: pl.DataFrame, changes: pl.DataFrame) -> pl.DataFrame:
        """Refused changes, and how far their key had come before (`_reached`), which stands for an unknown position."""
        earlier = changes.filter(pl.col("_epoch").is_not_null()).select(*self.key, *_PLACE, *ORDER, "_operation")
        truncates = earlier.filter(pl.col("_operation") == "truncate").drop(self.key)
        pairs = [refused.join(earlier, on=self.key, nulls_equal=True), refused.join(truncates, how="cross")]
        before = pl.concat(
            pair.filter(_after("", "_right", together=True)).select("_row", *(f"{name}_right" for name in ORDER))
            for pair in pairs
        )
        reached = before.rename({f"{name}_right": name for name in ORDER}).sort(ORDER)
        reached = reached.group_by("_row").last().rename(dict(zip(ORDER, _REACHED, strict=True)))
        return refused.join(reached, on="_row", how="left").select(
            "_row",
            *self.key,
            *_PLACE,
            pl.col("_epoch").is_not_null().alias("_known_position"),
            *(pl.coalesce(name, far, -1) for name, far in zip(ORDER, _REACHED, strict=True)),
            *(pl.col(far).fill_null(-1) for far in _REACHED),
        )

    def _of(self, keys: pl.DataFrame, changes: pl.DataFrame) -> pl.DataFrame:
        own = changes.join(keys, on=self.key, how="semi", nulls_equal=True)
        left = self._moves(changes).join(keys, left_on=self._other, right_on=self.key, how="semi", nulls_equal=True)
        truncates = changes.filter(pl.col("_operation") == "truncate")
        return pl.concat([own, left, truncates]).unique(["_partition", "_offset"])

    def _moves(self, changes: pl.DataFrame) -> pl.DataFrame:
        """Changes of key after which the new key holds what the old one held."""
        known = pl.any_horizontal(pl.col(name).is_not_null() for name in self._other)
        return changes.filter(pl.col("_operation").is_in(_IMAGES) & pl.col("_left_out") & known)

    def along(self, refused: pl.DataFrame, changes: pl.DataFrame) -> pl.DataFrame:
        """The refused changes, and each once more at every key that its row moved to while it was stale."""
        new = {name: f"{name}_right" for name in self.key}
        moves = self._moves(changes).rename(new).select(*self._other, *new.values(), *_PLACE, *ORDER)
        images = changes.filter(pl.col("_operation").is_in(_IMAGES) & ~pl.col("_left_out"))
        between = images.select(*self.key, *(pl.col(name).alias(f"{name}_between") for name in (*_PLACE, *ORDER)))
        doubts = newest = refused
        while not newest.is_empty() and not moves.is_empty():
            pairs = newest.join(moves, left_on=self.key, right_on=self._other, nulls_equal=True)
            # In doubt rather than not, where only a clock could say what came first.
            pairs = pairs.filter(_may_follow()).with_row_index("_pair")
            mended = pairs.join(between, on=self.key, nulls_equal=True)
            mended = mended.filter(_newer("_between") & less(_order("_between"), _order("_right")))["_pair"]
            moved = pairs.filter(~pl.col("_pair").is_in(mended.implode())).select(
                "_row",
                *(pl.col(f"{name}_right").alias(name) for name in (*self.key, *_PLACE)),
                pl.lit(True).alias("_known_position"),
                *(pl.col(f"{name}_right").alias(name) for name in ORDER),
                *(pl.col(f"{name}_right").alias(far) for name, far in zip(ORDER, _REACHED, strict=True)),
            )
            newest = moved.unique().join(doubts, on=doubts.columns, how="anti", nulls_equal=True)
            doubts = pl.concat([doubts, newest])
        return doubts


def later(pairs: pl.DataFrame) -> pl.DataFrame:
    """Refused changes with another that is newer, or with the tombstone of a key whose last change it follows."""
    far = [pl.col(name) for name in _REACHED]
    of_the_last = (pl.col("_since") <= pl.col("_offset")) & ~less(_order("_right"), far)
    return pairs.filter(_newer("_right") | (_came_later("_right") & of_the_last))


def needs_all(refused: pl.DataFrame, changes: pl.DataFrame) -> bool:
    """Whether to tell what is newer takes also what came before: for a refused change or a tombstone, without position.

    Args:
        refused: with the position where it is known.
        changes: those that may have come later.
    """
    return refused["_epoch"].null_count() > 0 or changes["_operation"].eq("tombstone").any()


def came_since(refused: pl.DataFrame) -> BooleanExpression:
    """Changelog rows that may have come later than one of these."""
    first = dict(refused.group_by("_partition").agg(pl.col("_offset").min()).iter_rows())
    time_of_first = refused["_time"].min()
    parts: list[BooleanExpression] = [
        And(equal(PARTITION, partition), GreaterThanOrEqual(OFFSET, offset))  # pyright: ignore[reportCallIssue]
        for partition, offset in sorted(first.items())
    ]
    by_time = AlwaysTrue() if time_of_first is None else GreaterThanOrEqual(COLUMNS[-1], time_of_first.isoformat())  # type: ignore[union-attr]
    return reduce(Or, parts, by_time)


def _order(suffix: str) -> list[pl.Expr]:
    return [pl.col(f"{name}{suffix}") for name in ORDER]


def _came_later(late: str) -> pl.Expr:
    """Whether a change has come after a refused one in its partition."""
    return (pl.col(f"_partition{late}") == pl.col("_partition")) & (pl.col(f"_offset{late}") > pl.col("_offset"))


def _newer(late: str) -> pl.Expr:
    """Whether a change is newer than a refused one; nothing is said of it where only a clock could."""
    return less(_order(""), _order(late)) & (pl.col("_known_position") | _came_later(late))


def _may_follow() -> pl.Expr:
    """Whether a change of key is not surely older than a refused one."""
    by_place = _after("_right", "", together=True)
    return pl.when("_known_position").then(~less(_order("_right"), _order(""))).otherwise(by_place)


def _after(late: str, early: str, *, together: bool = False) -> pl.Expr:
    """Whether one place comes after another, by the ends of their columns' names."""
    same = pl.col(f"_partition{late}") == pl.col(f"_partition{early}")
    time_of_late, time_of_early = pl.col(f"_time{late}"), pl.col(f"_time{early}")
    by_time = time_of_late >= time_of_early if together else time_of_late > time_of_early
    return pl.when(same).then(pl.col(f"_offset{late}") > pl.col(f"_offset{early}")).otherwise(by_time)
