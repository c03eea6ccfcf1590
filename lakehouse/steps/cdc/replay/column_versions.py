"""What a row remembers of values that are older than itself: `_cdc_behind`, made and compared with polars."""

from collections.abc import Sequence

import polars as pl

from lakehouse.declarations.mirror import BEHIND_COLUMN

ORDER = ("_epoch", "_commit", "_sequence")
_POSITION = pl.Struct({"epoch": pl.Int64, "commit": pl.Int64, "sequence": pl.Int64})
BEHIND_TYPE = pl.List(pl.Struct({"key": pl.String, "value": _POSITION}))


def less(left: Sequence[pl.Expr], right: Sequence[pl.Expr]) -> pl.Expr:
    """Whether one position (three parts) is older than another."""
    (a, b, c), (x, y, z) = left, right
    return (a < x) | ((a == x) & ((b < y) | ((b == y) & (c < z))))


def behind_of(rows: pl.DataFrame, register: pl.DataFrame, column: str) -> pl.Series:
    """Entries of `_cdc_behind` for one column: its position where that is older than its row's."""
    own = [register[name].fill_null(-1).alias(f"_of{name}") for name in ORDER]  # older than all where nobody said it
    both = rows.select(ORDER).with_columns(own)
    older = less([pl.col(f"_of{name}") for name in ORDER], [pl.col(name) for name in ORDER])
    position = pl.struct(epoch="_of_epoch", commit="_of_commit", sequence="_of_sequence")
    return both.select(pl.when(older).then(pl.struct(key=pl.lit(column), value=position))).to_series()


def together(entries: Sequence[pl.Series], height: int) -> pl.Series:
    """Entries of all columns as `_cdc_behind`: null where nothing is behind."""
    if not entries:
        return pl.Series([None], dtype=BEHIND_TYPE).new_from_index(0, height)
    named = [series.alias(str(number)) for number, series in enumerate(entries)]
    lists = pl.DataFrame(named).select(pl.concat_list(pl.all()).list.drop_nulls()).to_series()
    return lists.to_frame("b").select(pl.when(pl.col("b").list.len() > 0).then(pl.col("b"))).to_series()


def canonical(rows: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Rows with `_cdc_behind` in one form, to be compared: ordered, null where empty, without positions of nulls.

    Of a column that is null because its row was deleted or truncated before, a mirror may have forgotten when.
    """
    name = BEHIND_COLUMN.name
    numbered = rows.with_columns(pl.col(name).cast(BEHIND_TYPE)).with_row_index("_at")
    entries = numbered.filter(pl.col(name).list.len() > 0).explode(name, empty_as_null=False)
    if entries.is_empty():
        return rows.with_columns(pl.lit(None, BEHIND_TYPE).alias(name))
    column, position = pl.col(name).struct.field("key"), pl.col(name).struct.field("value")
    empty = pl.any_horizontal((column == source_column) & pl.col(source_column).is_null() for source_column in columns)
    entries = entries.select("_at", _column=column, _position=pl.when(~empty).then(position))
    entry = pl.struct(key="_column", value="_position")
    lists = entries.sort("_at", "_column").group_by("_at", maintain_order=True).agg(entry.alias(name))
    return numbered.drop(name).join(lists, on="_at", how="left", maintain_order="left").drop("_at")
