"""Puts staged files on a newer base when `main` moved only by commits that do not conflict."""

from dataclasses import replace

from pyiceberg.manifest import DataFile, ManifestEntryStatus
from pyiceberg.table import Table, Transaction
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.table.update.snapshot import ManageSnapshots

from lakehouse.protocol.catalog import LakeCatalog, ref_is
from lakehouse.protocol.commit.replace import restage
from lakehouse.protocol.commit.stage import append_to, commit_on_branch, seal_on
from lakehouse.protocol.commit.staged import Staged, moved
from lakehouse.protocol.errors import MainMoved
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.history import ancestry, is_seal_only


def rebase(catalog: LakeCatalog, staged: Staged, table: Table) -> Staged:
    """Append the attempt's files to a new branch at the present head, and seal it again.

    Files that take the place of others are put there in the same way.

    Raises:
        FilesTouched: rows of the files that they are to replace were removed.
        MainMoved: the attempt removed rows, so its files say nothing about the new base.
        SchemaChanged: the table's partitioning changed, so its files do not fit.
    """
    base = Base.of(table)
    if staged.replacement is not None:
        return restage(catalog, staged, base)
    files = _appended_files(staged, table)
    if (snapshot_id := base.snapshot_id) is None:
        raise MainMoved(f"{base.name}: main disappeared during this attempt.", remedy="run the step again")
    branch = staged.attempt.rebase_branch(len(staged.retired) + 1)
    seal = replace(staged.seal, previous=base.sealed.seal.digest if base.sealed else "")

    def build(transaction: Transaction) -> None:
        ManageSnapshots(transaction).create_branch(snapshot_id, branch).commit()
        if files:
            append_to(transaction, staged.base, staged.attempt, branch, files)
        seal_on(transaction, base, branch, seal)

    # While the retired branch is there, housekeeping sees whose the files are; once it is gone, so may be the files.
    head = commit_on_branch(catalog, base, branch, build, require=[ref_is(staged.branch, staged.head)])
    # The retired branch goes only with the publish, so a crash in between loses nothing.
    return moved(staged, base=base, branch=branch, head=head, seal=seal)


def _appended_files(staged: Staged, table: Table) -> list[DataFile]:
    files: list[DataFile] = []
    for snapshot in ancestry(table, staged.head):
        if snapshot.snapshot_id == staged.base.snapshot_id:
            break
        if is_seal_only(snapshot):
            continue
        if snapshot.summary is None or snapshot.summary.operation != Operation.APPEND:
            raise MainMoved(
                f"{staged.base.name}: main moved, and this attempt did more than append.",
                remedy="run the step again from the present state",
            )
        files.extend(added_files(table, snapshot))
    return files


def added_files(table: Table, snapshot: Snapshot) -> list[DataFile]:
    """The data files that one snapshot added."""
    return [
        entry.data_file
        for manifest in snapshot.manifests(table.io)
        if manifest.added_snapshot_id == snapshot.snapshot_id
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True)
        if entry.status == ManifestEntryStatus.ADDED and entry.snapshot_id == snapshot.snapshot_id
    ]
