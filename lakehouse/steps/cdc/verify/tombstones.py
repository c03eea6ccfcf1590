"""The ledger of deleted keys, against the fold: what must be in it, and what cannot be."""

from collections.abc import Iterator, Sequence

import polars as pl

from lakehouse.declarations import MirrorTables
from lakehouse.declarations.mirror import POSITION_COLUMN
from lakehouse.proofs.audit import Finding
from lakehouse.steps.cdc.replay.column_versions import less
from lakehouse.steps.cdc.replay.replay import ReplayedMirror
from lakehouse.steps.cdc.verify.compare import RowComparison, coordinates_of, named

_PLACE = POSITION_COLUMN.name
_PARTS = ("epoch", "commit", "sequence")


def judge_ledger(
    tables: MirrorTables, folded: ReplayedMirror, ledger: Sequence[pl.DataFrame], *, low_watermark_us: int
) -> Iterator[Finding]:
    """Say which tombstones are of no delete, and which are missing that no watermark has let go.

    Args:
        tables: the mirror as declared.
        folded: what the mirror should hold.
        ledger: key and position of the tombstones, of the same keys.
        low_watermark_us: deletes older than it may be forgotten.
    """
    key = list(tables.changelog.key)
    no_tombstones = folded.deletes.select(*key, _PLACE).clear()
    newest = _newest(pl.concat(ledger), key) if ledger else no_tombstones
    heads = pl.concat([folded.rows.select(*key, _PLACE), folded.deletes.select(*key, _PLACE)])
    both = newest.join(heads, on=key, how="left", suffix="_head", nulls_equal=True)
    beyond = both.filter(_newer_than_all(folded))
    if beyond.height:
        yield _finding(tables, beyond, "are of no delete that the changelog knows")
    if tables.mirror.deletes == "soft":
        return
    low = pl.lit(low_watermark_us).cast(pl.Datetime("us", "UTC"))
    due = folded.deletes.filter(pl.col("_time") >= low)
    joined = due.join(newest, on=key, how="left", suffix="_held", nulls_equal=True)
    lacking = joined.filter(pl.col(_PLACE).ne_missing(pl.col(f"{_PLACE}_held")))
    if lacking.height:
        yield _finding(tables, lacking, "are missing or older, so a late change could bring those rows back")


def _newest(ledger: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    order = [pl.col(_PLACE).struct.field(part) for part in _PARTS]
    return ledger.sort(order, descending=True).unique(key, keep="first", maintain_order=True)


def _newer_than_all(folded: ReplayedMirror) -> pl.Expr:
    """Whether a tombstone is newer than anything that is known of its key."""
    unknown = folded.truncated or (-1, -1, -1)
    of_key = [
        pl.col(f"{_PLACE}_head").struct.field(part).fill_null(least)
        for part, least in zip(_PARTS, unknown, strict=True)
    ]
    return less(of_key, [pl.col(_PLACE).struct.field(part) for part in _PARTS])


def _finding(tables: MirrorTables, rows: pl.DataFrame, problem: str) -> Finding:
    key = tables.changelog.key
    comparison = RowComparison(key, (), {column.name for column in tables.changelog.key_columns if column.sensitive})
    shown = "; ".join(
        named(comparison.key_shown(row), coordinates_of(row)) for row in rows.head(5).iter_rows(named=True)
    )
    name = tables.tombstones_table.name
    return Finding("tombstones_differ", f"{name}: {rows.height:,} tombstones {problem}: {shown}.", name)
