"""What lies in each partition, and how it changes: from the entries of manifests."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from pyiceberg.manifest import DataFileContent, ManifestContent
from pyiceberg.table import Table as IcebergTable
from pyiceberg.table.snapshots import Snapshot

from lakehouse.declarations import Rewrite, Table
from lakehouse.iceberg.delete_files import is_global
from lakehouse.iceberg.entries import PartitionKey
from lakehouse.iceberg.manifests.manifest_files import ManifestCache, MeasuredFile
from lakehouse.protocol.seals.history import ancestry, head_of
from lakehouse.steps.maintenance.measure.cadence import hours_of, removes
from lakehouse.steps.maintenance.measure.history import moment, own_snapshots
from lakehouse.steps.maintenance.model.partition_filter import where
from lakehouse.steps.maintenance.model.partitions import partition_end, partition_named
from lakehouse.steps.maintenance.model.preconditions import NotNameable
from lakehouse.steps.maintenance.model.state import MeasuredState, Partition, PartitionState, Totals

_FRAGMENT = 8  # a file below this part of the target is a fragment, in Amoro's word
_REMOVALS = 20


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
    rewrite = declared.maintenance.rewrite or Rewrite()
    files, global_deletes = _live_files(table, snapshot, cache)
    own = own_snapshots(table, state.history)
    all_times = {snapshot.snapshot_id: snapshot.timestamp for snapshot in state.history if snapshot.on_main}
    hours = hours_of(state.history, state.measured_at)
    removals = _removals(table, _removing(table, own)[:_REMOVALS], cache)
    partitions: list[PartitionState] = []
    for key, partition_files in files.items():
        changed_by = {file.snapshot_id for file in partition_files if file.snapshot_id is not None} & all_times.keys()
        # A removal may have left no file behind that is of its snapshot.
        changes = {all_times[snapshot_id] for snapshot_id in changed_by - own} | removals.get(key, set())
        partitions.append(
            replace(
                _counted([*partition_files, *global_deletes], rewrite, partition_named(table, declared, *key)),
                last_change=max(changes, default=None),
                changes_per_hour=round(len(changes) / hours, 3),
                rewritten=max((all_times[snapshot_id] for snapshot_id in changed_by & own), default=None),
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


def _live_files(
    table: IcebergTable, snapshot: Snapshot, cache: ManifestCache
) -> tuple[Mapping[PartitionKey, Sequence[MeasuredFile]], Sequence[MeasuredFile]]:
    """Files of data and of deletes of each partition, and the delete files that are for all of them."""
    files: dict[PartitionKey, list[MeasuredFile]] = {}
    global_deletes: list[MeasuredFile] = []
    for key, file in _live(table, snapshot, cache):
        if is_global(file.content, table.specs()[key[0]]):
            global_deletes.append(file)
        else:
            files.setdefault(key, []).append(file)
    return files, global_deletes


def _counted(files: Sequence[MeasuredFile], rewrite: Rewrite, partition: Partition) -> PartitionState:
    """A partition's files and those of deletes that can apply there, by number, rows and bytes."""
    data = [file for file in files if file.content is DataFileContent.DATA]
    foreign = [file for file in data if rewrite.to_format not in (None, file.format.lower())]
    right_format = [file for file in data if rewrite.to_format in (None, file.format.lower())]
    undersized = [file for file in right_format if file.size < rewrite.min_file_size]
    oversized = [file for file in right_format if file.size > rewrite.max_file_size]
    deletes = [file for file in files if file.content is not DataFileContent.DATA]
    by_value = [file for file in deletes if file.content is DataFileContent.EQUALITY_DELETES]
    return PartitionState(
        partition=partition,
        files=len(data),
        bytes=_bytes(data),
        records=_records(data),
        fragments=sum(file.size < rewrite.target_file_size / _FRAGMENT for file in data),
        undersized=len(undersized),
        undersized_bytes=_bytes(undersized),
        oversized=len(oversized),
        oversized_bytes=_bytes(oversized),
        delete_files=len(deletes),
        delete_bytes=_bytes(deletes),
        position_deletes=_records(deletes) - _records(by_value),
        equality_deletes=_records(by_value),
        formats=dict(sorted(Counter(file.format for file in data).items())),
        foreign=len(foreign),
        foreign_bytes=_bytes(foreign),
    )


def _bytes(files: Iterable[MeasuredFile]) -> int:
    return sum(file.size for file in files)


def _records(files: Iterable[MeasuredFile]) -> int:
    return sum(file.records for file in files)


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
