"""Checkpoints: proven states of a mirror, from which the fold can be checked when older changes are gone.

A checkpoint is a tag `lakehouse_checkpoint_<attempt>` on mirror, tombstones and quarantine, set in one commit, and only
after every key was compared with its changelog. What the changelog said before it is in the rows: with their positions,
they are changes themselves.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import polars as pl
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.update import AssertTableUUID

from lakehouse.declarations.mirror import BEHIND_COLUMN, DELETED_COLUMN, POSITION_COLUMN, TIME_COLUMN
from lakehouse.iceberg.names import table_name
from lakehouse.protocol.catalog import LakeCatalog, TableChange, ref_is, set_tag
from lakehouse.protocol.leases.references import commit_missing
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


def checkpoints(evidence: Evidence) -> list[Checkpoint]:
    """Checkpoints that are whole, newest first.

    One that was put on a snapshot from outside the protocol, or whose seal differs between the tables, is none.
    """
    tables = _tables(evidence)
    return _whole(tables, [_tags(table.metadata) for table in tables])


def newest_checkpoint(evidence: Evidence) -> Checkpoint | None:
    """The newest checkpoint of the present build, at or before the newest seal."""
    return _newest(evidence, checkpoints(evidence))


def removed_checkpoint(evidence: Evidence) -> Checkpoint | None:
    """The newest one whose tag was removed from a table, by older metadata, and whose snapshots are listed still."""
    tables = _tables(evidence)
    return _newest(evidence, _whole(tables, [{**_earlier_tags(table), **_tags(table.metadata)} for table in tables]))


def _tables(evidence: Evidence) -> tuple[Table, Table, Table]:
    return evidence.mirror.table, evidence.tombstones.table, evidence.quarantine.table


def _tags(metadata: TableMetadata) -> dict[str, int]:
    return {
        name: ref.snapshot_id
        for name, ref in metadata.refs.items()
        if name.startswith(CHECKPOINT_PREFIX) and ref.snapshot_ref_type == SnapshotRefType.TAG
    }


def _earlier_tags(table: Table) -> dict[str, int]:
    """As the documents of the metadata log have them, as far as they can be read."""
    tags: dict[str, int] = {}
    for entry in table.metadata.metadata_log:
        with suppress(OSError, ValueError):
            tags |= _tags(FromInputFile.table_metadata(table.io.new_input(entry.metadata_file)))
    return tags


def _whole(tables: Sequence[Table], tags: Sequence[Mapping[str, int]]) -> list[Checkpoint]:
    valid: list[Checkpoint] = []
    for tag in tags[0]:
        sealed = [_sealed_at(table, own_tags.get(tag)) for table, own_tags in zip(tables, tags, strict=True)]
        first = sealed[0]
        if first is None or any(other is None or other[0] != first[0] for other in sealed):
            continue
        snapshots = {table_name(table): own_tags[tag] for table, own_tags in zip(tables, tags, strict=True)}
        valid.append(Checkpoint(tag, first[0], snapshots, first[1]))
    return sorted(valid, key=lambda checkpoint: checkpoint.timestamp_ms, reverse=True)


def _newest(evidence: Evidence, candidates: Iterable[Checkpoint]) -> Checkpoint | None:
    if evidence.newest is None:
        return None
    newest = evidence.newest.statement
    for checkpoint in candidates:
        proven = checkpoint.statement
        # What was reprocessed since is older than the checkpoint by its offsets, and not in it.
        same = (proven.build, proven.changelog_uuid, proven.reprocessed) == (
            newest.build,
            newest.changelog_uuid,
            newest.reprocessed,
        )
        if same and all(proven.kafka_end.get(partition, 0) <= end for partition, end in newest.kafka_end.items()):
            return checkpoint
    return None


def set_tags(catalog: LakeCatalog, evidence: Evidence) -> Checkpoint:
    """Tag the three tables where they were loaded, in one commit; the caller has proven them.

    Raises:
        CommitFailedException: a table was replaced, or the checkpoint is there already and names something else; or
            the catalog gave no clear answer, again and again.
    """
    assert evidence.newest is not None
    tag = f"{CHECKPOINT_PREFIX}{evidence.newest.sealed.seal.attempt}"
    pinned = {
        table_name(pinned_table.table): pinned_table
        for pinned_table in (evidence.mirror, evidence.tombstones, evidence.quarantine)
    }
    snapshots = {
        name: pinned_table.snapshot_id for name, pinned_table in pinned.items() if pinned_table.snapshot_id is not None
    }
    tagged = {name: head_of(pinned_table.table, tag) for name, pinned_table in pinned.items()}
    changes = [
        TableChange(
            pinned_table.table.name(),
            (AssertTableUUID(uuid=pinned_table.table.metadata.table_uuid), ref_is(tag, tagged[name])),
            (set_tag(tag, snapshots[name]),),
        )
        for name, pinned_table in pinned.items()
    ]

    def missing() -> list[TableChange]:
        tables = catalog.load_tables([change.identifier for change in changes])
        heads = {table_name(table): head_of(table, tag) for table in tables.values()}
        uuids = {table_name(table): table.metadata.table_uuid for table in tables.values()}
        if uuids != {name: pinned_table.table.metadata.table_uuid for name, pinned_table in pinned.items()}:
            raise CommitFailedException(f"{', '.join(pinned)}: one of them was dropped and created anew meanwhile")
        if heads == snapshots:
            return []
        if heads != tagged:
            raise CommitFailedException(f"{', '.join(pinned)}: the tag {tag} was set or removed by another meanwhile")
        return changes

    commit_missing(catalog, missing, what=f"{', '.join(pinned)}: the tag {tag}")
    return Checkpoint(tag, evidence.newest.statement, snapshots, evidence.newest.sealed.timestamp_ms)


def stored_changes(checkpoint: Checkpoint, evidence: Evidence, key: Types, columns: Types) -> Iterator[pl.DataFrame]:
    """A checkpoint's rows and tombstones as the changes that would have made them.

    Args:
        checkpoint: which.
        evidence: the tables.
        key: the key's columns as the mirror types them.
        columns: all of the source's columns, likewise.
    """
    names = [name for name in columns if name not in key]
    soft = [DELETED_COLUMN.name] if DELETED_COLUMN.name in evidence.mirror.table.schema().column_names else []
    remembered = [POSITION_COLUMN.name, TIME_COLUMN.name, BEHIND_COLUMN.name, *soft]
    mirror = evidence.mirror.table
    for rows in frames(mirror, checkpoint.snapshots[table_name(mirror)], [*columns, *remembered]):
        deleted = pl.col(DELETED_COLUMN.name) if soft else pl.lit(False)
        shaped = rows.with_columns(
            _operation=pl.when(deleted).then(pl.lit("delete")).otherwise(pl.lit("update")),
            _unavailable=pl.col(BEHIND_COLUMN.name).list.eval(pl.element().struct.field("key")),
        )
        yield _changes(shaped, key, columns, pl.col(POSITION_COLUMN.name))
        yield from _behind(rows, key, columns, names)
    ledger = evidence.tombstones.table
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
    known = entries.with_columns(_column=column, _at=position).filter(pl.col("_at").struct.field("epoch") >= 0)
    if known.is_empty():
        return
    grouped = known.group_by("_row", "_at", maintain_order=True).agg(
        *(pl.col(column_name).first() for column_name in (*columns, TIME_COLUMN.name)), _sent="_column"
    )
    shaped = grouped.with_columns(
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
