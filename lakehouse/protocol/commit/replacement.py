"""Files out, files in: what a rewrite comes to, whoever wrote it, and whether it still may take place.

A rewrite says the same rows in other files. So it can be put on any snapshot in which the files that go are still there
and have lost no row since: what others have appended meanwhile is none of its business.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyiceberg.manifest import DataFile, ManifestContent, ManifestEntry, ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse.iceberg.delete_files import Specs, can_apply
from lakehouse.iceberg.entries import PartitionKey, is_data, live_entries, partition_of
from lakehouse.iceberg.manifests.entry_reader import manifests_in
from lakehouse.iceberg.names import table_name
from lakehouse.protocol.errors import FilesTouched, ForeignCommit
from lakehouse.protocol.seals.history import ancestry, is_rewrite


@dataclass(frozen=True)
class Replacement:
    """What goes and what comes in its place.

    Args:
        source: the snapshot that was rewritten.
        head: the snapshot that the rewrite left on the attempt's branch, which alone keeps the files that come; None
            where no branch does.
        out: entries of the files that go, delete files among them.
        into: entries of the files that come. Their sequence numbers stay: a delete that was made after the source and
            applies by value has to apply to them as it did to the files that go.
        deletes: the delete files of the source that can apply to data files that go; what they delete, the rewrite has
            left out.
        unconcerned: paths of manifests that list no file that goes, so that nobody has to read them again.
        regroup: bytes that a manifest should have, if all manifests are to be written anew; None leaves alone those
            that list no file that goes.
        notes: what the commit says of itself, keys without `lakehouse.maintenance.`.
    """

    source: int
    head: int | None = None
    out: tuple[ManifestEntry, ...] = ()
    into: tuple[ManifestEntry, ...] = ()
    deletes: tuple[DataFile, ...] = ()
    unconcerned: frozenset[str] = frozenset()
    regroup: int | None = None
    notes: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def files_out(self) -> tuple[DataFile, ...]:
        """The data files that go."""
        return tuple(entry.data_file for entry in self.out if is_data(entry.data_file))

    @property
    def files_in(self) -> tuple[DataFile, ...]:
        """The data files that come."""
        return tuple(entry.data_file for entry in self.into if is_data(entry.data_file))

    @classmethod
    def between(cls, table: Table, source: int, head: int) -> "Replacement":
        """What the rewrites that lead from one snapshot to another come to.

        Raises:
            ForeignCommit: there is something else between them.
        """
        rewrites_between(table, source, head)
        source_manifests, head_manifests = manifests_of(table, source), manifests_of(table, head)
        # A manifest that both have lists files that are in both.
        source_entries = _entry_by_path(
            table, (manifest for path, manifest in source_manifests.items() if path not in head_manifests)
        )
        head_entries = _entry_by_path(
            table, (manifest for path, manifest in head_manifests.items() if path not in source_manifests)
        )
        removed_entries = tuple(entry for path, entry in source_entries.items() if path not in head_entries)
        deletes = _entry_by_path(
            table, (manifest for manifest in source_manifests.values() if manifest.content == ManifestContent.DELETES)
        )
        paths, partitions = _paths_and_partitions(removed_entries)
        return cls(
            source=source,
            head=head,
            out=removed_entries,
            into=tuple(entry for path, entry in head_entries.items() if path not in source_entries),
            deletes=tuple(
                e.data_file for e in deletes.values() if can_apply(e.data_file, table.specs(), paths, partitions)
            ),
            unconcerned=frozenset(path for path in source_manifests if path in head_manifests),
        )

    @classmethod
    def of_manifests(cls, source: int, *, target_size: int) -> "Replacement":
        """The same files, listed in manifests of another size."""
        return cls(source=source, regroup=target_size)


def rewrites_between(table: Table, source: int, head: int) -> list[Snapshot]:
    """The snapshots that lead from one to another, newest first.

    Raises:
        ForeignCommit: one of them does more than rearrange, or they do not lead there.
    """
    snapshots: list[Snapshot] = []
    for snapshot in ancestry(table, head):
        if snapshot.snapshot_id == source:
            return snapshots
        if not is_rewrite(snapshot):
            break
        snapshots.append(snapshot)
    raise ForeignCommit(
        f"{table_name(table)}: what leads from snapshot {source} to {head} is not rewrites alone.",
        remedy="find out who writes to attempt branches, then run the step again",
    )


@dataclass(frozen=True)
class Untouched:
    """Looks through the entries of a snapshot for what forbids a replacement there."""

    name: str
    specs: Specs
    replacement: Replacement

    def require(self, entries: Sequence[ManifestEntry]) -> None:
        """Refuse, if files that go are not there any more, or have lost rows since they were rewritten.

        Args:
            entries: all live entries of manifests that list files that go, and of all manifests of delete files.

        Raises:
            FilesTouched: they are not, or have.
        """
        listed_paths = {entry.data_file.file_path for entry in entries}
        if removed_entries := [
            entry for entry in self.replacement.out if entry.data_file.file_path not in listed_paths
        ]:
            raise self._refusal(
                f"{len(removed_entries)} of the files that were rewritten have been removed from the table."
            )
        delete_paths = {file.file_path for file in self.replacement.deletes}
        if not delete_paths <= listed_paths:
            raise self._refusal("rows of files that were rewritten are not deleted any more.")
        paths, partitions = _paths_and_partitions(self.replacement.out)
        for entry in entries:
            deletes = entry.data_file
            if is_data(deletes) or deletes.file_path in delete_paths:
                continue
            if can_apply(deletes, self.specs, paths, partitions):
                raise self._refusal("rows of files that were rewritten have been deleted.")

    def _refusal(self, reason: str) -> FilesTouched:
        return FilesTouched(
            f"{self.name}: since snapshot {self.replacement.source}, {reason}",
            remedy="nothing is lost: it is rewritten when it has been quiet for long enough",
        )


def _paths_and_partitions(entries: Iterable[ManifestEntry]) -> tuple[set[str], set[PartitionKey]]:
    """Data files among these, and where they lie."""
    files = [entry.data_file for entry in entries if is_data(entry.data_file)]
    return {file.file_path for file in files}, {partition_of(file) for file in files}


def manifests_of(table: Table, snapshot_id: int) -> dict[str, ManifestFile]:
    """The manifests of a snapshot by path; none where its entry has expired."""
    snapshot = table.metadata.snapshot_by_id(snapshot_id)
    return (
        {manifest.manifest_path: manifest for manifest in manifests_in(table.io, snapshot.manifest_list)}
        if snapshot
        else {}
    )


def _entry_by_path(table: Table, manifests: Iterable[ManifestFile]) -> dict[str, ManifestEntry]:
    return {entry.data_file.file_path: entry for manifest in manifests for entry in live_entries(table.io, manifest)}
