"""What measuring wants of a manifest: sizes and places of files, without paths and without bounds of columns.

A manifest never changes once it is written, so each is read once by a process. What is skipped in reading is most of
it: bounds and counts of every column of every file.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock

from pyiceberg.avro.reader import Reader
from pyiceberg.avro.resolver import ReadSchemaResolver, SchemaPartnerAccessor
from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFileContent, ManifestEntryStatus, ManifestFile
from pyiceberg.schema import Schema, visit_with_partner
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.typedef import Record
from pyiceberg.types import IcebergType, IntegerType, LongType, NestedField, StringType, StructType
from typing_extensions import override

from lakehouse.iceberg.manifests.entry_reader import PreparedReader, manifests_in, parsed

_MOST_FILES = 200_000
_MOST_LISTS = 500
_PARTITION = StructType()  # as it was written
_WANTED = Schema(
    NestedField(0, "status", IntegerType(), required=True),
    NestedField(1, "snapshot_id", LongType(), required=False),
    NestedField(
        2,
        "data_file",
        StructType(
            NestedField(134, "content", IntegerType(), required=False, initial_default=0),
            NestedField(101, "file_format", StringType(), required=True),
            NestedField(102, "partition", _PARTITION, required=True),
            NestedField(103, "record_count", LongType(), required=True),
            NestedField(104, "file_size_in_bytes", LongType(), required=True),
        ),
        required=True,
    ),
)


@dataclass(frozen=True, slots=True)
class MeasuredFile:
    """One entry.

    Attributes:
        live: whether the snapshot has it; otherwise the manifest's snapshot has removed it.
        snapshot_id: that added it, or removed it.
        content: rows, position deletes or equality deletes.
        values: of its partition's fields.
    """

    live: bool
    snapshot_id: int | None
    content: DataFileContent
    format: str
    values: tuple[object, ...]
    records: int
    size: int


@dataclass
class ManifestCache:
    """Manifests that this process has read, as many as hold `most_files` files; the least used go first."""

    most_files: int = _MOST_FILES
    _cached: OrderedDict[str, tuple[MeasuredFile, ...]] = field(
        default_factory=OrderedDict[str, tuple[MeasuredFile, ...]]
    )
    _lists: OrderedDict[str, tuple[ManifestFile, ...]] = field(
        default_factory=OrderedDict[str, tuple[ManifestFile, ...]]
    )
    _files: int = 0
    _lock: Lock = field(default_factory=Lock)

    def manifests(self, io: FileIO, snapshot: Snapshot) -> tuple[ManifestFile, ...]:
        """The manifests of a snapshot."""
        with self._lock:
            cached = self._lists.get(snapshot.manifest_list)
        if cached is None:
            cached = tuple(manifests_in(io, snapshot.manifest_list))
            with self._lock:
                self._lists[snapshot.manifest_list] = cached
                while len(self._lists) > _MOST_LISTS:
                    self._lists.popitem(last=False)
        return cached

    def files(self, io: FileIO, manifest: ManifestFile) -> tuple[MeasuredFile, ...]:
        """The entries of a manifest."""
        path = manifest.manifest_path
        with self._lock:
            if (cached := self._cached.get(path)) is not None:
                self._cached.move_to_end(path)
                return cached
        read = tuple(_read(io, manifest))
        with self._lock:
            if path not in self._cached:
                self._cached[path] = read
                self._files += len(read)
            while self._files > self.most_files and len(self._cached) > 1:
                _, evicted = self._cached.popitem(last=False)
                self._files -= len(evicted)
        return read


def _read(io: FileIO, manifest: ManifestFile) -> list[MeasuredFile]:
    files: list[MeasuredFile] = []
    with _SizesReader(io.new_input(manifest.manifest_path)) as entries:
        for entry in entries:
            file = entry[2]
            files.append(
                MeasuredFile(
                    live=entry[0] != ManifestEntryStatus.DELETED.value,
                    snapshot_id=manifest.added_snapshot_id if entry[1] is None else entry[1],
                    content=DataFileContent(file[0]),
                    format=file[1].upper(),
                    values=tuple(file[2][i] for i in range(len(file[2]))),
                    records=file[3],
                    size=file[4],
                )
            )
    return files


class LeavesOut(SchemaPartnerAccessor):
    """PyIceberg's own can leave out values, but no maps or lists, which is what bounds and counts are."""

    @override
    def list_element_partner(self, partner_list: IcebergType | None) -> IcebergType | None:
        return None if partner_list is None else super().list_element_partner(partner_list)

    @override
    def map_key_partner(self, partner_map: IcebergType | None) -> IcebergType | None:
        return None if partner_map is None else super().map_key_partner(partner_map)

    @override
    def map_value_partner(self, partner_map: IcebergType | None) -> IcebergType | None:
        return None if partner_map is None else super().map_value_partner(partner_map)

    @override
    def field_partner(self, partner: IcebergType | None, field_id: int, field_name: str) -> IcebergType | None:
        return None if partner is None else super().field_partner(partner, field_id, field_name)


@lru_cache(maxsize=64)
def _sizes_reader(schema: str) -> Reader:
    return visit_with_partner(parsed(schema), _WANTED, ReadSchemaResolver({-1: Record, 2: Record}), LeavesOut())


class _SizesReader(PreparedReader[Record]):
    prepared = staticmethod(_sizes_reader)
