from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.fs as arrow_fs
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from pyiceberg.io.fsspec import FsspecFileIO
from pyiceberg.io.pyarrow import PyArrowFileIO

from lakehouse.iceberg.arrow_client import arrow_client

NETLOC = "lake@account.dfs.core.windows.net"
WRITTEN = datetime(2026, 1, 2, tzinfo=UTC)


class _Memory(MemoryFileSystem):
    """fsspec's own file system in memory, which says the age of a file by the word of adlfs, and no path with a /."""

    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]

    def info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        return {**super().info(path, **kwargs), "last_modified": WRITTEN}

    def find(self, path: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return {
            name.lstrip("/"): {**info, "last_modified": WRITTEN}
            for name, info in super().find(path, *args, **kwargs).items()
        }


@pytest.fixture
def azure(monkeypatch: pytest.MonkeyPatch) -> FsspecFileIO:
    store = _Memory(skip_instance_cache=True)
    for name in ("w/a*", "w/ab", "w/b/c"):
        store.pipe_file(f"lake/{name}", b"1234")
    hosts = {("abfss", "account.dfs.core.windows.net"): store}
    monkeypatch.setattr(FsspecFileIO, "get_fs", lambda self, scheme, host=None: hosts[scheme, host])
    return FsspecFileIO({})


def test_arrow_itself_is_the_client_of_what_it_reads(tmp_path: Path) -> None:
    client, scheme, path = arrow_client(PyArrowFileIO(), tmp_path.as_uri()) or pytest.fail("no client")
    assert isinstance(client, arrow_fs.LocalFileSystem)
    assert (scheme, path) == ("file", str(tmp_path))


def test_of_other_stores_by_fsspec_nobody_knows_the_age_of_a_file() -> None:
    assert arrow_client(FsspecFileIO({}), "s3://bucket/w") is None


def test_files_in_azure_are_listed_by_the_names_of_their_addresses(azure: FsspecFileIO) -> None:
    client, scheme, path = arrow_client(azure, f"abfss://{NETLOC}/w") or pytest.fail("no client")
    assert (scheme, path) == ("abfss", f"{NETLOC}/w")
    entries = client.get_file_info(arrow_fs.FileSelector(path, recursive=True))
    files = {entry.path: (entry.size, entry.mtime) for entry in entries if entry.type == arrow_fs.FileType.File}
    assert files == {f"{NETLOC}/w/{name}": (4, WRITTEN) for name in ("a*", "ab", "b/c")}
    assert f"{NETLOC}/w/b" in {entry.path for entry in entries if entry.type == arrow_fs.FileType.Directory}


def test_a_file_in_azure_is_deleted_and_no_other_that_its_name_matches(azure: FsspecFileIO) -> None:
    client, _, path = arrow_client(azure, f"abfss://{NETLOC}/w/a*") or pytest.fail("no client")
    client.delete_file(path)
    assert client.get_file_info(path).type == arrow_fs.FileType.NotFound
    assert client.get_file_info(f"{NETLOC}/w/ab").mtime == WRITTEN
