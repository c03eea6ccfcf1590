"""What changes of key left out, found a second time: by playing what happened to the keys, in the order of positions.

The step goes back from a change of key to who said a value last. This goes forward: of each key that a row had, it
keeps what the key holds, change by change; when the row moves on, that is what its new key takes along. Only the
changes of such keys are kept in memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

import polars as pl

from lakehouse.steps.cdc.position import ChangePosition
from lakehouse.steps.cdc.replay.column_versions import ORDER

COORDINATES = ("_topic", "_partition", "_offset")
OTHER = "_other_"
"""Before the name of a key's column: the key that a row had before."""
_GONE = ("delete", "tombstone")
_IMAGES = ("insert", "update", "read")

Key = tuple[Any, ...]


class _ColumnSource(NamedTuple):
    """What a column holds: the row of the kept changes that says it, none after a delete; and whether that is new."""

    row: int | None
    new: bool


@dataclass
class _Play:
    """What keys hold, as far as was played."""

    changes: list[dict[str, Any]]
    moves: dict[tuple[Any, ...], Key]
    names: Sequence[str]
    key: Sequence[str]
    soft: bool
    truncates: list[tuple[ChangePosition, bool]]
    sources: dict[Key, dict[str, _ColumnSource]] = field(default_factory=dict[Key, dict[str, _ColumnSource]])
    counted: set[int] = field(default_factory=set[int])

    def run(self) -> dict[int, dict[str, _ColumnSource]]:
        """Row of each change of key → what its columns take along; those of which nobody said anything are absent."""
        carried: dict[int, dict[str, _ColumnSource]] = {}
        order = sorted(range(len(self.changes)), key=lambda row: (_position(self.changes[row]), self._rank(row)))
        truncates = sorted(self.truncates, reverse=True)
        for position, group in groupby(order, key=lambda row: _position(self.changes[row])):
            while truncates and truncates[-1][0] <= position:
                self._wipe(new=truncates.pop()[1])
            rows = list(group)
            # Everything that moves at one position does so before anything changes there.
            carried |= {row: self._carried(row) for row in rows if self._coordinates(row) in self.moves}
            for _, same in groupby(sorted(rows, key=self._of_key), key=self._of_key):
                self._apply(list(same), carried)
        return carried

    def _wipe(self, *, new: bool) -> None:
        """Soft deletes, and truncates where they are soft, do not touch a row's values."""
        for key in () if self.soft else self.sources:
            self.sources[key] = dict.fromkeys(self.names, _ColumnSource(None, new))

    def _rank(self, row: int) -> tuple[Any, ...]:
        change = self.changes[row]
        return change["_stored"], *(change[name] for name in COORDINATES)

    def _coordinates(self, row: int) -> tuple[Any, ...]:
        return tuple(self.changes[row][name] for name in COORDINATES)

    def _key(self, row: int) -> Key:
        return tuple(self.changes[row][name] for name in self.key)

    def _of_key(self, row: int) -> str:
        return repr(self._key(row))

    def _carried(self, row: int) -> dict[str, _ColumnSource]:
        left = self.changes[row]["_unavailable"]
        sources = self.sources.get(self.moves[self._coordinates(row)], {})
        new = self.changes[row]["_new"]
        return {name: _ColumnSource(sources[name].row, sources[name].new or new) for name in left if name in sources}

    def _apply(self, rows: list[int], carried: dict[int, dict[str, _ColumnSource]]) -> None:
        """Changes of one key at one position: the first counts, and what is stored may know what it left out."""
        first = rows[0]
        self.counted.add(first)
        change, new = self.changes[first], self.changes[first]["_new"]
        if change["_operation"] in _GONE:
            if not self.soft:
                self.sources[self._key(first)] = dict.fromkeys(self.names, _ColumnSource(None, new))
            return
        own = self.sources.setdefault(self._key(first), {})
        stored = next((row for row in rows if self.changes[row]["_stored"]), None)
        for name in self.names:
            if name not in (change["_unavailable"] or ()):
                own[name] = _ColumnSource(first, new)
            elif first in carried:
                own.pop(name, None)
                if name in carried[first]:
                    own[name] = carried[first][name]
                elif stored is not None and name not in (self.changes[stored]["_unavailable"] or ()):
                    own[name] = _ColumnSource(stored, new=False)


class LeftOut:
    """Completes changes of key."""

    def __init__(self, key: Sequence[str], moves: pl.DataFrame) -> None:
        """Begin with the changes of key, all that there are up to the sealed end.

        Args:
            key: the key's columns.
            moves: as `lakehouse.steps.cdc.replay.changes.read_moves` gives them.
        """
        self._key, self._moves = list(key), moves
        self.names = sorted(set(moves["_unavailable"].explode(empty_as_null=False).drop_nulls().to_list()))
        self._kept: list[pl.DataFrame] = []
        self._truncates: list[tuple[ChangePosition, bool]] = []
        self._completions = pl.DataFrame()
        self._values = pl.DataFrame()

    def keep(self, piece: pl.DataFrame, *, stored: bool, new: pl.Expr) -> None:
        """Take changes as `lakehouse.steps.cdc.replay.changes` gives them, and keep those of keys that rows had before.

        Args:
            piece: changes.
            stored: whether they stand for what a mirror had stored.
            new: whether a change came after that, as `_new`.
        """
        truncates = piece.filter(pl.col("_operation") == "truncate").select(*ORDER, new.alias("_new"))
        self._truncates += [(ChangePosition(*row[:3]), row[3]) for row in truncates.iter_rows()]
        others = self._moves.select(pl.col(f"{OTHER}{name}").alias(name) for name in self._key)
        keys = pl.concat([others, self._moves.select(self._key)]).unique()
        rows = piece.filter(pl.col("_operation").is_in((*_IMAGES, *_GONE)) & pl.col("_epoch").is_not_null())
        rows = rows.join(keys, on=self._key, how="semi", nulls_equal=True)
        values = pl.struct(pl.col("_after").struct.field(name) for name in self.names)
        self._kept.append(rows.with_columns(values.alias("_after"), pl.lit(stored).alias("_stored"), new.alias("_new")))

    def play(self, *, soft: bool, truncated: ChangePosition | None) -> None:
        """Find what was left out."""
        kept = pl.concat(self._kept)
        others = self._moves.select(*COORDINATES, *(f"{OTHER}{name}" for name in self._key)).iter_rows()
        moves = {row[: len(COORDINATES)]: row[len(COORDINATES) :] for row in others}
        changes = list(kept.drop("_after", "_time").iter_rows(named=True))
        truncates = [*self._truncates, *([(truncated, False)] if truncated else [])]
        played = _Play(changes, moves, self.names, self._key, soft, truncates)
        carried = played.run()
        self._values = kept["_after"].struct.unnest()
        completions = kept.select(*self._key, *ORDER, *COORDINATES, "_unavailable")[list(carried)]
        for name in self.names:
            sources = [columns.get(name, _ColumnSource(None, new=False)) for columns in carried.values()]
            completions = completions.with_columns(
                pl.col("_unavailable").list.contains(name).alias(f"_left_{name}"),
                pl.Series(f"_row_{name}", [source.row for source in sources], pl.Int64),
                # Another change that came first at the same position is what a mirror has stored.
                pl.Series(
                    f"_new_{name}",
                    [source.new and row in played.counted for row, source in zip(carried, sources, strict=True)],
                    pl.Boolean,
                ),
            )
        self._completions = completions

    def complete(self, piece: pl.DataFrame) -> pl.DataFrame:
        """Changes, in which changes of key have what they left out."""
        joined = self._put(piece, self._completions, COORDINATES, new=False)
        completed = pl.any_horizontal(f"_left_{name}" for name in self.names).fill_null(value=False)
        return joined.with_columns(pl.when(~completed).then("_unavailable").alias("_unavailable")).select(piece.columns)

    def correct(self, piece: pl.DataFrame) -> pl.DataFrame:
        """What a mirror had stored, with what is known by now of that which changes of key had left out."""
        where = [*self._key, *ORDER]
        completions = self._completions.sort(COORDINATES).unique(where, keep="first", maintain_order=True)
        return self._put(piece, completions, where, new=True).select(piece.columns)

    def _put(self, piece: pl.DataFrame, completions: pl.DataFrame, where: Sequence[str], *, new: bool) -> pl.DataFrame:
        columns = [f"_{part}_{name}" for name in self.names for part in ("left", "row", "new")]
        joined = piece.join(
            completions.select(*where, *columns), on=list(where), how="left", nulls_equal=True, maintain_order="left"
        )
        values = [self._values[name].gather(joined[f"_row_{name}"]).alias(f"_value_{name}") for name in self.names]
        joined = joined.with_columns(values)
        kind = piece.schema["_after"]
        assert isinstance(kind, pl.Struct)
        image = pl.struct(self._value(image_field.name, new=new).alias(image_field.name) for image_field in kind.fields)
        return joined.with_columns(pl.when(pl.col("_after").is_not_null()).then(image).alias("_after"))

    def _value(self, name: str, *, new: bool) -> pl.Expr:
        own = pl.col("_after").struct.field(name)
        if name not in self.names:
            return own
        left = pl.col(f"_left_{name}").fill_null(value=False)
        if new:
            left &= pl.col(f"_new_{name}") & ~pl.col("_unavailable").list.contains(name).fill_null(value=False)
        return pl.when(left).then(pl.col(f"_value_{name}")).otherwise(own)


def with_earlier(chosen: pl.DataFrame, moves: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Some changes of key, and all that brought their rows to the keys before.

    Args:
        chosen: some of them.
        moves: all that there are.
        key: the key's columns.
    """
    while True:
        others = chosen.select(pl.col(f"{OTHER}{name}").alias(name) for name in key)
        earlier = moves.join(others, on=list(key), how="semi", nulls_equal=True)
        more = pl.concat([chosen, earlier]).unique(COORDINATES, keep="first", maintain_order=True)
        if more.height == chosen.height:
            return chosen
        chosen = more


def _position(change: dict[str, Any]) -> ChangePosition:
    return ChangePosition(*(change[name] for name in ORDER))
