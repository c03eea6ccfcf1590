"""One snapshot with the operation `replace`, which PyIceberg has not.

Of every file that stays it keeps who added it and both of its sequence numbers, so that ranges of snapshots read the
same as before; and it reads what it has written before anybody can see it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

from pyiceberg.manifest import (
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriter,
    ManifestWriterV1,
)
from pyiceberg.table import Table, TableProperties, Transaction
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.table.update.snapshot import (
    _SnapshotProducer,  # pyright: ignore[reportPrivateUsage] - what its operations are made of
)
from pyiceberg.utils.properties import property_as_int

from lakehouse.iceberg.entries import EntryWriter, all_entries, is_data, live_entries, partition_of, whole
from lakehouse.iceberg.manifests import manifests_in
from lakehouse.iceberg.names import table_name
from lakehouse.iceberg.summary import summary
from lakehouse.protocol.commit.replacement import Replacement, Untouched
from lakehouse.protocol.errors import ContentChanged


@dataclass
class _Sorted:
    """What becomes of the manifests of the base."""

    kept: list[ManifestFile] = field(default_factory=list[ManifestFile])
    stays: list[ManifestEntry] = field(default_factory=list[ManifestEntry])
    goes: list[ManifestEntry] = field(default_factory=list[ManifestEntry])


@dataclass(frozen=True)
class Regrouped:
    """What has been written for an older base already, if only manifests are to be regrouped.

    As long as that base's manifests are there, it is good for a newer one too: what has come since stays as it is.

    Args:
        of: paths of the manifests of that base.
        into: the manifests that list the same entries.
    """

    of: frozenset[str]
    into: tuple[ManifestFile, ...]

    @classmethod
    def by(cls, table: Table, base: int | None, seal: int) -> "Regrouped | None":
        """What a regroup of a base wrote, from the snapshot of its seal; None where one of them is not there."""
        sealed = table.metadata.snapshot_by_id(seal)
        snapshots = [
            table.metadata.snapshot_by_id(at or 0) for at in (base, sealed.parent_snapshot_id if sealed else 0)
        ]
        before, after = (manifests_in(table.io, one.manifest_list) if one else [] for one in snapshots)
        return cls(frozenset(one.manifest_path for one in before), tuple(after)) if before and after else None


class ReplaceFiles(_SnapshotProducer["ReplaceFiles"]):
    """One snapshot with the operation `replace`."""

    def __init__(
        self,
        transaction: Transaction,
        table: Table,
        replacement: Replacement,
        marks: dict[str, str],
        branch: str,
        *,
        regrouped: Regrouped | None = None,
    ) -> None:
        super().__init__(Operation.REPLACE, transaction, table.io, snapshot_properties=marks, branch=branch)
        self._replacement = replacement
        self._regrouped = regrouped
        self._name = table_name(table)

    def _existing_manifests(self) -> list[ManifestFile]:
        return self._found.kept

    def _deleted_entries(self) -> list[ManifestEntry]:
        return [self._entry(entry, ManifestEntryStatus.DELETED) for entry in self._found.goes]

    def _manifests(self) -> list[ManifestFile]:
        goes = self._deleted_entries()
        stays = [self._entry(entry, ManifestEntryStatus.EXISTING) for entry in self._found.stays]
        comes = [self._entry(entry, ManifestEntryStatus.ADDED) for entry in self._replacement.into]
        if self._replacement.regroup is not None:
            stays.sort(key=_place)
        written = [manifest for entries in (comes, goes, stays) for manifest in self._written(entries)]
        self._require_written([*comes, *goes, *stays], written)
        return [*written, *self._existing_manifests()]

    @cached_property
    def _found(self) -> _Sorted:
        out = {entry.data_file.file_path for entry in self._replacement.out}
        found, looked_at = _Sorted(), list[ManifestEntry]()
        manifests = self._manifests_of_parent()
        if (done := self._regrouped) is not None and done.of <= {one.manifest_path for one in manifests}:
            return _Sorted([*done.into, *(one for one in manifests if one.manifest_path not in done.of)])
        for manifest in manifests:
            if manifest.content == ManifestContent.DATA and manifest.manifest_path in self._replacement.unconcerned:
                found.kept.append(manifest)
                continue
            entries = list(live_entries(self._io, manifest))
            touched = [entry for entry in entries if entry.data_file.file_path in out]
            if touched or manifest.content == ManifestContent.DELETES:
                looked_at += entries
            if touched or self._replacement.regroup is not None:
                found.goes += touched
                found.stays += [entry for entry in entries if entry.data_file.file_path not in out]
            elif entries:
                found.kept.append(manifest)
        Untouched(self._name, self._replacement).require(looked_at)
        return found

    def _manifests_of_parent(self) -> Sequence[ManifestFile]:
        parent = self._transaction.table_metadata.snapshot_by_id(self._parent_snapshot_id or 0)
        return manifests_in(self._io, parent.manifest_list) if parent else []

    def _entry(self, entry: ManifestEntry, status: ManifestEntryStatus) -> ManifestEntry:
        """The same file in another state, with the numbers it has."""
        added = status == ManifestEntryStatus.ADDED
        return ManifestEntry.from_args(
            status=status,
            snapshot_id=entry.snapshot_id if status == ManifestEntryStatus.EXISTING else self._snapshot_id,
            sequence_number=entry.sequence_number,
            # That of a file that comes is the commit's own: it is filled in when the commit has one.
            file_sequence_number=None if added else entry.file_sequence_number,
            data_file=whole(entry.data_file),
        )

    def _written(self, entries: Sequence[ManifestEntry]) -> list[ManifestFile]:
        """Manifests of these entries: apart by kind of file and by spec, and none much larger than it should be."""
        target = self._replacement.regroup or property_as_int(
            self._transaction.table_metadata.properties,
            TableProperties.MANIFEST_TARGET_SIZE_BYTES,
            TableProperties.MANIFEST_TARGET_SIZE_BYTES_DEFAULT,
        )
        assert target is not None
        manifests: list[ManifestFile] = []
        for (content, spec_id), group in groupby(sorted(entries, key=_kind), key=_kind):
            waiting = list(group)[::-1]
            while waiting:
                with self._writer(spec_id, content) as writer:
                    writer.add_entry(waiting.pop())
                    while waiting and writer.tell() < target:
                        writer.add_entry(waiting.pop())
                manifests.append(writer.to_manifest_file())
        return manifests

    def _writer(self, spec_id: int, holds: ManifestContent) -> ManifestWriter:
        given = (self.spec(spec_id), self.schema(), self.new_manifest_output(), self._snapshot_id, self._compression)
        if self._transaction.table_metadata.format_version == 1:
            return ManifestWriterV1(*given)
        writer = EntryWriter(*given)
        writer.holds = holds
        return writer

    def _require_written(self, expected: Iterable[ManifestEntry], written: Iterable[ManifestFile]) -> None:
        """Read the new manifests, and compare every entry with what it has to be.

        Raises:
            ContentChanged: one is missing, doubled or another one.
        """
        found = Counter(_shown(entry) for manifest in written for entry in all_entries(self._io, manifest))
        wanted = Counter(_shown(entry) for entry in expected)
        if found != wanted:
            differing = len((wanted - found) | (found - wanted))
            raise ContentChanged(
                f"{self._name}: {differing} entries of the manifests that were written are not what they should be.",
                remedy="keep the branch, and report it: the table is as it was",
            )

    def _summary(self, snapshot_properties: dict[str, str] | None = None) -> Summary:
        # PyIceberg adds up the totals of any operation but this one.
        said = summary(
            Operation.OVERWRITE,
            self._transaction.table_metadata,
            self._parent_snapshot_id,
            ((entry.data_file.spec_id, entry.data_file) for entry in self._replacement.into),
            ((entry.data_file.spec_id, entry.data_file) for entry in self._replacement.out),
            snapshot_properties or {},
        )
        return Summary(Operation.REPLACE, **said.additional_properties)


def _kind(entry: ManifestEntry) -> tuple[ManifestContent, int]:
    data = is_data(entry.data_file)
    return ManifestContent.DATA if data else ManifestContent.DELETES, entry.data_file.spec_id


def _place(entry: ManifestEntry) -> tuple[object, ...]:
    """Partitions in order, so that a manifest covers few of them; those without a value first."""
    spec_id, values = partition_of(entry.data_file)
    return spec_id, tuple((value is not None, value) for value in values), entry.sequence_number or 0


def _shown(entry: ManifestEntry) -> tuple[object, ...]:
    """All that has to be as it was; a number that is not there yet, or not in tables of version 1, is 0."""
    file = entry.data_file
    added = entry.status == ManifestEntryStatus.ADDED
    numbers = [max(entry.sequence_number or 0, 0), 0 if added else max(entry.file_sequence_number or 0, 0)]
    return entry.status, entry.snapshot_id, *numbers, file.content, file.spec_id, file.file_path, file.record_count
