"""A catalog file that is locked, damaged, empty or gone ends with one message that names it and what to do.

Guarded mechanism: the look at the file before the embedded catalog is opened.
"""

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.catalog.sql_catalog import sqlite_file
from lakehouse.protocol.catalog.sql_catalog.sql import SqlLakeCatalog
from lakehouse.protocol.catalog.sql_catalog.sqlite_file import CatalogUnusable
from lakehouse.protocol.errors import MetadataFileDamaged
from lakehouse_tests.fixtures.lakes import Lake, sql_settings


@pytest.fixture
def file(sql_lake: Lake, tmp_path: Path) -> Path:
    """The file of a catalog that has a table, all of it in the file itself."""
    sql_lake.create("a")
    assert isinstance(sql_lake.catalog, SqlLakeCatalog)
    sql_lake.catalog.engine.dispose()
    path = tmp_path / "catalog.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def without_log(path: Path) -> None:
    """The log beside a file that is damaged next would mend it."""
    for end in ("-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "garbage": (lambda path: path.write_bytes(b"garbage!" * 1000), r"cannot be read \(file is not a database\)"),
    "half": (lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]), "cannot be read"),
    "empty": (lambda path: path.write_bytes(b""), "is empty, and the warehouse .* has tables"),
    "gone": (Path.unlink, "is gone, and the warehouse .* has tables"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_is_no_catalog_any_more_is_to_be_restored(file: Path, damage: str) -> None:
    spoil, message = DAMAGES[damage]
    without_log(file)
    spoil(file)
    spoilt = file.read_bytes() if file.exists() else None
    with pytest.raises(CatalogUnusable, match=f"{re.escape(str(file))} {message}.* Remedy: restore .* from a backup"):
        open_catalog(sql_settings(file.parent))
    assert (file.read_bytes() if file.exists() else None) == spoilt


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        ("unable to open database file", "may not be written to"),
        ("attempt to write a readonly database", "is read-only"),
        ("database or disk is full", "is full"),
    ],
)
def test_a_folder_that_takes_no_log_is_named_and_nothing_is_to_be_restored(
    file: Path, monkeypatch: pytest.MonkeyPatch, words: str, refusal: str
) -> None:
    def refuse(_: Path) -> sqlite3.Connection:  # whoever runs this may be root, whom no mode of a folder stops
        raise sqlite3.OperationalError(words)

    monkeypatch.setattr(sqlite_file, "_connected", refuse)
    expected = rf"cannot be opened \({words}\).* {refusal}\. Remedy: make .* writable for this user"
    with pytest.raises(CatalogUnusable, match=expected) as caught:
        open_catalog(sql_settings(file.parent))
    assert "restore" not in str(caught.value)


def test_a_new_lakehouse_begins_without_a_file(tmp_path: Path) -> None:
    assert open_catalog(sql_settings(tmp_path)).list_namespaces() == []
    assert open_catalog(sql_settings(tmp_path)).list_namespaces() == []


def test_a_lock_is_waited_for_and_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "_LOOKS", 3)
    monkeypatch.setattr(sqlite_file, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr("time.sleep", lambda _: None)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode=EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with (
            capture_logs() as logs,
            pytest.raises(CatalogUnusable, match=rf"{re.escape(str(file))} stayed locked .* Remedy: .*`fuser "),
        ):
            open_catalog(sql_settings(file.parent))
        assert [entry["event"] for entry in logs] == ["catalog_locked"]
    assert open_catalog(sql_settings(file.parent)).list_namespaces()


def test_a_row_without_a_metadata_file_is_named(file: Path, sql_lake: Lake) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE iceberg_tables SET metadata_location = NULL")
    with pytest.raises(MetadataFileDamaged, match=rf"^{sql_lake.namespace}.a: the catalog names no metadata file\."):
        sql_lake.load(f"{sql_lake.namespace}.a")
