"""A changelog's rows, and those of an initial copy, in the shape that the fold takes."""

from collections.abc import Iterator, Mapping

import polars as pl
from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.table import Table

from lakehouse.steps.cdc.late_columns import BOOLEAN, FLOATING, INTEGER
from lakehouse.steps.cdc.replay.key_change_replay import OTHER
from lakehouse.steps.cdc.replay.late_values import late_texts
from lakehouse.steps.cdc.replay.piecewise import equal, frames

_NEEDED = (
    "operation",
    "key",
    "after",
    "unavailable",
    "extra",
    "position",
    "source_time",
    "_kafka_topic",
    "_kafka_partition",
    "_kafka_offset",
)
_FORMS: Mapping[pl.DataType, str] = {
    pl.Boolean(): BOOLEAN,
    pl.Int32(): INTEGER,
    pl.Int64(): INTEGER,
    pl.Float32(): FLOATING,
    pl.Float64(): FLOATING,
}
Types = Mapping[str, pl.DataType]


def column_types(table: Table) -> dict[str, pl.DataType]:
    """Column → its type in polars, as the table has it now."""
    empty = schema_to_pyarrow(table.schema(), include_field_ids=False).empty_table()
    frame = pl.from_arrow(empty)
    assert isinstance(frame, pl.DataFrame)
    return dict(frame.schema)


def read_changes(
    changelog: Table,
    snapshot_id: int | None,
    key: Types,
    columns: Types,
    where: BooleanExpression | None = None,
    aliases: Mapping[str, str] | None = None,
) -> Iterator[pl.DataFrame]:
    """Changes, piece by piece: the key's columns under their names, all else under names with an underscore.

    Args:
        changelog: a loaded changelog.
        snapshot_id: which snapshot of it.
        key: the key's columns as the mirror types them; a type that was widened later is cast, to compare and to hash.
        columns: the source's columns as the mirror types them; none: images as the changelog has them.
        where: rows to keep.
        aliases: column → what messages call it, where that is not its name.
    """
    later = {name: kind for name, kind in columns.items() if (kind == pl.String or kind in _FORMS) and name not in key}
    for frame in frames(changelog, snapshot_id, _NEEDED, where):
        yield frame.select(
            *(pl.col("key").struct.field(name).cast(kind) for name, kind in key.items()),
            pl.col("operation").alias("_operation"),
            *(pl.col("position").struct.field(part).alias(f"_{part}") for part in ("epoch", "commit", "sequence")),
            pl.col("source_time").alias("_time"),
            pl.col("_kafka_topic").alias("_topic"),
            pl.col("_kafka_partition").cast(pl.Int64).alias("_partition"),
            pl.col("_kafka_offset").alias("_offset"),
            pl.col("unavailable").alias("_unavailable"),
            _image(frame, columns, later, aliases or {}).alias("_after"),
        )


def read_moves(
    changelog: Table, snapshot_id: int | None, key: Types, where: BooleanExpression | None = None
) -> pl.DataFrame:
    """Changes of key that left values out: their keys, the keys before (`OTHER`), coordinates, `_unavailable`.

    Args:
        changelog: a loaded changelog.
        snapshot_id: which snapshot of it.
        key: the key's columns as the mirror types them.
        where: rows to keep.
    """
    inserts = And(where or AlwaysTrue(), equal("operation", "insert"))
    needed = [name for name in _NEEDED if name not in ("after", "extra", "source_time")]
    pieces: list[pl.DataFrame] = []
    for frame in frames(changelog, snapshot_id, [*needed, "other_key"], inserts):
        moved = frame.filter(pl.col("other_key").is_not_null() & (pl.col("unavailable").list.len() > 0))
        pieces.append(
            moved.select(
                *(pl.col("key").struct.field(name).cast(kind) for name, kind in key.items()),
                *(
                    pl.col("other_key").struct.field(name).cast(kind).alias(f"{OTHER}{name}")
                    for name, kind in key.items()
                ),
                pl.col("_kafka_topic").alias("_topic"),
                pl.col("_kafka_partition").cast(pl.Int64).alias("_partition"),
                pl.col("_kafka_offset").alias("_offset"),
                pl.col("unavailable").alias("_unavailable"),
            )
        )
    return pl.concat(pieces) if pieces else pl.DataFrame()


def _image(frame: pl.DataFrame, columns: Types, later: Types, aliases: Mapping[str, str]) -> pl.Expr:
    """The image, with what it said of columns that were declared later: until then that was kept as JSON."""
    if not columns:
        return pl.col("after")
    image = frame.schema["after"]
    assert isinstance(image, pl.Struct)
    stored = {field.name for field in image.fields}
    has_extra = frame["extra"].null_count() < frame.height
    sources = {name: aliases.get(name, name) for name in later}
    texts = late_texts(frame["extra"], list(sources.values())) if has_extra else {}
    values: list[pl.Expr] = []
    for name, kind in columns.items():
        value = pl.col("after").struct.field(name) if name in stored else pl.lit(None)
        value = value.cast(kind)
        late = pl.lit(_read(texts[sources[name]], kind)) if name in sources and texts else None
        values.append((value if late is None else pl.coalesce(value, late)).alias(name))
    return pl.struct(values)


def _read(texts: pl.Series, kind: pl.DataType) -> pl.Series:
    """What the texts say, or null where they have not the form of the type."""
    if kind == pl.String:
        return texts
    formed = texts.set(~texts.str.contains(_FORMS[kind]), None)
    return formed == "true" if kind == pl.Boolean else formed.cast(kind, strict=False)


def read_initial(initial: Table, snapshot_id: int, key: Types, columns: Types) -> Iterator[pl.DataFrame]:
    """Rows of an initial copy as reads at position 0/0/0, older than every change.

    Args:
        initial: a loaded table.
        snapshot_id: which snapshot of it.
        key: the key's columns as the mirror types them.
        columns: the source's columns, likewise; those that the copy lacks are null.
    """
    stored = [name for name in columns if name in initial.schema().column_names]
    for frame in frames(initial, snapshot_id, stored):
        full = [
            (pl.col(name) if name in stored else pl.lit(None)).cast(kind).alias(name) for name, kind in columns.items()
        ]
        yield frame.select(
            *(pl.col(name).cast(kind) for name, kind in key.items()),
            pl.lit("read").alias("_operation"),
            *(pl.lit(0, pl.Int64).alias(name) for name in ("_epoch", "_commit", "_sequence")),
            pl.lit(None, pl.Datetime("us", "UTC")).alias("_time"),
            pl.lit("").alias("_topic"),
            pl.lit(-1, pl.Int64).alias("_partition"),
            pl.lit(-1, pl.Int64).alias("_offset"),
            pl.lit(None, pl.List(pl.String)).alias("_unavailable"),
            pl.struct(full).alias("_after"),
        )
