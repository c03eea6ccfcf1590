"""What a snapshot says of itself: what it adds and removes, and the totals.

PyIceberg's own summary names each partition that has changed as a person would, and ends in an error where a partition
is a day that is no date of Python's. Spark writes such days, and a commit must not fail by what it is called.
"""

from collections.abc import Iterable, Mapping

from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import TableProperties
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation, SnapshotSummaryCollector, Summary, update_snapshot_summaries
from pyiceberg.table.update.snapshot import (
    _MergeAppendFiles,  # pyright: ignore[reportPrivateUsage] - what an append is made of
)
from pyiceberg.utils.properties import property_as_int
from typing_extensions import override


def summary(
    operation: Operation,
    metadata: TableMetadata,
    parent: int | None,
    added: Iterable[tuple[int, DataFile]],
    removed: Iterable[tuple[int, DataFile]],
    properties: Mapping[str, str],
) -> Summary:
    """The summary of a snapshot.

    Args:
        operation: that PyIceberg can add up.
        metadata: of the table.
        parent: snapshot id of the parent.
        added: files that come, each with the id of its spec, which PyIceberg's new ones do not know.
        removed: files that go.
        properties: what else it says.
    """
    limit = property_as_int(
        metadata.properties,
        TableProperties.WRITE_PARTITION_SUMMARY_LIMIT,
        TableProperties.WRITE_PARTITION_SUMMARY_LIMIT_DEFAULT,
    )
    collected, schema, specs = _Changed(limit or 0), metadata.schema(), metadata.specs()
    for spec_id, file in added:
        collected.add_file(file, schema, specs[spec_id])
    for spec_id, file in removed:
        collected.remove_file(file, schema, specs[spec_id])
    parent_snapshot = metadata.snapshot_by_id(parent) if parent is not None else None
    return update_snapshot_summaries(
        Summary(operation, **collected.build(), **properties), parent_snapshot.summary if parent_snapshot else None
    )


class AppendFiles(_MergeAppendFiles):
    """One snapshot that adds files, and merges small manifests on the way."""

    @override
    def _summary(self, snapshot_properties: dict[str, str] | None = None) -> Summary:
        metadata = self._transaction.table_metadata
        added = [(metadata.default_spec_id, file) for file in self._added_data_files]
        return summary(self._operation, metadata, self._parent_snapshot_id, added, (), snapshot_properties or {})


class _Changed(SnapshotSummaryCollector):
    @override
    def update_partition_metrics(
        self, partition_spec: PartitionSpec, file: DataFile, is_add_file: bool, schema: Schema
    ) -> None:
        try:
            super().update_partition_metrics(partition_spec, file, is_add_file, schema)
        except (OverflowError, ValueError):
            values = (f"{field.name}={file.partition[index]}" for index, field in enumerate(partition_spec.fields))
            changed = self.partition_metrics["/".join(values)]
            (changed.add_file if is_add_file else changed.remove_file)(file)
