"""Rows of the catalog database are swapped together or not at all, and only where they name what was read."""

import gc
import os
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import IcebergTables
from pyiceberg.exceptions import ServiceUnavailableError
from sqlalchemy import Engine, create_engine, event

from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.catalog.sql_catalog.sql_database import CatalogDatabase, NotBegunError, RowSwap, settle
from lakehouse_tests.fixtures.lakes import SCHEMA, sql_settings

A, B, ELSEWHERE = ("raw", "a"), ("raw", "b"), ("raw", "c")
Open = Callable[[str], CatalogDatabase]


@pytest.fixture
def open_as(tmp_path: Path) -> Open:
    """The database by the name of a catalog: `here` has two tables and a view, `there` has one."""
    uri = f"sqlite:///{tmp_path / 'catalog.db'}?timeout=0.01"
    engine = create_engine(uri)
    IcebergTables.metadata.create_all(engine)
    rows = [("here", "a", "a/0.json"), ("here", "b", "b/0.json"), ("here", "view", None), ("there", "c", "c/0.json")]
    with engine.begin() as connection:
        for catalog, table, location in rows:
            connection.exec_driver_sql(
                "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location) "
                "VALUES (?, 'raw', ?, ?)",
                (catalog, table, location),
            )
    return lambda name: CatalogDatabase(engine, uri, name)


def test_absent_tables_are_left_out(open_as: Open) -> None:
    assert open_as("here").locations([B, A, ELSEWHERE]) == {B: "b/0.json", A: "a/0.json"}


def test_tables_of_another_catalog_carry_its_name(open_as: Open) -> None:
    """Their files count as well; a view has none."""
    assert sorted(open_as("here").all_locations()) == [
        (A, "a/0.json"),
        (B, "b/0.json"),
        (("there:", *ELSEWHERE), "c/0.json"),
    ]


def test_a_row_that_names_another_document_stops_all(open_as: Open) -> None:
    database = open_as("here")
    assert not database.swap([RowSwap(A, "a/0.json", "a/1.json"), RowSwap(B, "b/former.json", "b/1.json")])
    assert database.locations([A, B]) == {A: "a/0.json", B: "b/0.json"}
    assert database.swap([RowSwap(A, "a/0.json", "a/1.json"), RowSwap(B, "b/0.json", "b/1.json")])
    assert database.locations([A, B]) == {A: "a/1.json", B: "b/1.json"}


def test_a_table_of_the_same_name_in_another_catalog_stays(open_as: Open) -> None:
    assert not open_as("here").swap([RowSwap(ELSEWHERE, "c/0.json", "c/1.json")])
    assert open_as("there").locations([ELSEWHERE]) == {ELSEWHERE: "c/0.json"}


def test_a_database_that_another_program_holds_is_named_with_a_remedy(open_as: Open, tmp_path: Path) -> None:
    database, path = open_as("here"), tmp_path / "catalog.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(NotBegunError, match=f"stayed locked by another program .*`fuser {re.escape(str(path))}`"):
            database.swap([RowSwap(A, "a/0.json", "a/1.json")])
    assert database.swap([RowSwap(A, "a/0.json", "a/1.json")])


def test_a_database_without_tables_does_not_answer(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path / 'empty.db'}"
    with pytest.raises(ServiceUnavailableError, match="did not answer: no such table"):
        CatalogDatabase(create_engine(uri), uri, "here").all_locations()


def test_a_commit_is_on_the_disk_when_it_returns(open_as: Open) -> None:
    """Also where SQLite was built to sync at checkpoints alone; what a test has switched off stays off."""

    def built_otherwise(connection: sqlite3.Connection, _: object) -> None:
        connection.execute("PRAGMA synchronous=NORMAL")

    event.listen(Engine, "connect", built_otherwise)
    try:
        database = open_as("here")
        engines = (database._engine, database._swaps)  # pyright: ignore[reportPrivateUsage]
        levels: list[object] = []
        for engine in engines:
            with engine.connect() as connection:
                levels.append(connection.exec_driver_sql("PRAGMA synchronous").scalar())
    finally:
        event.remove(Engine, "connect", built_otherwise)
    assert levels == [2, 2]


def test_a_document_that_spark_named_is_synced_with_the_next_commit(
    open_as: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our COMMIT puts Spark's row on the disk too, and must not put it there before its document."""
    database, document = open_as("here"), tmp_path / "1.metadata.json"
    document.write_text("{}")
    with closing(sqlite3.connect(tmp_path / "catalog.db")) as spark, spark:
        spark.execute("UPDATE iceberg_tables SET metadata_location = ? WHERE table_name = 'b'", [document.as_uri()])
    synced: list[str] = []
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
    )
    assert database.swap([RowSwap(A, "a/0.json", "a/1.json")])
    assert synced == [str(document), str(tmp_path)]
    assert database.swap([RowSwap(A, "a/1.json", "a/2.json")])
    assert len(synced) == 2


def test_a_copy_of_the_file_alone_is_whole_after_the_process_has_ended(tmp_path: Path) -> None:
    """Also while a connection of Spark's is open, so that SQLite itself does not empty its log."""
    catalog = open_catalog(sql_settings(tmp_path))
    with closing(sqlite3.connect(tmp_path / "catalog.db")) as spark:
        spark.execute("SELECT * FROM iceberg_tables").fetchall()
        catalog.create_namespace("raw")
        catalog.create_table("raw.a", SCHEMA)
        del catalog
        gc.collect()
        shutil.copy(tmp_path / "catalog.db", tmp_path / "copy.db")
    with closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
        assert copy.execute("SELECT table_name FROM iceberg_tables").fetchall() == [("a",)]


def test_a_database_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/catalog.db")
    settle(engine)
    assert list(tmp_path.iterdir()) == []
