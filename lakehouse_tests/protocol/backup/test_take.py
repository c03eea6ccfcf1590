"""A backup that is taken while others publish and expire is one state of the lake, whole."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyiceberg.table import Table

from lakehouse.iceberg.reachable_files import older_documents
from lakehouse.protocol.backup import restore, take, take_backup
from lakehouse.protocol.backup.layout import BackupError
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.history import seals
from lakehouse.settings import CatalogSettings
from lakehouse_tests.fixtures.lakes import Lake

SHORT = {
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "1",
    "lakehouse.publish.keep-snapshots": "2",
}


def restored(lake: Lake, folder: Path, root: Path) -> Lake:
    """The lake of a backup, after its own was lost."""
    lake.catalog.close()
    shutil.rmtree(root / "warehouse")
    for file in root.glob("catalog.db*"):
        file.unlink()
    restore(lake.settings, folder)
    return Lake(lake.settings, open_catalog(lake.settings), lake.namespace, None)


def interrupted_by(monkeypatch: pytest.MonkeyPatch, event: Callable[[], object], times: int) -> None:
    """Something happens after the catalog was copied, and before its files are looked for."""
    left = [event] * times

    def between(name: str) -> None:
        if name == "backup.between" and left:
            left.pop()()

    monkeypatch.setattr(take, "failpoint", between)
    monkeypatch.setattr("random.uniform", lambda *_: 0.0)


def test_a_lake_comes_back_as_it_was(sql_lake: Lake, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path) -> None:
    a, b = sql_lake.create("a"), sql_lake.create("b")
    sql_lake.write("first", a=[1], b=[10])
    sql_lake.write("second", a=[2], b=[20])
    folder = tmp_path_factory.mktemp("backup")
    taken = take_backup(sql_lake.settings, folder)
    assert (taken.contents.tables, taken.copied, taken.contents.outside) == (2, 0, 0)
    assert sorted(path.name for path in folder.iterdir()) == ["backup.json", "catalog.db", "warehouse"]
    sql_lake.write("third", a=[3], b=[30])
    lake = restored(sql_lake, folder, tmp_path)
    assert [lake.rows(a), lake.rows(b)] == [[1, 2], [10, 20]]
    table = lake.load(a)
    assert [sealed.seal.step for sealed in seals(table, table.metadata.current_snapshot_id)] == ["second", "first"]
    lake.write("fourth", a=[4], b=[40])
    assert [lake.rows(a), lake.rows(b)] == [[1, 2, 4], [10, 20, 40]]
    assert restored(lake, folder, tmp_path).rows(a) == [1, 2]  # the backup is as it was


@pytest.mark.parametrize("times", [1, 3])
def test_what_is_published_meanwhile_is_there_whole_or_not_at_all(
    sql_lake: Lake,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    times: int,
) -> None:
    """Those publishes delete the document and the snapshots that the copied catalog names."""
    a, b = sql_lake.create("a", **SHORT), sql_lake.create("b", **SHORT)
    sql_lake.write("first", a=[0], b=[0])
    numbers = iter(range(1, 100))

    def publish_several() -> None:
        for number in (next(numbers) for _ in range(4)):
            sql_lake.write(f"step {number}", a=[number], b=[number])

    interrupted_by(monkeypatch, publish_several, times)
    folder = tmp_path_factory.mktemp("backup")
    take_backup(sql_lake.settings, folder)
    lake = restored(sql_lake, folder, tmp_path)
    assert lake.rows(a) == lake.rows(b) == list(range(4 * times + 1))


def test_publishes_that_delete_older_documents_do_not_keep_a_backup_from_its_end(
    sql_lake: Lake, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One publish in each try, while files are linked: the oldest documents of the copied catalog are gone by then."""
    name = sql_lake.create("a", **{**SHORT, "write.metadata.previous-versions-max": "4"})
    rows = list(range(4))
    for number in rows:
        sql_lake.write(f"step {number}", a=[number])
    tries: list[None] = []

    def and_publish(table: Table) -> Iterator[str]:
        tries.append(None)
        sql_lake.write(f"meanwhile {len(tries)}", a=[100 + len(tries)])
        return older_documents(table)

    monkeypatch.setattr(take, "older_documents", and_publish)
    folder = tmp_path_factory.mktemp("backup")
    documents = {file.name for file in (tmp_path / "warehouse").rglob("*.metadata.json")}
    taken = take_backup(sql_lake.settings, folder)
    assert len(tries) == 1
    assert documents - {file.name for file in folder.rglob("*.metadata.json")}  # some were gone
    assert taken.contents.files == sum(file.is_file() for file in (folder / "warehouse").rglob("*"))
    assert restored(sql_lake, folder, tmp_path).rows(name) == rows


def test_a_table_that_has_lost_a_file_is_named(
    sql_lake: Lake, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("random.uniform", lambda *_: 0.0)
    name = sql_lake.create("a")
    sql_lake.write("first", a=[1])
    (task,) = sql_lake.load(name).scan().plan_files()
    lost = Path(task.file.file_path.removeprefix("file://"))
    lost.unlink()
    folder = tmp_path_factory.mktemp("backup")
    with pytest.raises(BackupError, match=rf"is gone: .*{lost.name}.*audit --scan"):
        take_backup(sql_lake.settings, folder)
    assert not (folder / "backup.json").exists()
    with pytest.raises(BackupError, match="no whole backup"):
        restore(sql_lake.settings, folder)


def test_where_files_cannot_be_linked_they_are_copied(
    sql_lake: Lake, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    name = sql_lake.create("a")
    sql_lake.write("first", a=[1])

    def refuse(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    folder = tmp_path_factory.mktemp("backup")
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("os.link", refuse)
        taken = take_backup(sql_lake.settings, folder)
    assert taken.linked == 0
    assert restored(sql_lake, folder, tmp_path).rows(name) == [1]


def test_a_folder_with_something_in_it_is_refused(sql_lake: Lake, tmp_path: Path) -> None:
    with pytest.raises(BackupError, match="is not empty"):
        take_backup(sql_lake.settings, tmp_path)


def test_a_lake_without_a_catalog_has_no_backup(tmp_path: Path) -> None:
    settings = CatalogSettings(type="sql", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=tmp_path.as_uri())
    with pytest.raises(BackupError, match="no catalog at"):
        take_backup(settings, tmp_path / "backup")
