"""The history of a table as maintenance sees it: who made which snapshot, and which are maintenance's own."""

from collections.abc import Sequence
from datetime import UTC, datetime

from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType

from lakehouse import seal_keys
from lakehouse.protocol.commit.conflict_check import MAINTENANCE
from lakehouse.protocol.seals.attempt import BRANCH_PREFIX, begun_ms
from lakehouse.protocol.seals.history import ancestry, attempt_of, head_of, is_rewrite, summary_of
from lakehouse.steps.maintenance.model.state import RefState, SnapshotState

DEDUPLICATE_KIND = "deduplicate"
OWN_KINDS = (MAINTENANCE, DEDUPLICATE_KIND)
MAINTAINS = f"{BRANCH_PREFIX}maintain_"  # how branches of its attempts begin
_FIRST_DOCUMENT = "00000-"  # how the name of a table's first metadata file begins, by whatever catalog


def moment(ms: int) -> datetime:
    """A time of the metadata."""
    return datetime.fromtimestamp(ms / 1000, UTC)


def created_at(table: Table) -> datetime | None:
    """When the table was made: when its first document was written, as long as the newest one remembers that."""
    documents = [(entry.metadata_file, entry.timestamp_ms) for entry in table.metadata.metadata_log]
    location, ms = (*documents, (table.metadata_location, table.metadata.last_updated_ms))[0]
    return moment(ms) if location.rpartition("/")[2].startswith(_FIRST_DOCUMENT) else None


def history_of(table: Table) -> tuple[SnapshotState, ...]:
    """All entries of the document, oldest first."""
    on_main = {snapshot.snapshot_id for snapshot in ancestry(table, head_of(table))}
    states = [
        SnapshotState(
            snapshot_id=snapshot.snapshot_id,
            parent_id=snapshot.parent_snapshot_id,
            timestamp=moment(snapshot.timestamp_ms),
            operation=snapshot.summary.operation.value if snapshot.summary else "",
            kind=summary_of(snapshot).get(seal_keys.KIND, ""),
            attempt=attempt_of(snapshot) or "",
            on_main=snapshot.snapshot_id in on_main,
        )
        for snapshot in table.metadata.snapshots
    ]
    # Snapshots of one moment keep the order in which the document has them.
    return tuple(sorted(states, key=lambda snapshot: snapshot.timestamp))


def refs_of(table: Table) -> tuple[RefState, ...]:
    """All branches and tags but `main`, by name."""
    return tuple(
        RefState(
            name=name,
            kind="branch" if ref.snapshot_ref_type == SnapshotRefType.BRANCH else "tag",
            snapshot_id=ref.snapshot_id,
            begun=moment(begun) if (begun := begun_ms(name)) else None,
        )
        for name, ref in sorted(table.metadata.refs.items())
        if name != "main"
    )


def own_attempts(history: Sequence[SnapshotState]) -> frozenset[str]:
    """Attempts of maintenance itself, by their seals."""
    return frozenset(snapshot.attempt for snapshot in history if snapshot.kind in OWN_KINDS and snapshot.attempt)


def own_snapshots(table: Table, history: Sequence[SnapshotState]) -> frozenset[int]:
    """Snapshots of maintenance itself, and rewrites by whomever: rows are as before."""
    ours = own_attempts(history)
    return frozenset(
        snapshot.snapshot_id
        for snapshot in table.metadata.snapshots
        if is_rewrite(snapshot) or (attempt_of(snapshot) or "") in ours
    )
