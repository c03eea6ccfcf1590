"""Removes what killed attempts left behind: their branches, the snapshots only those reach, and their files.

While a branch exists its attempt was not published (a publish removes it in the same commit), so its files belong to
nobody else, unless a rebase or a rewrite has put them on another branch: what any other snapshot reaches is kept.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

import structlog
from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import AssertTableUUID

from lakehouse.iceberg.names import identifier_of, table_name
from lakehouse.iceberg.reachable_files import delete_files, reached_only_by
from lakehouse.protocol.catalog import LakeCatalog, TableChange, ref_is, remove_ref, remove_snapshots
from lakehouse.protocol.cleanup.other_locations import places_of_others
from lakehouse.protocol.cleanup.shared_files import shared_with
from lakehouse.protocol.failpoints import failpoint
from lakehouse.protocol.seals.attempt import BRANCH_PREFIX, begun_ms
from lakehouse.protocol.seals.history import MAIN, ancestry, head_of

_log = structlog.get_logger(__name__)
LONGEST_RUN = timedelta(hours=24)


@dataclass(frozen=True)
class Abandoned:
    """A branch that no attempt will publish any more."""

    table: str
    branch: str
    head: int
    age: timedelta


def abandoned_branches(table: Table, *, older_than: timedelta = LONGEST_RUN) -> list[Abandoned]:
    """Attempt branches whose attempt and newest snapshot are older than any run may take."""
    now_ms = time.time_ns() // 1_000_000
    abandoned: list[Abandoned] = []
    for name, ref in table.metadata.refs.items():
        snapshot = table.metadata.snapshot_by_id(ref.snapshot_id)
        is_branch = ref.snapshot_ref_type == SnapshotRefType.BRANCH
        if not is_branch or not name.startswith(BRANCH_PREFIX) or snapshot is None:
            continue
        # A branch that was just opened names its base, which may be as old as the table.
        age = timedelta(milliseconds=now_ms - max(snapshot.timestamp_ms, begun_ms(name)))
        if age >= older_than:
            abandoned.append(Abandoned(table_name(table), name, ref.snapshot_id, age))
    return abandoned


def drop_branch(catalog: LakeCatalog, abandoned: Abandoned) -> int:
    """Remove the branch in one commit, then delete the data files that only it could see; returns their number.

    They stay where another entry of the catalog stands on the table's files: it may have the branch as well.

    Its manifests are left for orphan removal: a rebase on its way still reads them, and is then refused by name.

    Raises:
        CommitFailedException: the branch moved or was published meanwhile; nothing was removed.
    """
    identifier = identifier_of(abandoned.table)
    table = catalog.load_table(identifier)
    branch_snapshots = list(_own_snapshots(table, abandoned))
    catalog.commit_tables(
        [
            TableChange(
                identifier,
                (
                    AssertTableUUID(uuid=table.metadata.table_uuid),
                    ref_is(abandoned.branch, abandoned.head),
                    ref_is(MAIN, head_of(table)),  # or somebody fast-forwards it to this branch meanwhile
                ),
                (
                    remove_ref(abandoned.branch),
                    *(
                        [remove_snapshots([snapshot.snapshot_id for snapshot in branch_snapshots])]
                        if branch_snapshots
                        else []
                    ),
                ),
            )
        ]
    )
    failpoint("housekeeping.between")
    # Looked at only now: as the branch is gone, no rebase can put its files on another one any more. And all snapshots
    # count that are left: a file may be in the history of main, for time travel, and no longer at its head.
    reloaded = catalog.load_table(identifier)
    exclusive_files = reached_only_by(branch_snapshots, table, reloaded)
    if not exclusive_files.data:
        return 0
    entries = list(catalog.entries())
    if sharing := shared_with(entries, reloaded):
        _log.warning("files_of_branch_kept", branch=abandoned.branch, table=abandoned.table, shared=sharing)
        return 0
    return delete_files(reloaded, exclusive_files.data, places_of_others(entries, reloaded))


def _own_snapshots(table: Table, abandoned: Abandoned) -> Iterator[Snapshot]:
    other_ids = {
        snapshot.snapshot_id
        for name, ref in table.metadata.refs.items()
        if name != abandoned.branch
        for snapshot in ancestry(table, ref.snapshot_id)
    }
    for snapshot in ancestry(table, abandoned.head):
        if snapshot.snapshot_id in other_ids:
            return
        yield snapshot
