"""Checkpoints: proven states of a mirror, from which the fold can be checked when older changes are gone.

A checkpoint is a tag `lakehouse_checkpoint_<attempt>` on mirror, tombstones and quarantine, set in one commit, and only
after every key was compared with its changelog. What the changelog said before it is in the rows: with their positions,
they are changes themselves.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars as pl
from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.update import AssertTableUUID

from lakehouse.declarations.mirror import BEHIND_COLUMN, DELETED_COLUMN, POSITION_COLUMN, TIME_COLUMN
from lakehouse.iceberg.names import table_name
from lakehouse.protocol.catalog import LakeCatalog, TableChange, ref_is, set_tag
from lakehouse.protocol.seals.history import ancestry, head_of, is_rewrite, seals
from lakehouse.steps.cdc.evidence import Evidence
from lakehouse.steps.cdc.replay.changes import Types
from lakehouse.steps.cdc.replay.piecewise import frames
from lakehouse.steps.cdc.replay.replay import STORED
from lakehouse.steps.cdc.statement import MirrorStatement

CHECKPOINT_PREFIX = "lakehouse_checkpoint_"
_PARTS = ("epoch", "commit", "sequence")


@dataclass(frozen=True)
class Checkpoint:
    """A proven state.

    Args:
        tag: its name on all three tables.
        statement: of the seal that was proven.
        snapshots: mirror, tombstones and quarantine → the tagged snapshot.
        timestamp_ms: when that seal was committed.
    """

    tag: str
    statement: MirrorStatement
    snapshots: Mapping[str, int]
    timestamp_ms: int


def checkpoints(seen: Evidence) -> list[Checkpoint]:
    """Checkpoints that are whole, newest first.

    One that was put on a snapshot from outside the protocol, or whose seal differs between the tables, is none.
    """
    tables = (seen.mirror.table, seen.tombstones.table, seen.quarantine.table)
    found: list[Checkpoint] = []
    for tag, ref in seen.mirror.table.metadata.refs.items():
        if not tag.startswith(CHECKPOINT_PREFIX) or ref.snapshot_ref_type != SnapshotRefType.TAG:
            continue
        told = [_sealed_at(table, head_of(table, tag)) for table in tables]
        first = told[0]
        if first is None or any(other is None or other[0] != first[0] for other in told):
            continue
        snapshots = {table_name(table): head_of(table, tag) or 0 for table in tables}
        found.append(Checkpoint(tag, first[0], snapshots, first[1]))
    return sorted(found, key=lambda checkpoint: checkpoint.timestamp_ms, reverse=True)


def newest_checkpoint(seen: Evidence) -> Checkpoint | None:
    """The newest checkpoint of the present build, at or before the newest seal."""
    if seen.newest is None:
        return None
    now = seen.newest.statement
    for checkpoint in checkpoints(seen):
        then = checkpoint.statement
        # What was reprocessed since is older than the checkpoint by its offsets, and not in it.
        same = (then.build, then.changelog_uuid, then.reprocessed) == (now.build, now.changelog_uuid, now.reprocessed)
        if same and all(then.kafka_end.get(p, 0) <= end for p, end in now.kafka_end.items()):
            return checkpoint
    return None


def set_tags(catalog: LakeCatalog, seen: Evidence) -> Checkpoint:
    """Tag the three tables where they were loaded, in one commit; the caller has proven them.

    Raises:
        CommitFailedException: a table was replaced, or the checkpoint is there already and names something else.
    """
    assert seen.newest is not None
    tag = f"{CHECKPOINT_PREFIX}{seen.newest.sealed.seal.attempt}"
    pinned = {table_name(held.table): held for held in (seen.mirror, seen.tombstones, seen.quarantine)}
    snapshots = {name: held.snapshot_id for name, held in pinned.items() if held.snapshot_id is not None}
    already = {name: head_of(held.table, tag) for name, held in pinned.items()}
    if already != snapshots:
        catalog.commit_tables(
            [
                TableChange(
                    held.table.name(),
                    (AssertTableUUID(uuid=held.table.metadata.table_uuid), ref_is(tag, already[name])),
                    (set_tag(tag, snapshots[name]),),
                )
                for name, held in pinned.items()
            ]
        )
    return Checkpoint(tag, seen.newest.statement, snapshots, seen.newest.sealed.timestamp_ms)


def stored_changes(checkpoint: Checkpoint, seen: Evidence, key: Types, columns: Types) -> Iterator[pl.DataFrame]:
    """A checkpoint's rows and tombstones as the changes that would have made them.

    Args:
        checkpoint: which.
        seen: the tables.
        key: the key's columns as the mirror types them.
        columns: all of the source's columns, likewise.
    """
    names = [name for name in columns if name not in key]
    soft = [DELETED_COLUMN.name] if DELETED_COLUMN.name in seen.mirror.table.schema().column_names else []
    remembered = [POSITION_COLUMN.name, TIME_COLUMN.name, BEHIND_COLUMN.name, *soft]
    mirror = seen.mirror.table
    for rows in frames(mirror, checkpoint.snapshots[table_name(mirror)], [*columns, *remembered]):
        gone = pl.col(DELETED_COLUMN.name) if soft else pl.lit(False)
        shaped = rows.with_columns(
            _operation=pl.when(gone).then(pl.lit("delete")).otherwise(pl.lit("update")),
            _unavailable=pl.col(BEHIND_COLUMN.name).list.eval(pl.element().struct.field("key")),
        )
        yield _changes(shaped, key, columns, pl.col(POSITION_COLUMN.name))
        yield from _behind(rows, key, columns, names)
    ledger = seen.tombstones.table
    snapshot = checkpoint.snapshots[table_name(ledger)]
    for rows in frames(ledger, snapshot, [*key, POSITION_COLUMN.name, TIME_COLUMN.name]):
        absent = [pl.lit(None, kind).alias(name) for name, kind in columns.items() if name not in key]
        shaped = rows.with_columns(*absent, _operation=pl.lit("delete"), _unavailable=pl.lit(None, pl.List(pl.String)))
        yield _changes(shaped, key, columns, pl.col(POSITION_COLUMN.name))


def _behind(rows: pl.DataFrame, key: Types, columns: Types, names: list[str]) -> Iterator[pl.DataFrame]:
    """For values older than their row one change each: all columns of one position together."""
    name = BEHIND_COLUMN.name
    entries = rows.with_row_index("_row").filter(pl.col(name).list.len() > 0).explode(name, empty_as_null=False)
    column, position = pl.col(name).struct.field("key"), pl.col(name).struct.field("value")
    said = entries.with_columns(_column=column, _at=position).filter(pl.col("_at").struct.field("epoch") >= 0)
    if said.is_empty():
        return
    together = said.group_by("_row", "_at", maintain_order=True).agg(
        *(pl.col(each).first() for each in (*columns, TIME_COLUMN.name)), _sent="_column"
    )
    shaped = together.with_columns(
        _operation=pl.lit("update"), _unavailable=pl.lit(names, pl.List(pl.String)).list.set_difference("_sent")
    )
    yield _changes(shaped, key, columns, pl.col("_at"))


def _changes(rows: pl.DataFrame, key: Types, columns: Types, position: pl.Expr) -> pl.DataFrame:
    return rows.select(
        *(pl.col(name).cast(kind) for name, kind in key.items()),
        pl.col("_operation"),
        *(position.struct.field(part).alias(f"_{part}") for part in _PARTS),
        pl.col(TIME_COLUMN.name).alias("_time"),
        pl.lit("").alias("_topic"),
        pl.lit(STORED, pl.Int64).alias("_partition"),
        pl.lit(-1, pl.Int64).alias("_offset"),
        pl.col("_unavailable"),
        pl.struct(pl.col(name).cast(kind) for name, kind in columns.items()).alias("_after"),
    )


def _sealed_at(table: Table, snapshot_id: int | None) -> tuple[MirrorStatement, int] | None:
    """What is sealed at a snapshot, if only rewrites and maintenance lie between."""
    newest = next(seals(table, snapshot_id), None)
    for snapshot in ancestry(table, snapshot_id):
        if newest is None or snapshot.snapshot_id == newest.snapshot_id:
            break
        if not is_rewrite(snapshot):
            return None
    statement = MirrorStatement.from_keys(newest.seal.statement) if newest else None
    return (statement, newest.timestamp_ms) if newest and statement else None
