"""Files that may be another table's are nobody's to delete."""

import os
import shutil
from pathlib import Path
from urllib.parse import urlparse

import pytest
from pyiceberg.table.update import SetLocationUpdate

from lakehouse.declarations import ORPHANS, Declarations
from lakehouse.protocol.catalog import TableChange, open_catalog
from lakehouse.protocol.cleanup.shared_files import FilesShared
from lakehouse.steps.maintenance.measure.traits import traits_of
from lakehouse.steps.maintenance.orphans.location import CannotLook
from lakehouse_tests.fixtures.lakes import SCHEMA, Lake, sql_settings
from lakehouse_tests.steps.maintenance.orphans.conftest import Folder

pytestmark = pytest.mark.slow


def test_a_neighbours_files_are_not_ours(folder: Folder) -> None:
    inner = folder.lake.catalog.create_table(
        (folder.lake.namespace, "inner"), SCHEMA, location=f"{folder.table.location()}/inner"
    )
    folder.lake.write("inner", inner=[1])
    folder.put("inner/data/stray.parquet")
    folder.age(days_ago=3)
    folder.look()
    assert folder.events() == []
    assert inner.location().startswith(folder.table.location())


def test_a_neighbour_is_one_also_by_way_of_a_symlink(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder.path)
    folder.lake.catalog.create_table((folder.lake.namespace, "n"), SCHEMA, location=f"file://{tmp_path}/link/n")
    folder.lake.write("n", n=[1])
    stray = folder.put()
    folder.age(days_ago=30)
    folder.look()
    assert folder.events() == [("candidate", stray)]


def test_what_a_symlink_leads_to_elsewhere_is_not_the_tables(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "precious").write_text("rows")
    (folder.path / "link").symlink_to(tmp_path / "elsewhere")
    os.utime(tmp_path / "elsewhere" / "precious", (1, 1))
    stray = folder.put()
    folder.look()
    assert folder.events() == [("candidate", stray)]


def test_where_another_table_has_metadata_nobody_looks(folder: Folder) -> None:
    """It was here, was moved, and left its files; then somebody made a table at the old place."""
    at, place = folder.table.location(), folder.lake.namespace
    move = SetLocationUpdate(location=f"{at}_moved")
    folder.lake.catalog.commit_tables([TableChange(folder.table.name(), (), (move,))])
    folder.lake.catalog.create_table((place, "b"), SCHEMA, location=at)
    folder.lake.write("b", b=[1])
    with pytest.raises(CannotLook, match=f"{folder.name} has metadata at {at}, the location of {place}.b"):
        Folder(folder.lake, f"{place}.b").look()


def test_a_table_that_this_catalog_does_not_know_may_need_the_files(folder: Folder, tmp_path: Path) -> None:
    """Its data its metadata name; but the newest version of these nothing names."""
    (tmp_path / "other").mkdir()
    other = open_catalog(sql_settings(tmp_path / "other"))
    other.create_namespace("ns")
    other.create_table(("ns", "t"), SCHEMA, location=f"{folder.table.location()}/t")
    folder.age(days_ago=30)
    with pytest.raises(CannotLook, match=f"is of another table than {folder.name}"):
        folder.look()
    assert folder.events() == []


@pytest.mark.parametrize("place", ["data", "more/inner"])
def test_a_table_within_anothers_location_may_hold_its_files(folder: Folder, place: str) -> None:
    """At worst what the outer table calls its data folder: no metadata of the inner one knows what is in there."""
    outer, own = folder.table.location(), f"{folder.lake.namespace}.inner"
    folder.lake.catalog.create_table((folder.lake.namespace, "inner"), SCHEMA, location=f"{outer}/{place}")
    folder.lake.write("inner", inner=[1])
    folder.age(days_ago=30)
    with pytest.raises(CannotLook, match=f"{own} lies within {folder.name}"):
        Folder(folder.lake, own).look()
    assert folder.events() == []


def test_a_neighbour_that_cannot_be_loaded_may_be_anywhere(folder: Folder) -> None:
    other = folder.lake.create("other")
    Path(urlparse(folder.lake.load(other).metadata_location).path).write_text("{")
    folder.put()
    with pytest.raises(CannotLook, match=rf"where {other} lies"):
        folder.look()


@pytest.mark.parametrize(
    "told",
    [
        {"gc.enabled": "false"},
        {"write.data.path": "file:///elsewhere"},
        {"write.metadata.path": "file:///elsewhere"},
    ],
)
def test_where_files_may_be_anybodys_nobody_looks(folder: Folder, told: dict[str, str]) -> None:
    with folder.table.transaction() as change:
        change.set_properties(told)
    folder.put()
    with pytest.raises(CannotLook, match=next(iter(told))):
        folder.look()
    assert folder.events() == []


def test_folders_of_hashes_are_the_tables_own(folder: Folder) -> None:
    with folder.table.transaction() as change:
        change.set_properties({"write.object-storage.enabled": "true"})
    folder.lake.write("more", **{folder.name.split(".")[1]: [5]})
    before, stray = folder.files(), folder.put("data/0110/1001/1011/10110010/stray.parquet")
    folder.age(days_ago=3)
    assert folder.look().effect.candidates == 1
    assert folder.look(days=3).effect.deleted == 1
    assert folder.files() == before
    assert folder.events() == [("candidate", stray), ("deleted", stray)]
    assert len(folder.lake.rows(folder.name)) == 6


def test_two_tables_at_one_place_are_refused(folder: Folder) -> None:
    folder.lake.catalog.create_table((folder.lake.namespace, "twin"), SCHEMA, location=f"{folder.table.location()}/")
    with pytest.raises(FilesShared, match="shares the location"):
        folder.look()


def test_a_copied_lakehouse_looks_at_no_file_of_the_original(folder: Folder, tmp_path: Path) -> None:
    """Its catalog names them: they lie outside of its own warehouse."""
    stray = folder.put()
    folder.lake.catalog.engine.dispose()
    shutil.copytree(tmp_path, tmp_path / "copy")
    settings = sql_settings(tmp_path / "copy")
    copy = Folder(Lake(settings, open_catalog(settings), folder.lake.namespace, None), folder.name)
    assert copy.table.metadata_location == folder.table.metadata_location
    with pytest.raises(CannotLook, match="outside of the warehouse"):
        copy.look()
    assert traits_of(copy.table, ORPHANS, Declarations({}, {}, {})).own_location.startswith("it lies outside")
    assert traits_of(folder.table, ORPHANS, Declarations({}, {}, {})).own_location == ""
    assert stray in folder.files()
