"""Live data files of a snapshot, from its manifests.

PyIceberg works out how to read a manifest from the schema in its header, for each manifest again, which takes ten times
as long as reading the entries. All manifests of a table have few schemas between them.
"""

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Self

from pyiceberg.avro.decoder import new_decoder
from pyiceberg.avro.file import AvroFile
from pyiceberg.avro.reader import Reader
from pyiceberg.avro.resolver import resolve_reader
from pyiceberg.io import FileIO
from pyiceberg.manifest import (
    DEFAULT_READ_VERSION,
    MANIFEST_ENTRY_SCHEMAS,
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
)
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

_SCHEMA = "avro.schema"


def live_files(table: Table, snapshot: Snapshot) -> Iterator[tuple[int | None, DataFile]]:
    """The data files of a snapshot, each with the id of the snapshot that added it."""
    for manifest in snapshot.manifests(table.io):
        if manifest.content != ManifestContent.DATA:
            continue
        for entry in _entries(table.io, manifest.manifest_path):
            if entry.status != ManifestEntryStatus.DELETED:
                # An entry that does not say which snapshot added it was added by that of its manifest.
                added_by = manifest.added_snapshot_id if entry.snapshot_id is None else entry.snapshot_id
                yield added_by, entry.data_file


def has_deletes(table: Table, snapshot: Snapshot) -> bool:
    """Whether rows of live data files may be deleted."""
    return any(manifest.content == ManifestContent.DELETES for manifest in snapshot.manifests(table.io))


class _ManifestReader(AvroFile[ManifestEntry]):
    """PyIceberg's reader of Avro files, which prepares itself once for all files of one schema."""

    def __enter__(self) -> Self:
        """Open it."""
        with self.input_file.open() as stream:
            self.decoder = new_decoder(stream.read())
        self.header = self._read_header()
        self.reader = _prepared(self.header.meta[_SCHEMA])
        return self


@lru_cache(maxsize=64)
def _prepared(schema: str) -> Reader:
    return resolve_reader(
        AvroSchemaConversion().avro_to_iceberg(json.loads(schema)),
        MANIFEST_ENTRY_SCHEMAS[DEFAULT_READ_VERSION],
        {-1: ManifestEntry, 2: DataFile},
        {0: ManifestEntryStatus, 101: FileFormat, 134: DataFileContent},
    )


def _entries(io: FileIO, path: str) -> Iterator[ManifestEntry]:
    with _ManifestReader(io.new_input(path)) as entries:
        yield from entries
