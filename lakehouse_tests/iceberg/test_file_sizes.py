"""How many bytes storage has of each file: by one listing where there are many, and one by one elsewhere.

Guarded mechanism: what a listing has is asked for no more. That both answer alike: `proofs/audit/test_stored_files.py`.
"""

from pathlib import Path

import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO

from lakehouse.iceberg import file_sizes


def test_a_listing_is_one_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def size(io: object, path: str) -> None:
        asked.append(path)

    monkeypatch.setattr(file_sizes.arrow_fs, "LocalFileSystem", type("Elsewhere", (), {}))
    monkeypatch.setattr(file_sizes, "_size", size)
    paths = [tmp_path / "data" / f"{number}.parquet" for number in range(file_sizes._FEW + 1)]
    (tmp_path / "data").mkdir()
    for path in paths[1:]:
        path.write_bytes(b"abc")
    addresses = [path.as_uri() for path in paths]
    sizes = file_sizes.stored_sizes(PyArrowFileIO({}), tmp_path.as_uri(), addresses)
    assert sizes == {addresses[0]: None, **dict.fromkeys(addresses[1:], 3)}
    assert asked == addresses[:1]
