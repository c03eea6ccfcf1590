from pathlib import Path

import pytest
from pyiceberg.io.fsspec import FsspecFileIO
from pyiceberg.io.pyarrow import PyArrowFileIO

from lakehouse.iceberg.storage_time import modified_ms


def test_a_disk_and_a_store_say_when_a_file_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By way of PyArrow a store does; other ways of PyIceberg do not pass it on."""
    file = tmp_path / "list.avro"
    file.write_bytes(b"")
    written = file.stat().st_mtime_ns // 1_000_000
    assert modified_ms(PyArrowFileIO(), file.as_uri()) == written
    monkeypatch.setattr("lakehouse.iceberg.storage_time.local_path", lambda _: None)
    assert modified_ms(PyArrowFileIO(), file.as_uri()) == written
    assert modified_ms(FsspecFileIO({}), file.as_uri()) is None
