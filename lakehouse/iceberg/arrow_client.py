"""Arrow's file system for a location, which lists, and says how old a file is: PyIceberg's FileIO does neither.

PyIceberg reads `abfss://container@account/…` by adlfs alone: Arrow's own client for Azure takes no account from an
address. adlfs then stands behind Arrow's interface, and paths are as PyIceberg cuts them from addresses of all stores:
what follows the scheme, `container@account/…`.
"""

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit

import pyarrow.fs as arrow_fs
from fsspec import AbstractFileSystem
from pyiceberg.io import FileIO
from pyiceberg.io.fsspec import FsspecFileIO
from pyiceberg.io.pyarrow import PyArrowFileIO

_AZURE = ("abfs", "abfss", "wasb", "wasbs")


def arrow_client(io: FileIO, location: str) -> tuple[arrow_fs.FileSystem, str, str] | None:
    """The client, the scheme of the address, and the path by which the client knows it.

    Args:
        io: reads the files.
        location: an address of a file or folder.

    Returns:
        None where the FileIO's client does not say how old a file is.
    """
    scheme, netloc, path = PyArrowFileIO.parse_location(location, io.properties)
    if isinstance(io, PyArrowFileIO):
        return io.fs_by_scheme(scheme, netloc), scheme, path
    if isinstance(io, FsspecFileIO) and scheme in _AZURE:
        handler = _AzureHandler(io.get_fs(scheme, urlsplit(location).hostname), netloc)
        return arrow_fs.PyFileSystem(handler), scheme, path
    return None


class _AzureHandler(arrow_fs.FSSpecHandler):
    """Of adlfs what listing, looking and deleting need; it keeps no listing, which another writer would make untrue."""

    def __init__(self, store: AbstractFileSystem, netloc: str) -> None:
        super().__init__(store)
        self._store, self._netloc = store, netloc
        self._container = netloc.partition("@")[0]

    def get_file_info(self, paths: list[str]) -> list[arrow_fs.FileInfo]:
        self._store.invalidate_cache()
        return [self._info(path) for path in paths]

    def get_file_info_selector(self, selector: arrow_fs.FileSelector) -> list[arrow_fs.FileInfo]:
        self._store.invalidate_cache()
        depth = None if selector.recursive else 1
        entries = self._store.find(self._within(selector.base_dir), maxdepth=depth, withdirs=True, detail=True)
        return [
            _file_info(self._netloc + path[len(self._container) :], info)
            for path, info in cast("Mapping[str, Mapping[str, Any]]", entries).items()
        ]

    def delete_file(self, path: str) -> None:
        # `rm` would take a name with a `*` in it for a pattern.
        self._store.rm_file(self._within(path))

    def _info(self, path: str) -> arrow_fs.FileInfo:
        try:
            return _file_info(path, self._store.info(self._within(path)))
        except FileNotFoundError:
            return arrow_fs.FileInfo(path, arrow_fs.FileType.NotFound)

    def _within(self, path: str) -> str:
        return self._container + path[len(self._netloc) :]


def _file_info(path: str, info: Mapping[str, Any]) -> arrow_fs.FileInfo:
    if info["type"] != "file":
        return arrow_fs.FileInfo(path, arrow_fs.FileType.Directory)
    return arrow_fs.FileInfo(path, arrow_fs.FileType.File, size=info["size"], mtime=info.get("last_modified"))
