"""Which data files delete files apply to (specification, "Scan Planning"). PyIceberg plans no deletes by value."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from pyiceberg.manifest import DataFile, DataFileContent, ManifestEntry
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.transforms import VoidTransform

from lakehouse.iceberg.entries import PartitionKey, partition_of, referenced_path

Specs = Mapping[int, PartitionSpec]
"""A table's partition specs by their ids."""


def is_global(content: DataFileContent, spec: PartitionSpec) -> bool:
    """Whether delete files of a spec are for rows of all partitions, of whatever spec."""
    unpartitioned = all(isinstance(field.transform, VoidTransform) for field in spec.fields)
    return content is DataFileContent.EQUALITY_DELETES and unpartitioned


def can_apply(deletes: DataFile, specs: Specs, paths: Collection[str], partitions: Collection[PartitionKey]) -> bool:
    """Whether a delete file may delete rows of one of some data files, whichever of them is older.

    Args:
        deletes: the delete file.
        specs: of its table.
        paths: the data files.
        partitions: where they lie.
    """
    reach = _reach(deletes, specs)
    if isinstance(reach, str):
        return reach in paths
    return bool(paths) and (reach is None or reach in partitions)


@dataclass
class Applying:
    """Delete files, of which a data file can be asked whether one applies to it.

    Attributes:
        paths: data files that one of them is for.
        newest: partition → up to which sequence number they apply to whatever there is.
        everywhere: up to which they apply in all partitions.
    """

    paths: set[str] = field(default_factory=set[str])
    newest: dict[PartitionKey, int] = field(default_factory=dict[PartitionKey, int])
    everywhere: int = -1

    @classmethod
    def of(cls, deletes: Iterable[ManifestEntry], specs: Specs) -> "Applying":
        """Look at delete files of a table that has these specs."""
        applying = cls()
        for entry in deletes:
            reach = _reach(entry.data_file, specs)
            equality = entry.data_file.content is DataFileContent.EQUALITY_DELETES
            # Those by value are for rows that are older, those by position for rows that are as old as well.
            last = (entry.sequence_number or 0) - (1 if equality else 0)
            if isinstance(reach, str):
                applying.paths.add(reach)
            elif reach is None:
                applying.everywhere = max(applying.everywhere, last)
            else:
                applying.newest[reach] = max(applying.newest.get(reach, -1), last)
        return applying

    def to(self, data: ManifestEntry) -> bool:
        """Whether one of them applies to a data file."""
        last = max(self.newest.get(partition_of(data.data_file), -1), self.everywhere)
        return data.data_file.file_path in self.paths or (data.sequence_number or 0) <= last


def _reach(deletes: DataFile, specs: Specs) -> str | PartitionKey | None:
    """Where the rows are that a delete file is for: in a file of this path, or in this partition; None: anywhere."""
    if (path := referenced_path(deletes)) is not None:
        return path
    return None if is_global(deletes.content, specs[deletes.spec_id]) else partition_of(deletes)
