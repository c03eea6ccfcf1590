"""Walks a branch from its head to its root."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile

from pyiceberg.manifest import ManifestContent
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot

from lakehouse import seal_keys
from lakehouse.iceberg.names import table_name
from lakehouse.protocol.errors import HistoryCircular
from lakehouse.protocol.seals.seal import Seal

MAIN = "main"
FILE_COUNTS = ("added-data-files", "deleted-data-files", "added-delete-files", "removed-delete-files")


@dataclass(frozen=True)
class Sealed:
    """A seal and the snapshot that carries it."""

    snapshot_id: int
    timestamp_ms: int
    seal: Seal


def head_of(table: Table, ref: str = MAIN) -> int | None:
    """Snapshot id that a branch or tag names, or None where there is no such reference."""
    reference = table.metadata.refs.get(ref)
    return reference.snapshot_id if reference else None


def summary_of(snapshot: Snapshot) -> Mapping[str, str]:
    """A snapshot's summary without the operation."""
    if snapshot.summary is None:
        return {}
    # What `additional_properties` returns; by that name pydantic looks for it in three places, for each of a thousand.
    return (snapshot.summary.__pydantic_private__ or {})["_additional_properties"]


def ancestry(table: Table, snapshot_id: int | None) -> Iterator[Snapshot]:
    """The snapshot and its ancestors, newest first, as far as they are not expired.

    Raises:
        HistoryCircular: somebody has edited the metadata, so that a snapshot is its own ancestor.
    """
    snapshots, passed = table.metadata.snapshots, set[int]()
    # A parent is listed before its child: most who walk stop soon, and find it one or two places ahead.
    place = len(snapshots) - 1
    while snapshot_id is not None and place >= 0:
        snapshot = snapshots[place]
        if snapshot.snapshot_id == snapshot_id:
            passed.add(snapshot_id)
            yield snapshot
            snapshot_id = snapshot.parent_snapshot_id
        place -= 1
    # Not so where somebody has put them in another order.
    by_id = {s.snapshot_id: s for s in snapshots if s.snapshot_id not in passed} if snapshot_id is not None else {}
    while snapshot_id is not None and (snapshot := by_id.pop(snapshot_id, None)) is not None:
        yield snapshot
        snapshot_id = snapshot.parent_snapshot_id
    if snapshot_id is not None and table.metadata.snapshot_by_id(snapshot_id) is not None:
        raise HistoryCircular(
            f"{table_name(table)}: snapshot {snapshot_id} is its own ancestor, as no commit makes it.",
            remedy="somebody has edited the table's metadata: let the catalog name an older document of its metadata "
            "log, or restore it from a backup",
        )


def leads_to(table: Table, head: int | None, snapshot_id: int, *, since: int | None) -> bool:
    """Whether a snapshot is `head` or an ancestor of it; it is not looked for below `since`, an ancestor of its own."""
    newer = takewhile(lambda snapshot: snapshot.snapshot_id != since, ancestry(table, head))
    return any(snapshot.snapshot_id == snapshot_id for snapshot in newer)


def listed_parent(table: Table, snapshot_id: int) -> int | None:
    """The snapshot before one, where the entries of both are still listed."""
    snapshot = table.metadata.snapshot_by_id(snapshot_id)
    parent = snapshot.parent_snapshot_id if snapshot is not None else None
    return parent if parent is not None and table.metadata.snapshot_by_id(parent) is not None else None


def seals(table: Table, snapshot_id: int | None) -> Iterator[Sealed]:
    """The seals on the way from a snapshot to the root, newest first.

    Raises:
        SealBroken: one of them was changed.
    """
    for snapshot in ancestry(table, snapshot_id):
        source = f"{table_name(table)} snapshot {snapshot.snapshot_id}"
        seal = Seal.from_summary(summary_of(snapshot), where=source)
        if seal is not None:
            yield Sealed(snapshot.snapshot_id, snapshot.timestamp_ms, seal)


def last_seal(table: Table, ref: str = MAIN) -> Sealed | None:
    """The newest seal on a branch."""
    return next(seals(table, head_of(table, ref)), None)


def attempt_of(snapshot: Snapshot) -> str | None:
    """Id of the attempt that made a snapshot, or None where it came from outside the protocol."""
    return summary_of(snapshot).get(seal_keys.ATTEMPT)


def is_rewrite(snapshot: Snapshot) -> bool:
    """Whether the snapshot only arranges the same rows in other files."""
    return snapshot.summary is not None and snapshot.summary.operation == Operation.REPLACE


def is_seal_only(snapshot: Snapshot) -> bool:
    """Whether the snapshot is a seal without files."""
    summary = summary_of(snapshot)
    return seal_keys.VERSION in summary and summary.keys().isdisjoint(FILE_COUNTS)


def has_rows(table: Table, snapshot_id: int | None) -> bool:
    """Whether a snapshot holds rows: by its summary's running total, or by manifests if there is none."""
    snapshot = table.metadata.snapshot_by_id(snapshot_id) if snapshot_id is not None else None
    if snapshot is None:
        return False
    if (total := summary_of(snapshot).get("total-records")) is not None:
        return int(total) > 0
    return any(
        manifest.content == ManifestContent.DATA and (manifest.has_added_files() or manifest.has_existing_files())
        for manifest in snapshot.manifests(table.io)
    )
