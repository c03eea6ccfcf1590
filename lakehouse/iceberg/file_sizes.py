"""How many bytes a file has by the metadata that lists it, and how many in storage.

Metadata are read for paths and sizes alone. Storage is listed once where a table has many files: an object store gives
a thousand of them for one question. A few files, and those that lie elsewhere, are asked for one by one, at once.
"""

from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import pyarrow.fs as arrow_fs
from pyiceberg.avro.reader import Reader
from pyiceberg.avro.resolver import ReadSchemaResolver
from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestEntryStatus
from pyiceberg.schema import Schema, visit_with_partner
from pyiceberg.typedef import Record
from pyiceberg.types import IntegerType, LongType, NestedField, StringType, StructType

from lakehouse.iceberg.arrow_client import arrow_client
from lakehouse.iceberg.locations import place_of
from lakehouse.iceberg.manifests.entry_reader import PreparedReader, parsed
from lakehouse.iceberg.manifests.manifest_files import LeavesOut

_AT_ONCE = 16
_FEW = 100
_WANTED = Schema(
    NestedField(0, "status", IntegerType(), required=True),
    NestedField(
        2,
        "data_file",
        StructType(
            NestedField(134, "content", IntegerType(), required=False, initial_default=0),
            NestedField(100, "file_path", StringType(), required=True),
            NestedField(104, "file_size_in_bytes", LongType(), required=True),
        ),
        required=True,
    ),
)


def listed_sizes(io: FileIO, manifest: str) -> Iterator[tuple[str, int, bool]]:
    """Path, bytes, and whether it holds rows and not deletes, of the files that a manifest lets a reader see."""
    with _SizesReader(io.new_input(manifest)) as entries:
        for entry in entries:
            if entry[0] != ManifestEntryStatus.DELETED.value:
                content, path, size = entry[1]
                yield path, size, content == 0


def stored_sizes(io: FileIO, location: str, paths: Collection[str]) -> dict[str, int | None]:
    """Path → bytes in storage; None where it is not there.

    Args:
        io: reads the files.
        location: below which most of them lie.
        paths: as metadata name them.

    Raises:
        OSError: the store refused to answer.
    """
    local = isinstance(_client(io, location), arrow_fs.LocalFileSystem)
    listed = _listing(io, location) if len(paths) > _FEW and not local else {}
    sizes: dict[str, int | None] = {path: listed[place] for path in paths if (place := place_of(path)) in listed}
    others = [path for path in paths if path not in sizes]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return sizes | dict(zip(others, pool.map(lambda path: _size(io, path), others), strict=True))


def _size(io: FileIO, path: str) -> int | None:
    try:
        return len(io.new_input(path))
    except FileNotFoundError:
        return None


def _client(io: FileIO, location: str) -> arrow_fs.FileSystem | None:
    known = arrow_client(io, location)
    return known[0] if known else None


def _listing(io: FileIO, location: str) -> Mapping[str, int]:
    """Place → bytes of all files below a location; empty where nobody can list them, and each is asked for."""
    known = arrow_client(io, location)
    if known is None:
        return {}
    client, scheme, path = known
    entries = client.get_file_info(arrow_fs.FileSelector(path, recursive=True, allow_not_found=True))
    return {
        place_of(f"{scheme}://{entry.path}"): entry.size or 0
        for entry in entries
        if entry.type == arrow_fs.FileType.File
    }


@lru_cache(maxsize=64)
def _sizes_reader(schema: str) -> Reader:
    return visit_with_partner(parsed(schema), _WANTED, ReadSchemaResolver({-1: Record, 2: Record}), LeavesOut())


class _SizesReader(PreparedReader[Record]):
    prepared = staticmethod(_sizes_reader)
