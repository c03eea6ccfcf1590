"""Which refused changes still leave a row stale: until a good change of its key, and along every change of its key.

A change of key may leave out values that the source does not send again: the new key then holds what the old one held.
So where a refused change came before it, the row is as stale at its new key as it was at its old one.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import polars as pl

from lakehouse.proofs.audit.coordinates import OFFSET, PARTITION
from lakehouse.steps.cdc.replay.changes import Types

KEY = "_key_"
"""Before the names of a key's columns, out of the way of all others."""
COLUMNS = ("operation", "key", "other_key", "unavailable", PARTITION, OFFSET, "_kafka_timestamp")
"""What has to be read of a changelog."""
_OTHER = "_other_"
# A snapshot read is older than every logged change, so it does not say how the row is now.
_HEALING = ("insert", "update", "delete", "tombstone")
_IMAGES = ("insert", "update")
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
            refused: `_row`, the key's columns, `_partition`, `_offset` and `_time`.
            changes: as `changes` gives them.

        Returns:
            `_row`, and the key that is stale now.
        """
        whole = changes.filter(~pl.col("_left_out"))
        doubts = self.along(refused.select("_row", *self.key, *_PLACE), changes).with_row_index("_doubt")
        good = whole.filter(pl.col("_operation").is_in(_HEALING)).select(*self.key, *_PLACE)
        truncates = whole.filter(pl.col("_operation") == "truncate").select(*_PLACE)
        healed = [doubts.join(good, on=self.key, nulls_equal=True), doubts.join(truncates, how="cross")]
        done = pl.concat([later(pairs)["_doubt"] for pairs in healed])
        return doubts.filter(~pl.col("_doubt").is_in(done.implode())).select("_row", *self.key).unique()

    @property
    def _nothing(self) -> pl.DataFrame:
        kinds = {f"{before}{name}": kind for before in (KEY, _OTHER) for name, kind in self.types.items()}
        return pl.DataFrame(schema={**kinds, "_operation": pl.String(), "_left_out": pl.Boolean(), **_PLACE})

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
        moves = self._moves(changes).rename(new).select(*self._other, *new.values(), *_PLACE)
        images = changes.filter(pl.col("_operation").is_in(_IMAGES) & ~pl.col("_left_out"))
        between = images.select(*self.key, *(pl.col(name).alias(f"{name}_between") for name in _PLACE))
        doubts = newest = refused
        while not newest.is_empty() and not moves.is_empty():
            pairs = newest.join(moves, left_on=self.key, right_on=self._other, nulls_equal=True)
            # In doubt rather than not, where only a clock could say what came first.
            pairs = pairs.filter(_after("_right", "", together=True)).with_row_index("_pair")
            mended = pairs.join(between, on=self.key, nulls_equal=True)
            mended = mended.filter(_after("_between", "") & _after("_right", "_between"))["_pair"]
            moved = pairs.filter(~pl.col("_pair").is_in(mended.implode())).select(
                "_row", *(pl.col(f"{name}_right").alias(name) for name in (*self.key, *_PLACE))
            )
            newest = moved.unique().join(doubts, on=doubts.columns, how="anti", nulls_equal=True)
            doubts = pl.concat([doubts, newest])
        return doubts


def later(pairs: pl.DataFrame) -> pl.DataFrame:
    """Refused changes that another came after: in the same partition by offset, in another by Kafka's time."""
    return pairs.filter(_after("_right", ""))


def _after(late: str, early: str, *, together: bool = False) -> pl.Expr:
    """Whether one place comes after another, by the ends of their columns' names."""
    same = pl.col(f"_partition{late}") == pl.col(f"_partition{early}")
    time_of_late, time_of_early = pl.col(f"_time{late}"), pl.col(f"_time{early}")
    by_time = time_of_late >= time_of_early if together else time_of_late > time_of_early
    return pl.when(same).then(pl.col(f"_offset{late}") > pl.col(f"_offset{early}")).otherwise(by_time)
