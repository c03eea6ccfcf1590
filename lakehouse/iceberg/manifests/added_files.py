"""The paths of the files that some snapshots have added, and nothing else of their manifests."""

from collections.abc import Collection, Iterator
from functools import lru_cache

from pyiceberg.avro.reader import Reader
from pyiceberg.avro.resolver import ReadSchemaResolver
from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestEntryStatus, ManifestFile
from pyiceberg.schema import Schema, visit_with_partner
from pyiceberg.typedef import Record
from pyiceberg.types import IntegerType, LongType, NestedField, StringType, StructType

from lakehouse.iceberg.manifests.entry_reader import PreparedReader, parsed
from lakehouse.iceberg.manifests.manifest_files import LeavesOut

_WANTED = Schema(
    NestedField(0, "status", IntegerType(), required=True),
    NestedField(1, "snapshot_id", LongType(), required=False),
    NestedField(2, "data_file", StructType(NestedField(100, "file_path", StringType(), required=True)), required=True),
)


def added_paths(io: FileIO, manifest: ManifestFile, snapshot_ids: Collection[int]) -> Iterator[str]:
    """Paths of the files, of data or of deletes, that a manifest lists and one of the snapshots has added."""
    with _PathsReader(io.new_input(manifest.manifest_path)) as entries:
        for entry in entries:
            added_by = manifest.added_snapshot_id if entry[1] is None else entry[1]
            if entry[0] != ManifestEntryStatus.DELETED.value and added_by in snapshot_ids:
                yield entry[2][0]


@lru_cache(maxsize=64)
def _paths_reader(schema: str) -> Reader:
    return visit_with_partner(parsed(schema), _WANTED, ReadSchemaResolver({-1: Record, 2: Record}), LeavesOut())


class _PathsReader(PreparedReader[Record]):
    prepared = staticmethod(_paths_reader)
