"""What a table's metadata names is deleted only where it is the table's own: whoever may write a table names any path.

Guarded mechanism: files go below the table's location alone, and the location is believed only where its metadata are.
"""

import shutil
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlparse

import pytest
from pyiceberg.table import Table
from pyiceberg.table.statistics import StatisticsFile
from pyiceberg.table.update import SetLocationUpdate, SetStatisticsUpdate

from lakehouse.declarations import Declarations, Expire
from lakehouse.iceberg.locations import place_of
from lakehouse.iceberg.own_files import own_files
from lakehouse.protocol.catalog import TableChange, open_catalog, set_branch
from lakehouse.protocol.cleanup.housekeeping import abandoned_branches, drop_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.history import head_of
from lakehouse.steps.maintenance.expire.expire import expire
from lakehouse_tests.fixtures.lakes import Lake, sql_settings
from lakehouse_tests.proofs.audit.document import edit_document

SMALL = Expire(min_snapshots_to_keep=2, max_snapshots=2, at_least=1)
NOBODY = Declarations({}, {}, {})


@pytest.fixture
def table(sql_lake: Lake) -> str:
    """A table, and beside it one whose files are precious."""
    name = sql_lake.create("orders")
    sql_lake.create("orders_old")
    sql_lake.write("precious", orders_old=[7, 8])
    sql_lake.write("first", orders=[1])
    return name


def precious(lake: Lake) -> Table:
    return lake.load(f"{lake.namespace}.orders_old")


def files_of(table: Table) -> list[str]:
    return [task.file.file_path for task in table.scan().plan_files()]


def grow(lake: Lake) -> None:
    for number in range(3):
        lake.write(f"more{number}", orders=[number])


def test_expiry_leaves_a_file_that_is_another_tables(sql_lake: Lake, table: str) -> None:
    sql_lake.load(table).add_files(files_of(precious(sql_lake)))
    sql_lake.load(table).delete("n >= 7")
    grow(sql_lake)
    done = expire(sql_lake.catalog, NOBODY, table, SMALL)
    assert sql_lake.rows(f"{sql_lake.namespace}.orders_old") == [7, 8]
    assert done.elsewhere == 1
    assert f"1 file lies outside of {sql_lake.load(table).location()}, or where another table lies, and stays" in str(
        done
    )


def test_expiry_leaves_a_file_that_calls_itself_statistics(sql_lake: Lake, table: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("precious")
    head = head_of(sql_lake.load(table))
    assert head is not None
    statistics = StatisticsFile.model_validate(
        {
            "snapshot-id": head,
            "statistics-path": secret.as_uri(),
            "file-size-in-bytes": 8,
            "file-footer-size-in-bytes": 1,
            "blob-metadata": [],
        }
    )
    update = SetStatisticsUpdate.model_validate({"statistics": statistics})
    change = TableChange(tuple(table.split(".")), (), (update,))
    sql_lake.catalog.commit_tables([change])
    grow(sql_lake)
    assert expire(sql_lake.catalog, NOBODY, table, SMALL).elsewhere == 1
    assert secret.read_text() == "precious"


@pytest.mark.parametrize("key", ["statistics", "partition-statistics"])
@pytest.mark.parametrize("kind", ["data", "manifest"])
def test_expiry_leaves_a_file_of_the_table_that_calls_itself_statistics(
    sql_lake: Lake, table: str, tmp_path: Path, key: str, kind: str
) -> None:
    loaded = sql_lake.load(table)
    snapshot = loaded.current_snapshot()
    assert snapshot is not None
    path = files_of(loaded)[0] if kind == "data" else snapshot.manifests(loaded.io)[0].manifest_path
    sizes = {"file-size-in-bytes": 1, "file-footer-size-in-bytes": 1, "blob-metadata": []}
    entry = {"snapshot-id": snapshot.snapshot_id, "statistics-path": path, **sizes}
    edit_document(tmp_path / "catalog.db", table, lambda document: document.update({key: [entry]}))
    grow(sql_lake)
    expire(sql_lake.catalog, NOBODY, table, SMALL)
    assert Path(urlparse(path).path).exists()
    assert 1 in sql_lake.rows(table)


def test_a_dropped_branch_leaves_a_file_that_is_another_tables(sql_lake: Lake, table: str) -> None:
    stranger = Attempt("run", "step").branch
    head = head_of(sql_lake.load(table))
    assert head is not None
    sql_lake.catalog.commit_tables([TableChange(tuple(table.split(".")), (), (set_branch(stranger, head),))])
    sql_lake.load(table).add_files(files_of(precious(sql_lake)), branch=stranger)
    (branch,) = abandoned_branches(sql_lake.load(table), older_than=timedelta(0))
    assert drop_branch(sql_lake.catalog, branch) == 0
    assert sql_lake.rows(f"{sql_lake.namespace}.orders_old") == [7, 8]


def test_a_location_is_not_believed_without_the_tables_metadata(sql_lake: Lake, table: str) -> None:
    """Whoever may write a table may say that it lies at the root of everything."""
    location, precious_files = sql_lake.load(table).location(), files_of(precious(sql_lake))
    own = files_of(sql_lake.load(table))
    assert own_files(sql_lake.load(table), [*own, *precious_files], ()) == own
    assert own_files(sql_lake.load(table), own, [place_of(f"{location}/data")]) == []
    for claimed in (Path(urlparse(location).path).parent.as_uri(), "file:///", f"{location}_old"):
        move = SetLocationUpdate(location=claimed)
        sql_lake.catalog.commit_tables([TableChange(tuple(table.split(".")), (), (move,))])
        assert own_files(sql_lake.load(table), [*own, *precious_files], ()) == []


def test_a_commit_leaves_a_file_that_calls_itself_old_metadata(sql_lake: Lake, table: str, tmp_path: Path) -> None:
    with sql_lake.load(table).transaction() as change:
        keep = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "1"}
        change.set_properties(keep)
    victim = precious(sql_lake).metadata_location

    def forge(document: dict[str, object]) -> None:
        document["metadata-log"] = [{"metadata-file": victim, "timestamp-ms": 1}]

    edit_document(tmp_path / "catalog.db", table, forge)
    grow(sql_lake)
    assert sql_lake.rows(f"{sql_lake.namespace}.orders_old") == [7, 8]


def copied(lake: Lake, tmp_path: Path) -> Lake:
    """A copy of the lakehouse's folder: its catalog names the files of the original."""
    lake.catalog.engine.dispose()
    folder = tmp_path / "copy"
    folder.mkdir()
    shutil.copytree(tmp_path / "warehouse", folder / "warehouse")
    for database in tmp_path.glob("catalog.db*"):
        shutil.copy(database, folder)
    settings = sql_settings(folder)
    return Lake(settings, open_catalog(settings), lake.namespace, None)


def files_below(lake: Lake, table: str) -> set[Path]:
    return set(Path(urlparse(lake.load(table).location()).path).rglob("*.*"))


def test_a_commit_to_a_copied_lakehouse_leaves_the_documents_of_the_original(sql_lake: Lake, tmp_path: Path) -> None:
    """Also where the next commit is Spark's: it goes by the property that ours leaves behind."""
    keep = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "2"}
    table = sql_lake.create("orders", **keep)
    sql_lake.write("first", orders=[1])
    copy = copied(sql_lake, tmp_path)
    grow(copy)
    assert sql_lake.rows(table) == [1]
    assert copy.load(table).properties["write.metadata.delete-after-commit.enabled"] == "false"
    grow(sql_lake)
    assert sql_lake.load(table).properties["write.metadata.delete-after-commit.enabled"] == "true"


def test_expiry_of_a_copied_lakehouse_leaves_the_files_of_the_original(
    sql_lake: Lake, table: str, tmp_path: Path
) -> None:
    copy = copied(sql_lake, tmp_path)
    before = files_below(sql_lake, table)
    copy.load(table).delete()
    grow(copy)
    done = expire(copy.catalog, NOBODY, table, SMALL)
    assert (done.files, done.metadata_files) == (0, 0)
    assert "of the catalog's warehouse" in str(done)
    assert before <= files_below(sql_lake, table)
    assert sql_lake.rows(table) == [1]


def test_a_branch_dropped_in_a_copied_lakehouse_leaves_the_files_of_the_original(
    sql_lake: Lake, table: str, tmp_path: Path
) -> None:
    sql_lake.stage(sql_lake.bases(table)[table], Attempt("run", "step"), [5])
    copy = copied(sql_lake, tmp_path)
    before = files_below(sql_lake, table)
    (abandoned,) = abandoned_branches(copy.load(table), older_than=timedelta(0))
    assert drop_branch(copy.catalog, abandoned) == 0
    assert before <= files_below(sql_lake, table)


def test_a_table_purged_in_a_copied_lakehouse_stays_in_the_original(sql_lake: Lake, table: str, tmp_path: Path) -> None:
    copy = copied(sql_lake, tmp_path)
    copy.catalog.purge_table(table)
    assert not copy.catalog.table_exists(table)
    assert sql_lake.rows(table) == [1]
