"""Which data files delete files apply to (specification, "Scan Planning")."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pyiceberg.manifest import DataFileContent, ManifestEntry

from lakehouse.iceberg.entries import PartitionKey, partition_of, referenced_path


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
    def of(cls, deletes: Iterable[ManifestEntry]) -> "Applying":
        """Look at delete files."""
        applying = cls()
        for entry in deletes:
            partition = partition_of(entry.data_file)
            equality = entry.data_file.content is DataFileContent.EQUALITY_DELETES
            # Those by value are for rows that are older, those by position for rows that are as old as well.
            last = (entry.sequence_number or 0) - (1 if equality else 0)
            if (path := referenced_path(entry.data_file)) is not None:
                applying.paths.add(path)
            elif equality and not partition[1]:
                applying.everywhere = max(applying.everywhere, last)
            else:
                applying.newest[partition] = max(applying.newest.get(partition, -1), last)
        return applying

    def to(self, data: ManifestEntry) -> bool:
        """Whether one of them applies to a data file."""
        last = max(self.newest.get(partition_of(data.data_file), -1), self.everywhere)
        return data.data_file.file_path in self.paths or (data.sequence_number or 0) <= last
