"""Which data files deletes apply to: what a rewrite that is to get rid of the deletes has to read."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pyiceberg.manifest import DataFileContent, ManifestContent
from pyiceberg.table import Table as IcebergTable
from pyiceberg.table.snapshots import Snapshot

from lakehouse.commit.entries import live_entries, partition_of, referenced_path
from lakehouse.maintenance.manifest_files import ManifestCache
from lakehouse.maintenance.partitions import partition_named
from lakehouse.maintenance.state import PartitionState
from lakehouse.tables import Table


@dataclass
class _Deletes:
    """Delete files of one partition: of single data files, by their paths, or of whichever older one."""

    paths: set[str] = field(default_factory=set[str])
    newest: int = -1  # sequence number of the newest that names no single file


def with_touched_files(
    table: IcebergTable,
    declared: Table,
    snapshot: Snapshot,
    partitions: Sequence[PartitionState],
    cache: ManifestCache,
) -> tuple[PartitionState, ...]:
    """Count the data files that deletes apply to, in the partitions that have delete files.

    Delete files say which data file they are for, or else apply to all of their partition that are not newer.
    """
    deletes, everywhere = _deletes(table, declared, snapshot, cache)
    wanted = {one.partition.key for one in partitions if one.delete_files}
    touched: dict[str, list[int]] = {key: [] for key in wanted}
    if wanted:
        for manifest in cache.manifests(table.io, snapshot):
            if manifest.content is not ManifestContent.DATA:
                continue
            for entry in live_entries(table.io, manifest):
                key = partition_named(table, declared, *partition_of(entry.data_file)).key
                if key not in wanted:
                    continue
                applying = deletes.get(key, _Deletes())
                newest = max(applying.newest, everywhere)
                if entry.data_file.file_path in applying.paths or (entry.sequence_number or 0) <= newest:
                    touched[key].append(entry.data_file.file_size_in_bytes)
    return tuple(
        replace(one, touched=len(found), touched_bytes=sum(found))
        if (found := touched.get(one.partition.key)) is not None
        else replace(one, touched=0)
        for one in partitions
    )


def _deletes(
    table: IcebergTable, declared: Table, snapshot: Snapshot, cache: ManifestCache
) -> tuple[dict[str, _Deletes], int]:
    """By partition; and the sequence number of the newest equality deletes that are for all partitions."""
    found: dict[str, _Deletes] = {}
    everywhere = -1
    for manifest in cache.manifests(table.io, snapshot):
        if manifest.content is not ManifestContent.DELETES:
            continue
        for entry in live_entries(table.io, manifest):
            file, sequence = entry.data_file, entry.sequence_number or 0
            equality = file.content is DataFileContent.EQUALITY_DELETES
            if equality and not table.specs()[file.spec_id].fields:
                everywhere = max(everywhere, sequence - 1)  # equality deletes are for rows that are older, not as old
                continue
            one = found.setdefault(partition_named(table, declared, *partition_of(file)).key, _Deletes())
            if (path := referenced_path(file)) is not None:
                one.paths.add(path)
            else:
                one.newest = max(one.newest, sequence - 1 if equality else sequence)
    return found, everywhere
