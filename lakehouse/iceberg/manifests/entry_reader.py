"""Live data files of a snapshot, from its manifests.

PyIceberg works out how to read a manifest from the schema in its header, for each manifest again, which takes ten times
as long as reading the entries. All manifests of a table have few schemas between them.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Generic, Self, TypeVar

from pyiceberg.avro.decoder import new_decoder
from pyiceberg.avro.file import META_SCHEMA, AvroFile, AvroFileHeader
from pyiceberg.avro.reader import Reader
from pyiceberg.avro.resolver import construct_reader, resolve_reader
from pyiceberg.io import FileIO
from pyiceberg.manifest import (
    DEFAULT_READ_VERSION,
    MANIFEST_ENTRY_SCHEMAS,
    MANIFEST_LIST_FILE_SCHEMAS,
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    PartitionFieldSummary,
)
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.typedef import Record
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

from lakehouse.iceberg.manifests.avro_container import require_whole

UNREADABLE = (FileNotFoundError, EOFError, KeyError, ValueError)
"""What reading ends with where a file is gone, or was torn by a power cut."""
_SCHEMA = "avro.schema"
_Row = TypeVar("_Row", ManifestFile, ManifestEntry, Record)


@dataclass(frozen=True)
class SnapshotManifests:
    """The manifests of a snapshot, read as they are asked for."""

    io: FileIO
    files: tuple[ManifestFile, ...]

    @classmethod
    def of(cls, table: Table, snapshot: Snapshot) -> "SnapshotManifests":
        """Read the list of manifests."""
        return cls(table.io, tuple(_rows(_ListReader, table.io, snapshot.manifest_list)))

    @property
    def with_deletes(self) -> bool:
        """Whether rows of live data files may be deleted."""
        return any(manifest.content == ManifestContent.DELETES for manifest in self.files)

    def live_files(self) -> Iterator[tuple[int | None, DataFile]]:
        """The data files, each with the id of the snapshot that added it."""
        for manifest in self.files:
            if manifest.content != ManifestContent.DATA:
                continue
            for entry in _rows(_ManifestReader, self.io, manifest.manifest_path):
                if entry.status != ManifestEntryStatus.DELETED:
                    # An entry that does not say which snapshot added it was added by that of its manifest.
                    added_by = manifest.added_snapshot_id if entry.snapshot_id is None else entry.snapshot_id
                    yield added_by, entry.data_file


def manifests_in(io: FileIO, manifest_list: str) -> list[ManifestFile]:
    """The manifests of a list."""
    return list(_rows(_ListReader, io, manifest_list))


def live_paths(io: FileIO, manifest: str) -> Iterator[str]:
    """Paths of the files, of data or of deletes, that a manifest lets a reader see."""
    for entry in _rows(_ManifestReader, io, manifest):
        if entry.status != ManifestEntryStatus.DELETED:
            yield entry.data_file.file_path


def named_paths(io: FileIO, manifest: str) -> Iterator[str]:
    """Paths of all files that a manifest names, also of those that it lets go."""
    for entry in _rows(_ManifestReader, io, manifest):
        yield entry.data_file.file_path


class PreparedReader(AvroFile[_Row], Generic[_Row]):
    """PyIceberg's reader of Avro files, which prepares itself once for all files of one schema."""

    prepared: Callable[[str], Reader]

    def __enter__(self) -> Self:
        """Open it.

        Raises:
            EOFError: it was cut.
            ValueError: it is no Avro file, or a damaged one.
        """
        with self.input_file.open() as stream:
            data = stream.read()
        require_whole(data)
        self.decoder = new_decoder(data)
        self.header = _header().read(self.decoder)
        self.reader = type(self).prepared(self.header.meta[_SCHEMA])
        return self


@cache
def _header() -> Reader:
    return construct_reader(META_SCHEMA, {-1: AvroFileHeader})


@lru_cache(maxsize=16)
def _list_reader(schema: str) -> Reader:
    return resolve_reader(
        parsed(schema),
        MANIFEST_LIST_FILE_SCHEMAS[DEFAULT_READ_VERSION],
        {-1: ManifestFile, 508: PartitionFieldSummary},
        {517: ManifestContent},
    )


@lru_cache(maxsize=128)
def entry_reader(schema: str, version: int = DEFAULT_READ_VERSION) -> Reader:
    """A reader of entries that a manifest wrote by this schema, with the fields that a version of the format knows."""
    return resolve_reader(
        parsed(schema),
        MANIFEST_ENTRY_SCHEMAS[version],
        {-1: ManifestEntry, 2: DataFile},
        {0: ManifestEntryStatus, 101: FileFormat, 134: DataFileContent},
    )


class _ListReader(PreparedReader[ManifestFile]):
    prepared = staticmethod(_list_reader)


class _ManifestReader(PreparedReader[ManifestEntry]):
    prepared = staticmethod(entry_reader)


def parsed(schema: str) -> Schema:
    """The Iceberg schema of an Avro file's header."""
    return AvroSchemaConversion().avro_to_iceberg(json.loads(schema))


def _rows(kind: type[PreparedReader[_Row]], io: FileIO, path: str) -> Iterator[_Row]:
    with kind(io.new_input(path)) as rows:
        yield from rows
