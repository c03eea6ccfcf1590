"""A restore fills an empty place, and the place that the files were at."""

from pathlib import Path

import pytest

from lakehouse.protocol.backup import restore, take_backup
from lakehouse.protocol.backup.layout import BackupError
from lakehouse_tests.fixtures.lakes import Lake, sql_settings
from lakehouse_tests.protocol.backup.test_take import SHORT, interrupted_by


@pytest.fixture
def backup(sql_lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a lake with one row."""
    sql_lake.create("a")
    sql_lake.write("first", a=[1])
    folder = tmp_path_factory.mktemp("backup")
    take_backup(sql_lake.settings, folder)
    return folder


def test_a_lake_that_is_there_stays(sql_lake: Lake, backup: Path) -> None:
    sql_lake.write("second", a=[2])
    with pytest.raises(BackupError, match=r"There is a catalog at .*catalog.db.*-wal.*away first"):
        restore(sql_lake.settings, backup)
    assert sql_lake.rows(f"{sql_lake.namespace}.a") == [1, 2]


def test_another_place_is_refused(backup: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Its metadata would name files of the first lake."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    with pytest.raises(BackupError, match=r"whole addresses.*LAKEHOUSE_HOME"):
        restore(sql_settings(elsewhere), backup)
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize(
    ("pattern", "bytes_left"), [("warehouse/**/*.parquet", None), ("warehouse/**/*.avro", 9), ("catalog.db", None)]
)
def test_a_backup_that_has_lost_something_is_refused(
    sql_lake: Lake,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    pattern: str,
    bytes_left: int | None,
) -> None:
    """Also where it has more than the catalog names, since the first try was in vain."""
    sql_lake.create("a", **{"write.metadata.previous-versions-max": "1"})
    sql_lake.create("b", **SHORT)
    numbers = iter(range(5))

    def publish_several() -> None:
        for number in [next(numbers) for _ in range(4)]:
            sql_lake.write(f"step {number}", a=[number], b=[number])

    sql_lake.write("first", a=[next(numbers)], b=[0])
    interrupted_by(monkeypatch, publish_several, 1)
    backup = tmp_path_factory.mktemp("backup")
    take_backup(sql_lake.settings, backup)
    file = next(backup.glob(pattern))
    content = file.read_bytes()
    file.unlink()
    if bytes_left is not None:
        file.write_bytes(content[:bytes_left])
    sql_lake.catalog.close()
    for name in ("catalog.db", "warehouse"):
        (tmp_path / name).rename(tmp_path / f"lost {name}")
    with pytest.raises(BackupError, match=r"had \d+ files below warehouse/.* and has \d+, of .* bytes"):
        restore(sql_lake.settings, backup)
    assert not (tmp_path / "catalog.db").exists()
    assert not (tmp_path / "warehouse").exists()


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_what_an_earlier_catalog_has_left_is_not_played_into_the_backup(
    sql_lake: Lake, backup: Path, tmp_path: Path, suffix: str
) -> None:
    """SQLite takes a log that lies beside a database for its own."""
    sql_lake.catalog.close()
    (tmp_path / "catalog.db").rename(tmp_path / "lost.db")
    left = tmp_path / f"catalog.db{suffix}"
    left.write_bytes(b"of another")
    with pytest.raises(BackupError, match=rf"catalog.db{suffix}: of an earlier catalog.*move .*{left}"):
        restore(sql_lake.settings, backup)
    assert not (tmp_path / "catalog.db").exists()
    left.unlink()
    restore(sql_lake.settings, backup)
    assert sql_lake.rows(f"{sql_lake.namespace}.a") == [1]


def test_a_file_that_was_cut_does_not_stay(sql_lake: Lake, backup: Path, tmp_path: Path) -> None:
    """The catalog is lost, and not all of the warehouse is as it was."""
    sql_lake.catalog.close()
    (tmp_path / "catalog.db").rename(tmp_path / "lost.db")
    (file,) = (tmp_path / "warehouse").rglob("*.parquet")
    whole = file.read_bytes()
    file.unlink()  # the backup's is the same one
    file.write_bytes(whole[:-9])
    with pytest.raises(BackupError, match=rf"1 files below .* are not those of the backup, .*{file.name}.*away first"):
        restore(sql_lake.settings, backup)
    assert not (tmp_path / "catalog.db").exists()
    file.write_bytes(whole)  # such as a restore leaves that was interrupted
    restore(sql_lake.settings, backup)
    assert sql_lake.rows(f"{sql_lake.namespace}.a") == [1]
