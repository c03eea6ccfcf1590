"""A table that has been published to, and whose `main` is gone: every reader finds it empty, and no snapshot says so.

Before its first publish a table has no `main` either. What tells the two apart is a seal that no attempt still has on
its branch: when an attempt is given up, its snapshots go with its branch, in one commit.
"""

from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Snapshot

from lakehouse import seal_keys
from lakehouse.iceberg.names import table_name
from lakehouse.protocol.seals.history import MAIN, attempt_of, head_of, summary_of


def lost_main(table: Table) -> str:
    """That `main` is gone, and how it is set back, in words; empty where it is there, or never was."""
    if head_of(table) is not None or (snapshot_id := _last_published(table)) is None:
        return ""
    name = table_name(table)
    return (
        f"{name}: its branch `{MAIN}` is gone, so that every reader finds it empty; the newest snapshot that was "
        f"published is {snapshot_id}. Set it back with Spark: CALL <catalog>.system.set_current_snapshot('{name}', "
        f"{snapshot_id})."
    )


def _last_published(table: Table) -> int | None:
    """Where `main` was, as the metadata's log keep it, or else the newest seal that was published; None for neither."""
    metadata = table.metadata
    heads = [
        metadata.snapshot_by_id(ref.snapshot_id)
        for ref in metadata.refs.values()
        if ref.snapshot_ref_type is SnapshotRefType.BRANCH
    ]
    at_work = {attempt_of(head) for head in heads if head is not None}
    published = [s for s in metadata.snapshots if seal_keys.VERSION in summary_of(s) and attempt_of(s) not in at_work]
    if not published:
        return None
    logged = [e.snapshot_id for e in metadata.snapshot_log if metadata.snapshot_by_id(e.snapshot_id) is not None]
    return logged[-1] if logged else max(published, key=_age).snapshot_id


def _age(snapshot: Snapshot) -> tuple[int, int]:
    return snapshot.sequence_number or 0, snapshot.timestamp_ms
