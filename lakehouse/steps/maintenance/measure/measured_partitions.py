"""What lies in each partition, and how it changes: from the entries of manifests."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from pyiceberg.manifest import DataFileContent, ManifestContent
from pyiceberg.table import Table as IcebergTable
from pyiceberg.table.snapshots import Snapshot

from lakehouse.declarations import Rewrite, Table
from lakehouse.iceberg.entries import PartitionKey
from lakehouse.iceberg.manifest_files import ManifestCache, MeasuredFile
from lakehouse.protocol.seals.history import ancestry, head_of
from lakehouse.steps.maintenance.measure.cadence import hours_of, removes
from lakehouse.steps.maintenance.measure.history import moment, own_snapshots
from lakehouse.steps.maintenance.model.partition_filter import where
from lakehouse.steps.maintenance.model.partitions import partition_end, partition_named
from lakehouse.steps.maintenance.model.preconditions import NotNameable
from lakehouse.steps.maintenance.model.state import MeasuredState, PartitionState, Totals

_FRAGMENT = 8  # a file below this part of the target is a fragment, in Amoro's word
_REMOVALS = 20


@dataclass
class _Counts:
    """One partition, while its files are counted."""

    files: int = 0
    bytes: int = 0
    records: int = 0
    fragments: int = 0
    undersized: int = 0
    undersized_bytes: int = 0
    oversized: int = 0
    oversized_bytes: int = 0
    delete_files: int = 0
    delete_bytes: int = 0
    position_deletes: int = 0
    equality_deletes: int = 0
    foreign: int = 0
    foreign_bytes: int = 0
    formats: Counter[str] = field(default_factory=Counter[str])
    changed_by: set[int] = field(default_factory=set[int])

    def count(self, file: MeasuredFile, rewrite: Rewrite) -> None:
        if file.snapshot_id is not None:
            self.changed_by.add(file.snapshot_id)
        if file.content is not DataFileContent.DATA:
            self.count_deletes(file)
            return
        self.files += 1
        self.bytes += file.size
        self.records += file.records
        self.formats[file.format] += 1
        self.fragments += file.size < rewrite.target_file_size / _FRAGMENT
        if rewrite.to_format is not None and file.format.lower() != rewrite.to_format:
            self.foreign += 1
            self.foreign_bytes += file.size
        elif file.size < rewrite.min_file_size:
            self.undersized += 1
            self.undersized_bytes += file.size
        elif file.size > rewrite.max_file_size:
            self.oversized += 1
            self.oversized_bytes += file.size

    def count_deletes(self, file: MeasuredFile) -> None:
        self.delete_files += 1
        self.delete_bytes += file.size
        if file.content is DataFileContent.EQUALITY_DELETES:
            self.equality_deletes += file.records
        else:
            self.position_deletes += file.records


def measured_partitions(
    table: IcebergTable, declared: Table, snapshot: Snapshot, state: MeasuredState, cache: ManifestCache
) -> tuple[PartitionState, ...]:
    """Count the files of each partition, by the partition's name.

    Args:
        table: the table.
        declared: its policy says what is too small, and which columns are sensitive.
        snapshot: of which the files are counted.
        state: what is known of the table so far.
        cache: manifests that were read before.
    """
    counts = _counted(table, snapshot, declared.maintenance.rewrite or Rewrite(), cache)
    own = own_snapshots(table, state.history)
    all_times = {snapshot.snapshot_id: snapshot.at for snapshot in state.history if snapshot.on_main}
    foreign_times = {snapshot_id: time for snapshot_id, time in all_times.items() if snapshot_id not in own}
    hours = hours_of(state.history, state.measured_at)
    removals = _removals(table, _removing(table, own)[:_REMOVALS], cache)
    partitions: list[PartitionState] = []
    for key, partition_counts in counts.items():
        # A removal may have left no file behind that is of its snapshot.
        changes = {
            foreign_times[snapshot_id] for snapshot_id in partition_counts.changed_by if snapshot_id in foreign_times
        } | removals.get(key, set())
        partitions.append(
            PartitionState(
                partition=partition_named(table, declared, *key),
                files=partition_counts.files,
                bytes=partition_counts.bytes,
                records=partition_counts.records,
                fragments=partition_counts.fragments,
                undersized=partition_counts.undersized,
                undersized_bytes=partition_counts.undersized_bytes,
                oversized=partition_counts.oversized,
                oversized_bytes=partition_counts.oversized_bytes,
                delete_files=partition_counts.delete_files,
                delete_bytes=partition_counts.delete_bytes,
                position_deletes=partition_counts.position_deletes,
                equality_deletes=partition_counts.equality_deletes,
                formats=dict(sorted(partition_counts.formats.items())),
                foreign=partition_counts.foreign,
                foreign_bytes=partition_counts.foreign_bytes,
                last_change=max(changes, default=None),
                changes_per_hour=round(len(changes) / hours, 3),
                rewritten=max(
                    (
                        all_times[snapshot_id]
                        for snapshot_id in partition_counts.changed_by
                        if snapshot_id in all_times and snapshot_id in own
                    ),
                    default=None,
                ),
                ends=partition_end(table, *key),
                unnameable=_unnameable(table, key),
            )
        )
    return tuple(
        sorted(partitions, key=lambda partition_state: (partition_state.partition.name, partition_state.partition.key))
    )


def _unnameable(table: IcebergTable, key: PartitionKey) -> str:
    try:
        where(table, [key])
    except NotNameable as error:
        return error.what
    return ""


def counted(totals: Totals, partitions: Sequence[PartitionState]) -> Totals:
    """The totals as counted, which no writer can have got wrong. Delete files for all partitions are in each."""
    return replace(
        totals,
        files=sum(partition.files for partition in partitions),
        records=sum(partition.records for partition in partitions),
        bytes=totals.bytes or sum(partition.bytes + partition.delete_bytes for partition in partitions),
        delete_files=totals.delete_files or max((partition.delete_files for partition in partitions), default=0),
    )


def _counted(
    table: IcebergTable, snapshot: Snapshot, rewrite: Rewrite, cache: ManifestCache
) -> Mapping[PartitionKey, _Counts]:
    counts: dict[PartitionKey, _Counts] = {}
    unpartitioned_deletes: list[MeasuredFile] = []
    for key, file in _live(table, snapshot, cache):
        # Equality deletes of a spec without fields are for rows of all partitions, of whatever spec.
        if file.content is DataFileContent.EQUALITY_DELETES and not table.specs()[key[0]].fields:
            unpartitioned_deletes.append(file)
        else:
            counts.setdefault(key, _Counts()).count(file, rewrite)
    for file in unpartitioned_deletes:
        for partition_counts in counts.values():
            partition_counts.count_deletes(file)
    return counts


def _live(table: IcebergTable, snapshot: Snapshot, cache: ManifestCache) -> Iterator[tuple[PartitionKey, MeasuredFile]]:
    for manifest in cache.manifests(table.io, snapshot):
        for file in cache.files(table.io, manifest):
            if file.live:
                yield (manifest.partition_spec_id, file.values), file


def _removing(table: IcebergTable, own: frozenset[int]) -> list[Snapshot]:
    """Commits of others that removed rows, newest first."""
    return [
        snapshot
        for snapshot in ancestry(table, head_of(table))
        if snapshot.snapshot_id not in own and removes(snapshot)
    ]


def _removals(
    table: IcebergTable, removing: Sequence[Snapshot], cache: ManifestCache
) -> Mapping[PartitionKey, set[datetime]]:
    """When rows were removed from which partition by these commits."""
    times: dict[PartitionKey, set[datetime]] = {}
    for snapshot in removing:
        for key in _removed_by(table, snapshot, cache):
            times.setdefault(key, set()).add(moment(snapshot.timestamp_ms))
    return times


def _removed_by(table: IcebergTable, snapshot: Snapshot, cache: ManifestCache) -> Iterable[PartitionKey]:
    for manifest in cache.manifests(table.io, snapshot):
        if manifest.added_snapshot_id != snapshot.snapshot_id:
            continue
        deletes = manifest.content is ManifestContent.DELETES
        for file in cache.files(table.io, manifest):
            if file.snapshot_id == snapshot.snapshot_id and (deletes or not file.live):
                yield manifest.partition_spec_id, file.values
