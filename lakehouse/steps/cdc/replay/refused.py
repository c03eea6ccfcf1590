"""Which changes a build of a mirror has refused: by their place in Kafka, and their position in the source.

The place alone does not tell. Where a topic was made anew, offsets begin at 0 again, and a good change of the new log
lies where the old one had a refused one; the source's positions go on.
"""

from collections.abc import Mapping

import polars as pl

from lakehouse.protocol.seals.read_group import Pinned
from lakehouse.steps.cdc.replay.piecewise import equal, frames

PLACE = ("_topic", "_partition", "_offset")
POSITION = ("_epoch", "_commit", "_sequence")
_COLUMNS = {"topic": pl.String(), "partition": pl.Int64(), "offset": pl.Int64()}
_SCHEMA: Mapping[str, pl.DataType] = {
    **dict(zip(PLACE, _COLUMNS.values(), strict=True)),
    **dict.fromkeys(POSITION, pl.Int64()),
    "_reason": pl.String(),
}


def refused_changes(quarantine: Pinned, build: str) -> pl.DataFrame:
    """Place and position of the changes that a build of a mirror refused, and why."""
    columns = (*_COLUMNS, "position", "reason", "build")
    pieces = [
        piece.select(
            *(pl.col(name).cast(kind).alias(f"_{name}") for name, kind in _COLUMNS.items()),
            *(pl.col("position").struct.field(part[1:]).cast(pl.Int64()).alias(part) for part in POSITION),
            pl.col("reason").cast(pl.String()).alias("_reason"),
        )
        for piece in frames(quarantine.table, quarantine.snapshot_id, columns, equal("build", build))
    ]
    return pl.concat([pl.DataFrame(schema=_SCHEMA), *pieces]).unique([*PLACE, *POSITION])


def with_reasons(changes: pl.DataFrame, refused: pl.DataFrame) -> pl.DataFrame:
    """Changes with `_reason`, why they were refused; null: they were not.

    A change without a position goes by its place: the fold gave it that of the change before it.

    Args:
        changes: with the columns of place and position.
        refused: as `refused_changes` gives them.
    """
    at_place = refused.group_by(PLACE).agg(pl.col("_reason").first().alias("_at_place"))
    judged = changes.join(refused, on=[*PLACE, *POSITION], how="left", nulls_equal=True, maintain_order="left")
    judged = judged.join(at_place, on=list(PLACE), how="left", nulls_equal=True, maintain_order="left")
    has_none = pl.col("_epoch").is_null()
    return judged.with_columns(_reason=pl.when(has_none).then("_at_place").otherwise("_reason")).drop("_at_place")


def without_refused(changes: pl.DataFrame, refused: pl.DataFrame) -> pl.DataFrame:
    """The changes that were not refused."""
    return with_reasons(changes, refused).filter(pl.col("_reason").is_null()).drop("_reason")
