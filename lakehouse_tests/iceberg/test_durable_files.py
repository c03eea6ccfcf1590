"""Which files and folders are synced, and in which order."""

import errno
import os
from pathlib import Path

import pytest

from lakehouse.iceberg.durable_files import local_path, sync_files

Synced = list[str]


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> Synced:
    """Paths, as they are synced."""
    paths: Synced = []
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: paths.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
    )
    return paths


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """In two folders of a table."""
    paths = [tmp_path / "t" / "metadata" / "list.avro", tmp_path / "t" / "data" / "d=1" / "rows.parquet"]
    for path in paths:
        path.parent.mkdir(parents=True)
        path.write_bytes(b"rows")
    return paths


def test_files_come_before_the_folders_that_name_them(files: list[Path], synced: Synced) -> None:
    table = files[0].parents[1]
    sync_files([f"file://{path}" for path in files], tops=[table.as_uri()])
    assert set(synced[:2]) == {str(path) for path in files}
    assert sorted(synced[2:]) == [str(table / name) for name in ("", "data", "data/d=1", "metadata")]


def test_without_a_top_all_folders_count_that_we_may_have_made(
    files: list[Path], synced: Synced, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda folder, _: Path(folder).is_relative_to(tmp_path))
    sync_files([str(files[0])])
    assert sorted(synced[1:]) == [str(tmp_path), str(tmp_path / "t"), str(tmp_path / "t" / "metadata")]


def test_what_is_in_an_object_store_is_left_out(synced: Synced) -> None:
    sync_files(["s3://bucket/t/data/rows.parquet"])
    assert synced == []
    assert local_path("s3://bucket/t/rows.parquet") is None


def test_a_disk_that_refuses_is_named(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="Input/output error") as caught:
        sync_files([str(files[0])])
    assert caught.value.filename == str(files[0])
