"""Entries of manifests, with all that they say: to read them, and to write them again in other manifests.

PyIceberg leaves out which data file a delete file is for (field 143 of the specification, which Spark writes into
tables of version 2 as well), and writes every manifest as one of data files.
"""

from collections.abc import Iterator
from functools import partial

from pyiceberg.avro.file import AvroOutputFile
from pyiceberg.conversions import from_bytes
from pyiceberg.io import FileIO
from pyiceberg.manifest import (
    DATA_FILE_TYPE,
    DataFile,
    DataFileContent,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriterV2,
    data_file_with_partition,
    manifest_entry_schema_with_data_file,
)
from pyiceberg.schema import Schema
from pyiceberg.types import StringType, StructType

from lakehouse.iceberg.manifests.entry_reader import PreparedReader, entry_reader

_WHOLE = 3
_PATH_OF_DELETES = 2147483546
_REFERENCED = 143
_FIELDS = DATA_FILE_TYPE[_WHOLE].fields
REFERENCED_AT = next(index for index, field in enumerate(_FIELDS) if field.field_id == _REFERENCED)
"""Where a file that has all fields says which data file it is for."""

PartitionKey = tuple[int, tuple[object, ...]]
"""Partition spec, and the values of its fields."""


def live_entries(io: FileIO, manifest: ManifestFile) -> Iterator[ManifestEntry]:
    """The files that a manifest lists and has not let go, with what they inherit from it."""
    with _EntryReader(io.new_input(manifest.manifest_path)) as entries:
        for entry in entries:
            if entry.status != ManifestEntryStatus.DELETED:
                yield _inherited(entry, manifest)


def all_entries(io: FileIO, manifest: ManifestFile) -> list[ManifestEntry]:
    """Also those that it has let go."""
    with _EntryReader(io.new_input(manifest.manifest_path)) as entries:
        return [_inherited(entry, manifest) for entry in entries]


def partition_of(file: DataFile) -> PartitionKey:
    """Where a file lies."""
    return file.spec_id, tuple(file.partition[i] for i in range(len(file.partition)))


def is_data(file: DataFile) -> bool:
    """Whether a file holds rows, and not deletes."""
    return file.content == DataFileContent.DATA


def referenced_path(deletes: DataFile) -> str | None:
    """The one data file that a position delete file is for, or None where it may be for several."""
    if deletes.content != DataFileContent.POSITION_DELETES:
        return None
    if len(deletes) > REFERENCED_AT and (named := deletes[REFERENCED_AT]) is not None:
        return str(named)
    lower, upper = ((bounds or {}).get(_PATH_OF_DELETES) for bounds in (deletes.lower_bounds, deletes.upper_bounds))
    return str(from_bytes(StringType(), lower)) if lower is not None and lower == upper else None


def whole(file: DataFile) -> DataFile:
    """The file with all fields that there are; a writer of data files fills in those of version 2 alone."""
    if (length := len(file)) >= len(_FIELDS):
        return file
    filled = DataFile(*(file[i] for i in range(length)), *[None] * (len(_FIELDS) - length))
    filled.spec_id = file.spec_id
    return filled


def _inherited(entry: ManifestEntry, manifest: ManifestFile) -> ManifestEntry:
    """Fill in what an entry leaves to its manifest (specification, "Sequence Number Inheritance")."""
    if entry.snapshot_id is None and manifest.added_snapshot_id is not None:
        entry.snapshot_id = manifest.added_snapshot_id
    if manifest.sequence_number == 0 or entry.status == ManifestEntryStatus.ADDED:
        if entry.sequence_number is None:
            entry.sequence_number = manifest.sequence_number
        if entry.file_sequence_number is None:
            entry.file_sequence_number = manifest.sequence_number
    entry.data_file.spec_id = manifest.partition_spec_id
    return entry


class _EntryReader(PreparedReader[ManifestEntry]):
    prepared = staticmethod(partial(entry_reader, version=_WHOLE))


class EntryWriter(ManifestWriterV2):
    """Writes a manifest of data files or of delete files, for a table of version 2."""

    holds = ManifestContent.DATA

    def content(self) -> ManifestContent:
        """What its entries are."""
        return self.holds

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes" if self.holds == ManifestContent.DELETES else "data"}

    def new_writer(self) -> AvroOutputFile[ManifestEntry]:
        """The writer of the Avro file."""
        partition = self._spec.partition_type(self._schema)
        data_file = data_file_with_partition(partition, _WHOLE)
        fields = [*data_file_with_partition(partition, self.version).fields, data_file.field(_REFERENCED)]
        return AvroOutputFile[ManifestEntry](
            output_file=self._output_file,
            file_schema=_entry_of(StructType(*(field for field in fields if field is not None))),
            record_schema=_entry_of(data_file),
            schema_name="manifest_entry",
            metadata=self._meta,
        )


def _entry_of(data_file: StructType) -> Schema:
    return manifest_entry_schema_with_data_file(2, data_file)
