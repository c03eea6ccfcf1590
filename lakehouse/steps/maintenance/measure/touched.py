"""Which data files deletes apply to: what a rewrite that is to get rid of the deletes has to read."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pyiceberg.manifest import ManifestContent, ManifestEntry
from pyiceberg.table import Table as IcebergTable
from pyiceberg.table.snapshots import Snapshot

from lakehouse.declarations import Table
from lakehouse.iceberg.delete_files import Applying
from lakehouse.iceberg.entries import live_entries, partition_of
from lakehouse.iceberg.manifests.manifest_files import ManifestCache
from lakehouse.steps.maintenance.model.partitions import partition_named
from lakehouse.steps.maintenance.model.state import PartitionState


def with_touched_files(
    table: IcebergTable,
    declared: Table,
    snapshot: Snapshot,
    partitions: Sequence[PartitionState],
    cache: ManifestCache,
) -> tuple[PartitionState, ...]:
    """Count the data files that deletes apply to, in the partitions that have delete files."""
    touched: dict[str, list[int]] = {
        partition_state.partition.key: [] for partition_state in partitions if partition_state.delete_files
    }
    if touched:
        deletes = Applying.of(_entries(table, snapshot, ManifestContent.DELETES, cache), table.specs())
        for entry in _entries(table, snapshot, ManifestContent.DATA, cache):
            if deletes.to(entry):
                key = partition_named(table, declared, *partition_of(entry.data_file)).key
                if key in touched:
                    touched[key].append(entry.data_file.file_size_in_bytes)
    return tuple(
        replace(
            partition_state,
            touched=len(sizes := touched.get(partition_state.partition.key, [])),
            touched_bytes=sum(sizes),
        )
        for partition_state in partitions
    )


def _entries(
    table: IcebergTable, snapshot: Snapshot, content: ManifestContent, cache: ManifestCache
) -> Iterator[ManifestEntry]:
    for manifest in cache.manifests(table.io, snapshot):
        if manifest.content is content:
            yield from live_entries(table.io, manifest)
