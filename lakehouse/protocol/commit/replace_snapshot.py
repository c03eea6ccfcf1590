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
from lakehouse.iceberg.manifests.entry_reader import manifests_in
from lakehouse.iceberg.names import table_name
from lakehouse.iceberg.summary import summary
from lakehouse.protocol.commit.replacement import Replacement, Untouched
from lakehouse.protocol.errors import ContentChanged


@dataclass
class _Sorted:
    """What becomes of the manifests of the base."""

    kept: list[ManifestFile] = field(default_factory=list[ManifestFile])
    existing: list[ManifestEntry] = field(default_factory=list[ManifestEntry])
    removed: list[ManifestEntry] = field(default_factory=list[ManifestEntry])


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
            table.metadata.snapshot_by_id(snapshot_id or 0)
            for snapshot_id in (base, sealed.parent_snapshot_id if sealed else 0)
        ]
        base_manifests, regrouped_manifests = (
            manifests_in(table.io, snapshot.manifest_list) if snapshot else [] for snapshot in snapshots
        )
        return (
            cls(frozenset(manifest.manifest_path for manifest in base_manifests), tuple(regrouped_manifests))
            if base_manifests and regrouped_manifests
            else None
        )


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
        return self._sorted.kept

    def _deleted_entries(self) -> list[ManifestEntry]:
        return [self._entry(entry, ManifestEntryStatus.DELETED) for entry in self._sorted.removed]

    def _manifests(self) -> list[ManifestFile]:
        removed = self._deleted_entries()
        existing = [self._entry(entry, ManifestEntryStatus.EXISTING) for entry in self._sorted.existing]
        added = [self._entry(entry, ManifestEntryStatus.ADDED) for entry in self._replacement.into]
        if self._replacement.regroup is not None:
            existing.sort(key=_partition_order)
        manifests = [manifest for entries in (added, removed, existing) for manifest in self._write_manifests(entries)]
        self._require_written([*added, *removed, *existing], manifests)
        return [*manifests, *self._existing_manifests()]

    @cached_property
    def _sorted(self) -> _Sorted:
        removed_paths = {entry.data_file.file_path for entry in self._replacement.out}
        result, checked_entries = _Sorted(), list[ManifestEntry]()
        manifests = self._manifests_of_parent()
        if (regrouped := self._regrouped) is not None and regrouped.of <= {
            manifest.manifest_path for manifest in manifests
        }:
            return _Sorted(
                [*regrouped.into, *(manifest for manifest in manifests if manifest.manifest_path not in regrouped.of)]
            )
        for manifest in manifests:
            if manifest.content == ManifestContent.DATA and manifest.manifest_path in self._replacement.unconcerned:
                result.kept.append(manifest)
                continue
            entries = list(live_entries(self._io, manifest))
            removed_entries = [entry for entry in entries if entry.data_file.file_path in removed_paths]
            if removed_entries or manifest.content == ManifestContent.DELETES:
                checked_entries += entries
            if removed_entries or self._replacement.regroup is not None:
                result.removed += removed_entries
                result.existing += [entry for entry in entries if entry.data_file.file_path not in removed_paths]
            elif entries:
                result.kept.append(manifest)
        specs = self._transaction.table_metadata.specs()
        Untouched(self._name, specs, self._replacement).require(checked_entries)
        return result

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

    def _write_manifests(self, entries: Sequence[ManifestEntry]) -> list[ManifestFile]:
        """Manifests of these entries: apart by kind of file and by spec, and none much larger than it should be."""
        target = self._replacement.regroup or property_as_int(
            self._transaction.table_metadata.properties,
            TableProperties.MANIFEST_TARGET_SIZE_BYTES,
            TableProperties.MANIFEST_TARGET_SIZE_BYTES_DEFAULT,
        )
        assert target is not None
        manifests: list[ManifestFile] = []
        for (content, spec_id), group in groupby(sorted(entries, key=_kind), key=_kind):
            remaining = list(group)[::-1]
            while remaining:
                with self._writer(spec_id, content) as writer:
                    writer.add_entry(remaining.pop())
                    while remaining and writer.tell() < target:
                        writer.add_entry(remaining.pop())
                manifests.append(writer.to_manifest_file())
        return manifests

    def _writer(self, spec_id: int, content: ManifestContent) -> ManifestWriter:
        arguments = (
            self.spec(spec_id),
            self.schema(),
            self.new_manifest_output(),
            self._snapshot_id,
            self._compression,
        )
        if self._transaction.table_metadata.format_version == 1:
            return ManifestWriterV1(*arguments)
        writer = EntryWriter(*arguments)
        writer.holds = content
        return writer

    def _require_written(self, expected: Iterable[ManifestEntry], written: Iterable[ManifestFile]) -> None:
        """Read the new manifests, and compare every entry with what it has to be.

        Raises:
            ContentChanged: one is missing, doubled or another one.
        """
        actual_counts = Counter(
            _compared_values(entry) for manifest in written for entry in all_entries(self._io, manifest)
        )
        expected_counts = Counter(_compared_values(entry) for entry in expected)
        if actual_counts != expected_counts:
            differences = len((expected_counts - actual_counts) | (actual_counts - expected_counts))
            raise ContentChanged(
                f"{self._name}: {differences} entries of the manifests that were written are not what they should be.",
                remedy="keep the branch, and report it: the table is as it was",
            )

    def _summary(self, snapshot_properties: dict[str, str] | None = None) -> Summary:
        # PyIceberg adds up the totals of any operation but this one.
        overwrite = summary(
            Operation.OVERWRITE,
            self._transaction.table_metadata,
            self._parent_snapshot_id,
            ((entry.data_file.spec_id, entry.data_file) for entry in self._replacement.into),
            ((entry.data_file.spec_id, entry.data_file) for entry in self._replacement.out),
            snapshot_properties or {},
        )
        return Summary(Operation.REPLACE, **overwrite.additional_properties)


def _kind(entry: ManifestEntry) -> tuple[ManifestContent, int]:
    data = is_data(entry.data_file)
    return ManifestContent.DATA if data else ManifestContent.DELETES, entry.data_file.spec_id


def _partition_order(entry: ManifestEntry) -> tuple[object, ...]:
    """Partitions in order, so that a manifest covers few of them; those without a value first."""
    spec_id, values = partition_of(entry.data_file)
    return spec_id, tuple((value is not None, value) for value in values), entry.sequence_number or 0


def _compared_values(entry: ManifestEntry) -> tuple[object, ...]:
    """All that has to be as it was; a number that is not there yet, or not in tables of version 1, is 0."""
    file = entry.data_file
    added = entry.status == ManifestEntryStatus.ADDED
    numbers = [max(entry.sequence_number or 0, 0), 0 if added else max(entry.file_sequence_number or 0, 0)]
    return entry.status, entry.snapshot_id, *numbers, file.content, file.spec_id, file.file_path, file.record_count
