"""Where a mirror stands: what its seal says, and what its changelog holds beyond. Metadata only, and no broker."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from pyiceberg.table.snapshots import Snapshot

from lakehouse.catalog import LakeCatalog
from lakehouse.cdc.statement import KIND_REBUILD, MirrorStatement
from lakehouse.commit import Pinned, read_group, seals
from lakehouse.commit.history import ancestry, is_rewrite, summary_of
from lakehouse.tables import MirrorTables


@dataclass(frozen=True)
class MirrorStanding:
    """A mirror at one moment.

    Args:
        mirror: its name.
        sealed: what its newest seal says; None before the first run.
        snapshot_id: of the mirror.
        published: when that seal was committed.
        rebuilt: whether a rebuild wrote it.
        rows: that the mirror holds.
        newest: the changelog's newest seal, up to which a run could go; None before the first ingest.
        waiting: changes up to there that are not in the mirror.
        since: when the oldest of them came into the changelog.
        to_begin: whether the mirror is still to be filled from its initial table.
        doubt: why nobody can say what is waiting; the next run would refuse, and name the remedy.
    """

    mirror: str
    sealed: MirrorStatement | None = None
    snapshot_id: int | None = None
    published: datetime | None = None
    rebuilt: bool = False
    rows: int = 0
    newest: int | None = None
    waiting: int = 0
    since: datetime | None = None
    to_begin: bool = False
    doubt: str = ""

    @property
    def lags(self) -> bool:
        """Whether a run would have something to do, if only to refuse."""
        return self.waiting > 0 or self.to_begin or bool(self.doubt)

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
    """Ask a mirror and its changelog where they stand.

    Raises:
        SealBroken: a seal was changed after it was written.
    """
    names = (tables.mirror.name, tables.changelog.name)
    pinned = read_group(catalog, [name for name in names if catalog.table_exists(tuple(name.split(".")))])
    found = _mirror_part(MirrorStanding(tables.mirror.name), pinned.get(tables.mirror.name))
    changelog = pinned.get(tables.changelog.name)
    return found if changelog is None else _changelog_part(found, tables, changelog)


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


def _mirror_part(found: MirrorStanding, mirror: Pinned | None) -> MirrorStanding:
    head = mirror and mirror.table.metadata.snapshot_by_id(mirror.snapshot_id or -1)
    if mirror is None or head is None:
        return found
    found = replace(found, snapshot_id=head.snapshot_id, rows=int(summary_of(head).get("total-records", "0")))
    # Maintenance seals as well, and says nothing about changes.
    for sealed in seals(mirror.table, head.snapshot_id):
        if statement := MirrorStatement.from_keys(sealed.seal.statement):
            rebuilt = sealed.seal.kind == KIND_REBUILD
            return replace(found, sealed=statement, published=moment(sealed.timestamp_ms), rebuilt=rebuilt)
    return found


def _changelog_part(found: MirrorStanding, tables: MirrorTables, changelog: Pinned) -> MirrorStanding:
    newest = changelog.sealed
    if newest is None:
        return found
    found = replace(found, newest=newest.snapshot_id)
    history = list(ancestry(changelog.table, newest.snapshot_id))
    if found.sealed is None:
        # Of an old changelog the first commits are no longer listed; the newest one's total counts all rows.
        total = int(summary_of(history[0]).get("total-records", "0"))
        to_begin = tables.mirror.initial is not None
        return replace(found, waiting=total, since=_oldest(history), to_begin=to_begin)
    if found.sealed.changelog_uuid != str(changelog.table.metadata.table_uuid):
        return replace(found, doubt=f"{tables.changelog.name} is another table than the one that was mirrored")
    ids = [snapshot.snapshot_id for snapshot in history]
    if found.sealed.end not in ids:
        return replace(found, doubt=f"{tables.changelog.name} does not list snapshot {found.sealed.end} any more")
    beyond = history[: ids.index(found.sealed.end)]
    return replace(found, waiting=sum(map(_added, beyond)), since=_oldest(beyond))


def _added(snapshot: Snapshot) -> int:
    return 0 if is_rewrite(snapshot) else int(summary_of(snapshot).get("added-records", "0"))


def _oldest(history: Sequence[Snapshot]) -> datetime | None:
    return next((moment(snapshot.timestamp_ms) for snapshot in reversed(history) if _added(snapshot)), None)
