"""The embedded catalog under a locked database, a full commit's worth of old documents, and missing files.

Guarded mechanisms: a connection of its own for every swap, begun before anything is changed and closed after any error
(a failed publish must not land later with an unrelated commit); documents deleted once they fall off the metadata log.
"""

import errno
import io
import itertools
import multiprocessing
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Barrier
from typing import NoReturn
from urllib.parse import urlparse

import pytest
from pyiceberg.exceptions import CommitFailedException, ServiceUnavailableError
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO
from sqlalchemy.exc import OperationalError

from lakehouse.protocol.catalog import TableChange, open_catalog, set_branch
from lakehouse.protocol.commit import publish
from lakehouse.protocol.errors import PublishUnresolved
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse_tests.fixtures.lakes import Lake, sql_settings
from lakehouse_tests.protocol.commit.oracle import Oracle

pytestmark = pytest.mark.slow


def impatient(lake: Lake) -> Lake:
    """The same lake by a catalog that gives up on a lock at once."""
    settings = lake.settings.model_copy(update={"uri": lake.settings.uri.replace("timeout=30", "timeout=0.05")})
    return Lake(settings, open_catalog(settings), lake.namespace, None)


@contextmanager
def locked(lake: Lake, kind: str) -> Iterator[sqlite3.Connection]:
    """Another program holds the database."""
    path = lake.settings.uri.removeprefix("sqlite:///").partition("?")[0]
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute(f"BEGIN {kind}")
    try:
        yield holder
    finally:
        if holder.in_transaction:
            holder.execute("ROLLBACK")
        holder.close()


def test_a_lock_that_is_released_delays_a_publish(sql_lake: Lake) -> None:
    lake = impatient(sql_lake)
    name = lake.create("a")
    staged = lake.stage(lake.bases(name)[name], Attempt(run_id="r", step="s"), [1])
    with locked(lake, "IMMEDIATE") as holder:
        release = threading.Timer(0.5, holder.execute, ["ROLLBACK"])
        release.start()
        started = time.monotonic()
        publish(lake.catalog, [staged])
        assert time.monotonic() - started > 0.3
        release.join()
    assert Oracle.of(lake).rows("a") == {1: "1"}


def test_a_lock_that_stays_is_named_with_a_remedy(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """By stage and by publish, after all their tries."""
    lake = impatient(sql_lake)
    name = lake.create("a")
    base, attempt = lake.bases(name)[name], Attempt(run_id="r", step="s")
    staged = lake.stage(base, attempt, [1])
    monkeypatch.setattr("random.uniform", lambda *_: 0.0)
    locked_by_another = r"stayed locked by another program \(database is locked\). Remedy: .*fuser .*/catalog.db"
    with locked(lake, "IMMEDIATE"):
        with pytest.raises(CommitFailedException, match=f"could not be written in 10 tries .*{locked_by_another}"):
            lake.stage(base, attempt.again(), [2])
        with pytest.raises(PublishUnresolved, match=f"no clear answer .*{locked_by_another}") as caught:
            publish(lake.catalog, [staged])
    assert isinstance(caught.value.__cause__, CommitFailedException)


def test_a_database_that_fails_otherwise_is_not_called_locked(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    name = sql_lake.create("a")
    staged = sql_lake.stage(sql_lake.bases(name)[name], Attempt(run_id="r", step="s"), [1])
    monkeypatch.setattr("random.uniform", lambda *_: 0.0)

    def fails(_: object) -> NoReturn:
        raise OperationalError("BEGIN IMMEDIATE", None, sqlite3.OperationalError("disk I/O error"))

    monkeypatch.setattr("lakehouse.protocol.catalog.sql_catalog.sql_database._begin", fails)
    with pytest.raises(PublishUnresolved, match=r"\(last: .* could not be written to: disk I/O error"):
        publish(sql_lake.catalog, [staged])


def test_a_publish_that_failed_on_a_lock_never_lands_later(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake, oracle = impatient(sql_lake), Oracle.of(sql_lake)
    name, other = lake.create("a"), lake.create("b")
    lake.write("first", a=[1], b=[1])
    staged = lake.stage(lake.bases(name)[name], Attempt(run_id="r", step="s"), [2])
    with monkeypatch.context() as quick, locked(lake, "IMMEDIATE"):
        quick.setattr("random.uniform", lambda *_: 0.0)
        with pytest.raises(PublishUnresolved):
            publish(lake.catalog, [staged])
    for n in range(3):
        lake.write(f"unrelated {n}", b=[10 + n])
    assert oracle.rows("a") == {1: "1"}
    assert oracle.load("a").metadata_location == sql_lake.load(name).metadata_location
    publish(lake.catalog, [staged])  # the engine is as good as new
    assert oracle.rows("a") == {1: "1", 2: "2"}
    assert len(oracle.rows(other.rpartition(".")[2])) == 4


def test_a_database_that_cannot_be_read_says_so(sql_lake: Lake, tmp_path: Path) -> None:
    name = sql_lake.create("a")
    database = tmp_path / "catalog.db"
    sql_lake.catalog.engine.dispose()
    away = database.rename(tmp_path / "away.db")
    database.mkdir()
    with pytest.raises(ServiceUnavailableError, match="did not answer"):
        sql_lake.load(name)
    database.rmdir()
    away.rename(database)
    assert sql_lake.rows(name) == []


def documents(lake: Lake, table: str) -> set[str]:
    folder = Path(urlparse(lake.load(f"{lake.namespace}.{table}").location()).path) / "metadata"
    return {path.as_uri() for path in folder.glob("*.metadata.json")}


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_old_documents_do_not_pile_up(sql_lake: Lake, codec: str) -> None:
    properties = {
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "4",
        "write.metadata.compression-codec": codec,
    }
    sql_lake.create("a", **properties)
    for n in range(8):
        sql_lake.write(f"s{n}", a=[n])
    logged = {entry["metadata-file"] for entry in Oracle.of(sql_lake).document("a")["metadata-log"]}
    assert documents(sql_lake, "a") == logged | {sql_lake.load(f"{sql_lake.namespace}.a").metadata_location}
    assert len(logged) == 4


def test_an_old_document_that_is_gone_already_fails_nothing(sql_lake: Lake) -> None:
    """Orphan removal, or a colleague, was quicker; the commit has landed all the same."""
    properties = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "2"}
    sql_lake.create("a", **properties)
    sql_lake.write("first", a=[1])
    for location in documents(sql_lake, "a") - {sql_lake.load(f"{sql_lake.namespace}.a").metadata_location}:
        Path(urlparse(location).path).unlink()
    sql_lake.write("second", a=[2])
    assert Oracle.of(sql_lake).rows("a") == {1: "1", 2: "2"}


def test_a_commit_that_fails_half_way_never_lands_later(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """In rollback-journal mode a reader lets a transaction begin and write, and then blocks its COMMIT."""
    lake = impatient(sql_lake)
    name, other = lake.create("a"), lake.create("b")
    lake.write("first", a=[1], b=[1])
    staged = lake.stage(lake.bases(name)[name], Attempt(run_id="r", step="s"), [2])
    for each in (lake, sql_lake):
        each.catalog.engine.dispose()
    path = lake.settings.uri.removeprefix("sqlite:///").partition("?")[0]
    with closing(sqlite3.connect(path, isolation_level=None)) as somebody:
        assert somebody.execute("PRAGMA journal_mode=DELETE").fetchone() == ("delete",)
    oracle = Oracle.of(sql_lake)
    with monkeypatch.context() as quick, locked(lake, "DEFERRED") as reader:
        reader.execute("SELECT * FROM iceberg_tables").fetchone()
        quick.setattr("random.uniform", lambda *_: 0.0)
        with pytest.raises(PublishUnresolved, match="locked"):
            publish(lake.catalog, [staged])
    lake.catalog.create_table((lake.namespace, "unrelated"), lake.load(other).schema())
    lake.write("unrelated", b=[2])
    assert oracle.rows("a") == {1: "1"}
    publish(lake.catalog, [staged])
    assert oracle.rows("a") == {1: "1", 2: "2"}


@pytest.mark.parametrize("full_at", [1, 2])
def test_a_full_disk_leaves_no_document_behind(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch, full_at: int) -> None:
    """Nor one of another table in the same commit: nobody names it."""
    names = [sql_lake.create("a"), sql_lake.create("b")]
    sql_lake.write("first", a=[1], b=[1])
    before = documents(sql_lake, "a") | documents(sql_lake, "b")
    changes = [TableChange(tuple(name.split(".")), (), (set_branch("x", head(sql_lake, name)),)) for name in names]
    writes = itertools.count(1)

    class Full(io.BytesIO):
        def __init__(self, path: Path) -> None:
            super().__init__()
            self.path = path

        def write(self, content: object) -> int:
            assert isinstance(content, bytes)
            if next(writes) == full_at:
                self.path.write_bytes(content[:100])
                raise OSError(errno.ENOSPC, "No space left on device")
            return self.path.write_bytes(content)

    def create(file: PyArrowFile, overwrite: bool = False) -> Full:
        return Full(Path(urlparse(file.location).path))

    with monkeypatch.context() as full:
        full.setattr(PyArrowFile, "create", create)
        with pytest.raises(OSError, match="No space left"):
            sql_lake.catalog.commit_tables(changes)
    assert documents(sql_lake, "a") | documents(sql_lake, "b") == before
    with monkeypatch.context() as full:
        writes = itertools.count(full_at)
        full.setattr(PyArrowFile, "create", create)
        full.setattr(PyArrowFileIO, "delete", _refused)
        with pytest.raises(OSError, match="No space left"):
            sql_lake.catalog.commit_tables(changes)
    sql_lake.catalog.commit_tables(changes)
    assert sql_lake.rows(names[0]) == [1]


def head(lake: Lake, name: str) -> int:
    snapshot = lake.load(name).current_snapshot()
    assert snapshot is not None
    return snapshot.snapshot_id


def _refused(*_: object) -> NoReturn:
    raise OSError("may not delete")


def _open_fresh(folder: Path, barrier: Barrier) -> str:
    barrier.wait()
    try:
        open_catalog(sql_settings(folder)).create_namespace_if_not_exists("raw")
    except Exception as error:  # noqa: BLE001 - whatever it is
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.parametrize("trial", range(10))
def test_several_processes_open_a_fresh_catalog_at_once(tmp_path: Path, trial: int) -> None:
    context = multiprocessing.get_context("fork")
    with context.Manager() as manager, ProcessPoolExecutor(4, mp_context=context) as pool:
        barrier = manager.Barrier(4)
        assert list(pool.map(_open_fresh, [tmp_path] * 4, [barrier] * 4)) == [""] * 4
    assert ("raw",) in open_catalog(sql_settings(tmp_path)).list_namespaces()
