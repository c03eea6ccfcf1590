"""Orphans go in two looks, far enough apart, and nothing else ever goes: not a file of a run that is under way.

Guarded mechanisms: listed before the table is loaded, every version of the metadata asked, remembered between looks,
further apart than the longest run, neighbours spared, written down before it is done.
"""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlparse

import pyarrow as pa
import pyarrow.fs as arrow_fs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.io import InputFile
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table.update import SetLocationUpdate
from pyiceberg.transforms import IdentityTransform

from lakehouse.declarations import ORPHANS, Declarations, Maintenance, Orphans, apply, plan
from lakehouse.protocol.catalog import TableChange, open_catalog, remove_ref, remove_snapshots
from lakehouse.protocol.cleanup.shared_files import FilesShared
from lakehouse.protocol.commit import open_branch, stage_files
from lakehouse.protocol.failpoints import InjectedFault
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.maintenance.measure.traits import traits_of
from lakehouse.steps.maintenance.orphans.known_files import Known, MetadataUnreadable
from lakehouse.steps.maintenance.orphans.listing import ListedFile, Listing
from lakehouse.steps.maintenance.orphans.location import CannotLook
from lakehouse.steps.maintenance.orphans.orphan_log import Noted, OrphanHistory
from lakehouse.steps.maintenance.orphans.removal import look
from lakehouse_tests.fixtures.lakes import SCHEMA, Lake, sql_settings
from lakehouse_tests.protocol.commit.children import Child, work_on
from lakehouse_tests.steps.maintenance.orphans.conftest import DELETES, ROW, Folder

pytestmark = pytest.mark.slow

LISTS = Maintenance(orphans=Orphans(older_than=timedelta(days=2)))


def test_an_orphan_goes_in_the_second_look_that_is_far_enough_from_the_first(folder: Folder) -> None:
    before, stray = folder.files(), folder.put()
    first = folder.look()
    assert (first.result, first.effect.candidates, first.effect.deleted) == ("done", 1, 0)
    early = folder.look(days=1.9)
    assert (early.effect.candidates, early.effect.waiting, early.effect.deleted) == (0, 1, 0)
    assert stray in folder.files()
    second = folder.look(days=2.1)
    assert (second.effect.deleted, second.effect.bytes) == (1, 4)
    assert folder.files() == before
    assert folder.events() == [("candidate", stray), ("deleted", stray)]
    assert folder.look(days=9).effect.orphans == 0
    assert folder.lake.rows(folder.name) == list(range(5))


def test_nothing_is_deleted_unless_it_is_declared_and_nothing_is_written_without_a_yes(folder: Folder) -> None:
    stray = folder.put()
    assert folder.look(allow=False).result == "dry_run"
    assert folder.events() == []
    for days in (0, 3, 30):
        done = folder.look(LISTS, days=days)
        assert (done.result, done.effect.deleted) == ("dry_run", 0)
    assert done.effect.orphans == 1
    assert stray in folder.files()
    assert folder.events() == [("candidate", stray)]
    assert folder.look(DELETES, days=31, allow=False).effect.deleted == 0
    assert folder.look(DELETES, days=31).effect.deleted == 1


def test_the_value_of_a_sensitive_column_is_not_written_down(sql_lake: Lake) -> None:
    """A path shows the values of its partition; one look finds what another has noted all the same."""
    apply(plan(ORPHANS, sql_lake.catalog), sql_lake.catalog)
    name, spec = f"{sql_lake.namespace}.a", PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "of whom"))
    sql_lake.catalog.create_table((sql_lake.namespace, "a"), SCHEMA, partition_spec=spec)
    sql_lake.load(name).append(pa.table({"n": pa.array([1]), "s": ["ada"]}))
    folder = Folder(sql_lake, name)
    folder.age(days_ago=30)
    folder.put(f"data/of+whom=ada/once=ada/{ROW}")
    folder.look()
    folder.look(days=3)
    shown = f"data/of+whom=***/once=***/{ROW}"
    assert folder.events() == [("candidate", shown), ("deleted", shown)]
    assert not any(ROW in file for file in folder.files())
    assert sql_lake.rows(name) == [1]


def test_only_the_values_of_fields_that_are_known_are_written_down() -> None:
    listing = Listing((), arrow_fs.LocalFileSystem(), "s3", frozenset({"day", "a b"}))
    assert listing.shown("b/t/day=1/a+b=2/whom=ada/x") == "s3://b/t/day=1/a+b=2/whom=***/x"


def test_what_is_young_is_not_looked_at(folder: Folder) -> None:
    folder.put(days_ago=1.9)
    assert folder.look().effect.candidates == 0
    assert folder.look(days=0.2).effect.candidates == 1


def test_looks_are_further_apart_than_the_longest_run(folder: Folder) -> None:
    """Whoever knows of it: Dagster now, or an earlier look whose seals have expired since."""
    folder.put()
    folder.look(longest=timedelta(days=5))
    assert folder.look(days=4.9, longest=timedelta(0)).effect.waiting == 1
    assert folder.look(days=5.1, longest=timedelta(days=7)).effect.waiting == 1
    assert folder.look(days=7.1, longest=timedelta(days=6)).effect.deleted == 1


def test_a_run_of_years_is_not_waited_for(folder: Folder) -> None:
    """Somebody's clock was wrong, and that is on record; nothing would ever go."""
    folder.put()
    folder.look(longest=timedelta(days=2518))
    waiting = folder.look(days=29)
    assert waiting.effect.waiting == 1
    assert "a run seems to have taken 2,518 days and counts for 30" in waiting.message
    assert folder.look(days=31).effect.deleted == 1


def test_an_open_branch_says_how_long_its_run_has_taken(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.put()
    base = folder.lake.bases(folder.name)[folder.name]
    slow = Attempt(run_id="slow", step="s", id=f"{int((datetime.now(UTC).timestamp() - 86400) * 1000):011x}{'0' * 10}")
    open_branch(folder.lake.catalog, base, slow)
    folder.look()
    assert folder.look(days=8).effect.waiting == 1  # it has taken nine days by then


def test_what_an_open_attempt_may_yet_name_is_spared(folder: Folder) -> None:
    base = folder.lake.bases(folder.name)[folder.name]
    alive, dead = Attempt(run_id="alive", step="raw_read"), Attempt(run_id="dead", step="s")
    open_branch(folder.lake.catalog, base, alive)
    folder.put(f"data/{alive.id}-1-0.parquet")
    folder.put(f"data/spool/{alive.id}/x.parquet")
    folder.put(f"data/{dead.id}-1-0.parquet")
    folder.look()
    assert folder.events() == [("candidate", f"data/{dead.id}-1-0.parquet")]


def test_a_file_of_a_held_run_survives_two_looks_and_is_published(folder: Folder, tmp_path: Path) -> None:
    """It has written its file and named it nowhere: nothing but the run itself knows of it."""
    hold = tmp_path / "go"
    before = folder.files()
    work = work_on(folder.lake, "held", {"a": [99]}, failpoints=f"stage.before=hold:{hold}")
    with Child(work) as child:
        assert child.hear() == "open"
        child.go_on()
        while not Path(f"{hold}.reached").exists():
            assert child.process.is_alive()
        (written,) = folder.files() - before
        folder.age(written, days_ago=3)
        for days in (0, 5, 40):  # Dagster says that the run is still going
            folder.look(days=days, longest=timedelta(days=days + 3))
        assert folder.events() == [("candidate", written)]
        hold.touch()
        assert child.hear() == "staged"
        child.go_on()
        assert child.hear() == "published"
    assert folder.lake.rows(folder.name) == [0, 1, 2, 3, 4, 99]
    folder.look(days=90)
    assert folder.events() == [("candidate", written), ("reprieved", written)]


def test_what_is_known_again_begins_anew(folder: Folder) -> None:
    """A candidate that a commit has named, and then another has let go, was no orphan in between."""
    (file,) = folder.lake.files(folder.name, [7])
    stray = file.file_path.removeprefix(f"{folder.path.as_uri()}/")
    folder.age(stray, days_ago=3)
    folder.look()
    base, attempt = folder.lake.bases(folder.name)[folder.name], Attempt(run_id="r", step="s")
    stage_files(folder.lake.catalog, base, attempt, [file])
    folder.look(days=3)
    assert folder.events() == [("candidate", stray), ("reprieved", stray)]
    gone = folder.table.metadata.refs[attempt.branch].snapshot_id
    change = (remove_ref(attempt.branch), remove_snapshots([gone]))
    folder.lake.catalog.commit_tables([TableChange(folder.table.name(), (), change)])
    for version in folder.path.rglob("*.metadata.json"):
        if version.name not in folder.table.metadata_location:
            version.unlink()
    assert folder.look(days=6).effect.deleted == 0
    assert folder.events().count(("candidate", stray)) == 2
    assert stray in folder.files()


def test_another_file_of_the_same_name_begins_anew(folder: Folder) -> None:
    stray = folder.put()
    folder.look()
    folder.put(content="other rows", days_ago=2.5)
    assert folder.look(days=3).effect.candidates == 1
    assert stray in folder.files()
    assert folder.look(days=6).effect.deleted == 1


def test_what_rolled_back_metadata_knows_waits_for_it_to_go(folder: Folder) -> None:
    """An operator has pointed the catalog at an older version; he may want the newer one again."""
    before, back = folder.files(), folder.table.metadata_location
    folder.lake.write("later", a=[100])
    newer = folder.table.metadata_location
    with sqlite3.connect(urlparse(folder.lake.settings.uri).path) as database:
        database.execute("UPDATE iceberg_tables SET metadata_location = ? WHERE metadata_location = ?", (back, newer))
    assert folder.lake.rows(folder.name) == list(range(5))
    folder.age(days_ago=3)
    folder.look()
    version = urlparse(newer).path.rpartition("/")[2]
    left = {name for name in folder.files() - before if name.endswith(".metadata.json")}
    assert {name for _, name in folder.events()} == left
    assert f"metadata/{version}" in left
    folder.look(days=3)
    assert folder.files() & left == set()
    data = [name for name in folder.files() - before if name.endswith(".parquet")]
    assert len(data) == 1  # what only that version knew: now, and not before, it is a candidate itself
    folder.look(days=6)
    assert ("candidate", data[0]) in folder.events()
    assert set(data) <= folder.files()
    folder.look(days=9)
    assert folder.files() == before
    assert folder.lake.rows(folder.name) == list(range(5))


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
    location, place = folder.table.location(), folder.lake.namespace
    move = SetLocationUpdate(location=f"{location}_moved")
    folder.lake.catalog.commit_tables([TableChange(folder.table.name(), (), (move,))])
    folder.lake.catalog.create_table((place, "b"), SCHEMA, location=location)
    folder.lake.write("b", b=[1])
    with pytest.raises(CannotLook, match=f"{folder.name} has metadata at {location}, the location of {place}.b"):
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
    "properties",
    [
        {"gc.enabled": "false"},
        {"write.data.path": "file:///elsewhere"},
        {"write.metadata.path": "file:///elsewhere"},
    ],
)
def test_where_files_may_be_anybodys_nobody_looks(folder: Folder, properties: dict[str, str]) -> None:
    with folder.table.transaction() as change:
        change.set_properties(properties)
    folder.put()
    with pytest.raises(CannotLook, match=next(iter(properties))):
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


TORN = "metadata/00099-broken.metadata.json"


def test_a_version_that_cannot_be_read_stops_the_look_while_it_may_be_being_written(folder: Folder) -> None:
    folder.put(TORN, content="{", days_ago=1.9)
    with pytest.raises(MetadataUnreadable, match="00099-broken"):
        folder.look()


@pytest.mark.parametrize("content", ["", "{", "[]", "\x1f\x8b"])
def test_a_torn_version_that_nobody_names_is_an_orphan(folder: Folder, content: str) -> None:
    """What a full disk or a crash leaves behind; it kept all other orphans until somebody removed it by hand."""
    before = folder.files()
    torn, stray = folder.put(TORN, content=content), folder.put()
    assert folder.look().effect.candidates == 2
    assert folder.look(days=3).effect.deleted == 2
    assert sorted(folder.events()) == sorted(
        (event, file) for event in ("candidate", "deleted") for file in (torn, stray)
    )
    assert folder.files() == before


def test_a_torn_version_in_the_log_stops_the_look(folder: Folder) -> None:
    """Whichever version names it: somebody may want to go back to that one."""
    logged = Path(urlparse(folder.table.metadata.metadata_log[-1].metadata_file).path)
    logged.write_text("{")
    folder.age(days_ago=30)
    with pytest.raises(MetadataUnreadable, match=logged.name):
        folder.look()
    rolled_back = folder.put("metadata/00098-rolled-back.metadata.json", content="{}")
    folder.put(TORN, content="{")
    newest = json.loads(Path(urlparse(folder.table.metadata_location).path).read_text())
    log = [{"metadata-file": (folder.path / TORN).as_uri(), "timestamp-ms": 1}]
    logged.write_text(json.dumps({**newest, "metadata-log": []}))
    folder.put(rolled_back, content=json.dumps({**newest, "metadata-log": log}))
    with pytest.raises(MetadataUnreadable, match="00099-broken"):
        folder.look()


def test_a_version_that_the_store_does_not_hand_out_stops_the_look(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be whole."""
    folder.put(TORN, content="{")

    new_input = PyArrowFileIO.new_input

    def refusing(io: PyArrowFileIO, location: str) -> InputFile:
        if "broken" in location:
            raise OSError(f"{location}: not now")
        return new_input(io, location)

    monkeypatch.setattr(PyArrowFileIO, "new_input", refusing)
    with pytest.raises(MetadataUnreadable, match="not now"):
        folder.look()


def test_a_missing_manifest_of_the_table_stops_the_look(folder: Folder) -> None:
    (newest,) = [
        s for s in folder.table.metadata.snapshots if s.snapshot_id == folder.table.metadata.current_snapshot_id
    ]
    Path(urlparse(newest.manifest_list).path).unlink()
    with pytest.raises(MetadataUnreadable, match="is not there"):
        folder.look()


def test_a_kill_before_the_deletion_is_completed_by_the_next_look(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    stray = folder.put()
    folder.look()
    monkeypatch.setenv("LAKEHOUSE_FAILPOINTS", "orphans.between=fail")
    with pytest.raises(InjectedFault):
        folder.look(days=3)
    monkeypatch.delenv("LAKEHOUSE_FAILPOINTS")
    assert folder.events() == [("candidate", stray), ("deleted", stray)]  # on record, before it is done
    assert stray in folder.files()
    assert folder.look(days=3.1).effect.deleted == 1
    assert stray not in folder.files()


def test_checksums_and_hints_go_by_what_they_are_for(folder: Folder) -> None:
    known = Path(next(task.file.file_path for task in folder.table.scan().plan_files())).name
    folder.put(f"data/.{known}.crc")
    folder.put("metadata/version-hint.text")
    stray = folder.put(f"data/.{ROW}.crc")
    folder.look()
    assert folder.events() == [("candidate", stray)]


@pytest.mark.parametrize("write", [lambda path: f"file:{path}", lambda path: f"file://{path}", str])
def test_however_a_location_is_written(sql_lake: Lake, tmp_path: Path, write: Callable[[Path], str]) -> None:
    """Metadata says `file:/t/x`, the listing `/t/x`: one file all the same, and no reason to delete it."""
    apply(plan(ORPHANS, sql_lake.catalog), sql_lake.catalog)
    location = tmp_path / "warehouse" / "t#1 ü%20"
    if write(location).startswith("file://"):
        location = tmp_path / "warehouse" / "plain"
    elif not write(location).startswith("file:"):
        location = tmp_path / "warehouse" / "t ü"
    else:
        location = tmp_path / "warehouse" / "colon"
    sql_lake.catalog.create_table((sql_lake.namespace, "a"), SCHEMA, location=write(location))
    sql_lake.write("first", a=[1])
    folder = Folder(sql_lake, f"{sql_lake.namespace}.a")
    stray = location / "data" / "50%25 #1.parquet"
    stray.write_text("rows")
    twin = location / "data" / "50%25 "  # what the other's address would be, if it were parsed
    shutil.copy(next(location.rglob("0*.parquet")), twin)
    for path in location.rglob("*"):
        os.utime(path, (1, 1))
    assert folder.look().effect.candidates == 2
    twin.write_text("new")
    assert folder.look(days=3).effect.deleted == 1
    assert not stray.exists()
    assert twin.exists()
    assert sql_lake.rows(folder.name) == [1]


NOW = datetime(2031, 5, 1, tzinfo=UTC)


def _listed(*files: ListedFile) -> Listing:
    return Listing(files, arrow_fs.LocalFileSystem(), "s3")


def test_a_file_of_unknown_age_is_never_a_candidate() -> None:
    files = [ListedFile("b/t/old.parquet", 1, NOW - timedelta(days=9)), ListedFile("b/t/what.parquet", 1, None)]
    memory = OrphanHistory({"s3://b/t/what.parquet": Noted(NOW - timedelta(days=99), 1, NOW)})
    verdict = look(_listed(*files), Known(frozenset(), 1), memory, Orphans(), now=NOW, longest=timedelta(0))
    assert verdict.candidates == (files[0],)
    assert verdict.doomed == verdict.waiting == ()


HOURS = st.integers(0, 400)
RUNS = st.lists(st.tuples(HOURS, st.integers(1, 300), st.booleans()), max_size=6)


@settings(max_examples=300)
@given(RUNS, st.lists(HOURS, max_size=12), st.integers(24, 100))
def test_no_file_of_a_run_that_will_commit_is_ever_deleted(
    runs: list[tuple[int, int, bool]], looks: list[int], older_than: int
) -> None:
    """Runs write a file as they begin, and commit it as they end, if they live; looks come whenever they like."""
    begin, policy = NOW, Orphans(older_than=timedelta(hours=older_than), delete=True)
    memory, deleted = OrphanHistory({}), set[int]()
    for hour in [*sorted(looks), 2000, 4000]:
        now = begin + timedelta(hours=hour)
        there = [n for n, (start, _, _) in enumerate(runs) if start <= hour and n not in deleted]
        files = {n: ListedFile(f"b/{n}", 1, begin + timedelta(hours=runs[n][0])) for n in there}
        committed = {str(n) for n in there if runs[n][2] and runs[n][0] + runs[n][1] <= hour}
        # Dagster remembers the runs that are done, and knows how long the others have taken.
        took = [timedelta(hours=min(long, hour - start)) for start, long, _ in runs if start <= hour]
        longest = max([memory.longest_run, *took])
        verdict = look(
            _listed(*files.values()), Known(frozenset(committed), 1), memory, policy, now=now, longest=longest
        )
        gone = {n for n, file in files.items() if file in verdict.doomed}
        assert not {n for n in gone if runs[n][2]}
        deleted |= gone
        noted = dict(memory.orphans)
        noted |= {f"s3://{f.path}": Noted(now, f.bytes, f.modified_at or now) for f in verdict.candidates}
        for file in verdict.reprieved:
            noted.pop(f"s3://{file.path}")
        memory = replace(memory, orphans=noted, longest_run=longest)
    assert deleted == {n for n, (_, _, lives) in enumerate(runs) if not lives}


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
