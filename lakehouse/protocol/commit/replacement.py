"""Files out, files in: what a rewrite comes to, whoever wrote it, and whether it still may take place.

A rewrite says the same rows in other files. So it can be put on any snapshot in which the files that go are still there
and have lost no row since: what others have appended meanwhile is none of its business.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyiceberg.manifest import DataFile, DataFileContent, ManifestContent, ManifestEntry, ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse.iceberg.entries import PartitionKey, is_data, live_entries, partition_of, referenced_path
from lakehouse.iceberg.manifests import manifests_in
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
        before, after = _manifests(table, source), _manifests(table, head)
        # A manifest that both have lists files that are in both.
        went = _by_path(table, (manifest for path, manifest in before.items() if path not in after))
        came = _by_path(table, (manifest for path, manifest in after.items() if path not in before))
        out = tuple(entry for path, entry in went.items() if path not in came)
        deletes = _by_path(table, (one for one in before.values() if one.content == ManifestContent.DELETES))
        paths, places = _apply_to(out)
        return cls(
            source=source,
            head=head,
            out=out,
            into=tuple(entry for path, entry in came.items() if path not in went),
            deletes=tuple(e.data_file for e in deletes.values() if can_apply(e.data_file, paths, places)),
            unconcerned=frozenset(path for path in before if path in after),
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
    found: list[Snapshot] = []
    for snapshot in ancestry(table, head):
        if snapshot.snapshot_id == source:
            return found
        if not is_rewrite(snapshot):
            break
        found.append(snapshot)
    raise ForeignCommit(
        f"{table_name(table)}: what leads from snapshot {source} to {head} is not rewrites alone.",
        remedy="find out who writes to attempt branches, then run the step again",
    )


def listed_otherwise(table: Table, source: int, head: int) -> str:
    """How a rewrite lists a file that it has not written anew, if that brings rows or brings them back; else empty.

    A file that is listed twice is read twice. One that is listed with a later sequence number is one that deletes of
    before do not apply to any more (specification, "Scan Planning"). Neither shows in which files there are.
    """
    before, after = _manifests(table, source), _manifests(table, head)
    was = _listed(table, (manifest for path, manifest in before.items() if path not in after))
    now = _listed(table, (manifest for path, manifest in after.items() if path not in before))
    deletes = any(manifest.content == ManifestContent.DELETES for manifest in before.values())
    for path, entries in sorted(now.items()):
        name = path.rpartition("/")[2]
        if len(entries) > len(was.get(path, entries[:1])):
            return f"{name} is listed {len(entries)} times"
        numbers = {entry.sequence_number for entry in entries}
        if deletes and numbers != {entry.sequence_number for entry in was.get(path, entries)}:
            return f"{name} is listed with another sequence number, so that deletes may not apply to it any more"
    return ""


def _listed(table: Table, manifests: Iterable[ManifestFile]) -> dict[str, list[ManifestEntry]]:
    listed: dict[str, list[ManifestEntry]] = {}
    for manifest in manifests:
        for entry in live_entries(table.io, manifest):
            listed.setdefault(entry.data_file.file_path, []).append(entry)
    return listed


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
        known = {file.file_path for file in self.replacement.deletes}
        if not known <= listed:
            raise self._touched("rows of files that were rewritten are not deleted any more.")
        paths, places = _apply_to(self.replacement.out)
        for entry in there:
            deletes = entry.data_file
            if not is_data(deletes) and deletes.file_path not in known and can_apply(deletes, paths, places):
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
    # A spec whose fields are all void counts as unpartitioned too, and nobody can tell one from nulls by the values.
    everywhere = deletes.content == DataFileContent.EQUALITY_DELETES and all(value is None for value in place[1])
    return bool(paths) and (everywhere or place in places)


def _apply_to(out: Iterable[ManifestEntry]) -> tuple[set[str], set[PartitionKey]]:
    """Data files among these, and where they lie."""
    files = [entry.data_file for entry in out if is_data(entry.data_file)]
    return {file.file_path for file in files}, {partition_of(file) for file in files}


def _manifests(table: Table, snapshot_id: int) -> dict[str, ManifestFile]:
    snapshot = table.metadata.snapshot_by_id(snapshot_id)
    return {one.manifest_path: one for one in manifests_in(table.io, snapshot.manifest_list)} if snapshot else {}


def _by_path(table: Table, manifests: Iterable[ManifestFile]) -> dict[str, ManifestEntry]:
    return {entry.data_file.file_path: entry for manifest in manifests for entry in live_entries(table.io, manifest)}
