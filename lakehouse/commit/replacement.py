"""Files out, files in: what a rewrite comes to, whoever wrote it, and whether it still may take place.

A rewrite says the same rows in other files. So it can be put on any snapshot in which the files that go are still there
and have lost no row since: what others have appended meanwhile is none of its business.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyiceberg.manifest import DataFile, DataFileContent, ManifestEntry
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse.commit.entries import PartitionKey, is_data, live_entries, partition_of, referenced_path
from lakehouse.commit.errors import FilesTouched, ForeignCommit
from lakehouse.commit.history import ancestry, is_rewrite


@dataclass(frozen=True)
class Replacement:
    """What goes and what comes in its place.

    Args:
        source: the snapshot that was rewritten.
        out: entries of the files that go, delete files among them.
        into: entries of the files that come. Their sequence numbers stay: a delete that was made after the source and
            applies by value has to apply to them as it did to the files that go.
        deletes: paths of the delete files of the source; what they delete, the rewrite has left out.
        regroup: bytes that a manifest should have, if all manifests are to be written anew; None leaves alone those
            that list no file that goes.
        notes: what the commit says of itself, keys without `lakehouse.maintenance.`.
    """

    source: int
    out: tuple[ManifestEntry, ...] = ()
    into: tuple[ManifestEntry, ...] = ()
    deletes: frozenset[str] = frozenset()
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
        before, after = _by_path(table, source), _by_path(table, head)
        return cls(
            source=source,
            out=tuple(entry for path, entry in before.items() if path not in after),
            into=tuple(entry for path, entry in after.items() if path not in before),
            deletes=_deletes(before),
        )

    @classmethod
    def of_manifests(cls, table: Table, source: int, *, target_size: int) -> "Replacement":
        """The same files, listed in manifests of another size."""
        return cls(source=source, deletes=_deletes(_by_path(table, source)), regroup=target_size)


def rewrites_between(table: Table, source: int, head: int) -> list[Snapshot]:
    """The snapshots that lead from one to another, newest first.

    Raises:
        ForeignCommit: one of them does more than rearrange, or they do not lead there.
    """
    found: list[Snapshot] = []
    for snapshot in ancestry(table, head):
        if snapshot.snapshot_id == source:
            return found
        if not is_rewrite(snapshot):
            break
        found.append(snapshot)
    raise ForeignCommit(
        f"{'.'.join(table.name())}: what leads from snapshot {source} to {head} is not rewrites alone.",
        remedy="find out who writes to attempt branches, then run the step again",
    )


@dataclass(frozen=True)
class Untouched:
    """Looks through the entries of a snapshot for what forbids a replacement there."""

    name: str
    replacement: Replacement

    def require(self, there: Sequence[ManifestEntry]) -> None:
        """Refuse, if files that go are not there any more, or have lost rows since they were rewritten.

        Args:
            there: all live entries of manifests that list files that go, and of all manifests of delete files.

        Raises:
            FilesTouched: they are not, or have.
        """
        listed = {entry.data_file.file_path for entry in there}
        if gone := [entry for entry in self.replacement.out if entry.data_file.file_path not in listed]:
            raise self._touched(f"{len(gone)} of the files that were rewritten have been removed from the table.")
        paths = {file.file_path for file in self.replacement.files_out}
        places = {partition_of(file) for file in self.replacement.files_out}
        for entry in there:
            deletes = entry.data_file
            if is_data(deletes) or deletes.file_path in self.replacement.deletes:
                continue
            if can_apply(deletes, paths, places):
                raise self._touched("rows of files that were rewritten have been deleted.")

    def _touched(self, what: str) -> FilesTouched:
        return FilesTouched(
            f"{self.name}: since snapshot {self.replacement.source}, {what}",
            remedy="nothing is lost: it is rewritten when it has been quiet for long enough",
        )


def can_apply(deletes: DataFile, paths: set[str], places: set[PartitionKey]) -> bool:
    """Whether a delete file may delete rows of one of these data files (specification, "Scan Planning")."""
    if (only := referenced_path(deletes)) is not None:
        return only in paths
    place = partition_of(deletes)
    everywhere = deletes.content == DataFileContent.EQUALITY_DELETES and not place[1]
    return bool(paths) and (everywhere or place in places)


def _by_path(table: Table, snapshot_id: int) -> dict[str, ManifestEntry]:
    snapshot = table.metadata.snapshot_by_id(snapshot_id)
    if snapshot is None:
        return {}
    return {
        entry.data_file.file_path: entry
        for manifest in snapshot.manifests(table.io)
        for entry in live_entries(table.io, manifest)
    }


def _deletes(entries: Mapping[str, ManifestEntry]) -> frozenset[str]:
    return frozenset(path for path, entry in entries.items() if not is_data(entry.data_file))
