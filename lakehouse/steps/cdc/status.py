"""Where a mirror stands: what its seal says, and what its changelog holds beyond. Metadata only, and no broker."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse.declarations import MirrorTables
from lakehouse.iceberg.names import identifier_of
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.seals.base import Base, read_bases
from lakehouse.protocol.seals.history import ancestry, head_of, seals
from lakehouse.protocol.seals.row_count import row_count
from lakehouse.steps.cdc.plan.range import appended, ingested, next_range, whole_range
from lakehouse.steps.cdc.refusals import MirrorRefused
from lakehouse.steps.cdc.statement import KIND_REBUILD, MirrorStatement
from lakehouse.steps.cdc.stored_statement import stored_statement


@dataclass(frozen=True)
class MirrorStanding:
    """A mirror at one moment.

    Args:
        mirror: its name.
        sealed: what its newest seal says; None before the first run.
        snapshot_id: of the mirror.
        published: when that seal was committed.
        rebuilt: whether a rebuild wrote it.
        rows: that a reader of the mirror sees; None where deletes by value leave that open.
        newest: the changelog's newest seal, up to which a run could go; None before the first ingest.
        waiting: changes up to there that are not in the mirror.
        since: when the oldest of them came into the changelog.
        to_begin: whether the mirror is still to be filled from its initial table.
        to_move: whether its position should go on, be it without changes, so that its lease lets go of old snapshots.
        doubt: why the next run will refuse, in its words.
    """

    mirror: str
    sealed: MirrorStatement | None = None
    snapshot_id: int | None = None
    published: datetime | None = None
    rebuilt: bool = False
    rows: int | None = 0
    newest: int | None = None
    waiting: int = 0
    since: datetime | None = None
    to_begin: bool = False
    to_move: bool = False
    doubt: str = ""

    @property
    def lags(self) -> bool:
        """Whether a run would have something to do, if only to refuse."""
        return self.waiting > 0 or self.to_begin or self.to_move or bool(self.doubt)

    @property
    def source_time(self) -> datetime | None:
        """The newest source time that the mirror has reached."""
        return moment(self.sealed.source_time_us // 1000) if self.sealed else None

    @property
    def delay(self) -> timedelta | None:
        """From the arrival of the newest change in Kafka until it was in the mirror; a rebuild says nothing of that."""
        if self.sealed is None or self.published is None or self.rebuilt:
            return None
        return delay(self.sealed.arrived_ms, self.published)


def mirror_standing(catalog: LakeCatalog, tables: MirrorTables) -> MirrorStanding:
    """Ask a mirror and its changelog where they stand, as the next run would.

    Raises:
        SealBroken: a seal was changed after it was written.
    """
    mirror, log = tables.mirror, tables.changelog.name
    names = [table.name for table in tables.tables]
    bases = read_bases(catalog, [name for name in (*names, log) if catalog.table_exists(identifier_of(name))])
    standing = _mirror_part(MirrorStanding(mirror.name), bases.get(mirror.name))
    if log not in bases or (newest := _newest_ingest(bases[log].table)) is None:
        return standing
    standing = replace(standing, newest=newest)
    try:
        previous = stored_statement(mirror.name, {name: bases[name] for name in names if name in bases})
        if previous is not None:
            change_range = next_range(mirror.name, previous, bases[log].table, max_changes=sys.maxsize)
        else:
            change_range = whole_range(mirror.name, bases[log].table)
    except MirrorRefused as refusal:
        return replace(standing, doubt=refusal.message)
    if change_range is None:
        return standing
    # A first run takes the whole history, of which a range does not list the snapshots.
    listed = change_range.snapshots or tuple(reversed(list(ancestry(change_range.table, change_range.end))))
    begins = previous is None and mirror.initial is not None
    return replace(
        standing,
        waiting=change_range.changes,
        since=_oldest(listed),
        to_begin=begins,
        to_move=change_range.start is not None,
    )


def moment(ms: int) -> datetime | None:
    """Milliseconds since the epoch; None for 0, and for what no calendar has (a source may say any number)."""
    try:
        return datetime.fromtimestamp(ms / 1000, UTC) if ms else None
    except (OverflowError, ValueError, OSError):
        return None


def delay(arrived_ms: int, published: datetime) -> timedelta | None:
    """From arrival to publish; None where the arrival is unknown. Clocks may differ, so it is never negative."""
    arrived = moment(arrived_ms)
    return None if arrived is None else max(published - arrived, timedelta(0))


def _mirror_part(standing: MirrorStanding, base: Base | None) -> MirrorStanding:
    head = base and base.table.metadata.snapshot_by_id(base.snapshot_id or -1)
    if base is None or head is None:
        return standing
    standing = replace(standing, snapshot_id=head.snapshot_id)
    # Maintenance seals as well, and says nothing about changes.
    for sealed in seals(base.table, head.snapshot_id):
        if statement := MirrorStatement.from_keys(sealed.seal.statement):
            rebuilt = sealed.seal.kind == KIND_REBUILD
            standing = replace(standing, sealed=statement, published=moment(sealed.timestamp_ms), rebuilt=rebuilt)
            break
    return replace(standing, rows=_rows(standing, base))


def _rows(standing: MirrorStanding, base: Base) -> int | None:
    """As many as its seal says, which spares a look at files; where somebody wrote after it, as many as there are."""
    if standing.sealed is not None and not base.unsealed:
        return standing.sealed.rows
    return row_count(base.table, base.snapshot_id)


def _newest_ingest(changelog: Table) -> int | None:
    """The snapshot up to which a run could go."""
    history = ancestry(changelog, head_of(changelog))
    return next((snapshot.snapshot_id for snapshot in history if ingested(changelog, snapshot) is not None), None)


def _oldest(snapshots: Iterable[Snapshot]) -> datetime | None:
    """When the first of the snapshots that brought rows was committed."""
    return next((moment(snapshot.timestamp_ms) for snapshot in snapshots if appended(snapshot)), None)
