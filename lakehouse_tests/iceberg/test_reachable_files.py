"""What only removed snapshots have reached: that and nothing else may be deleted with them.

Guarded mechanism: `reached_only_by`, which asks every snapshot that is left, and not just the heads of references.
"""

from datetime import timedelta

from pyiceberg.table import Table

from lakehouse.iceberg.reachable_files import delete_files, reached_only_by
from lakehouse.protocol.catalog import TableChange, remove_ref, remove_snapshots, set_branch
from lakehouse.protocol.cleanup.housekeeping import abandoned_branches, drop_branch
from lakehouse.protocol.commit import publish
from lakehouse.protocol.commit.rebase import rebase
from lakehouse.protocol.commit.trim import outdated_snapshots
from lakehouse.protocol.seals.history import ancestry, head_of
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.protocol.commit.oracle import Oracle
from lakehouse_tests.protocol.commit.test_unusual_tables import attempt, maintain


def _removed(lake: Lake, name: str, keep: int) -> tuple[Table, Table, list[int]]:
    """Remove all but the newest entries of main; the table before and after, and what went."""
    before = lake.load(name)
    gone = [snapshot.snapshot_id for snapshot in list(ancestry(before, head_of(before)))[keep:]]
    lake.catalog.commit_tables([TableChange(before.name(), (), (remove_snapshots(gone),))])
    return before, lake.load(name), gone


def test_files_that_a_newer_snapshot_reads_stay(lake: Lake) -> None:
    name = lake.create("a")
    for number in range(4):
        lake.write(f"s{number}", a=[number])
    lake.load(name).delete("n == 1")
    oracle = Oracle.of(lake)
    all_files = oracle.files_on_disk("a")
    before, after, gone = _removed(lake, name, keep=1)
    only = reached_only_by([s for s in before.metadata.snapshots if s.snapshot_id in gone], before, after)
    assert only.data == all_files - oracle.files("a")
    assert len(only.data) == 1
    assert delete_files(before, only.data | only.metadata, ()) == len(only.data) + len(only.metadata)
    assert delete_files(before, only.data, ()) == 0  # again: it has gone already
    assert lake.rows(name) == [0, 2, 3]
    assert oracle.files_on_disk("a") == oracle.files("a")


def test_a_tag_keeps_its_files_from_going_with_its_neighbours(lake: Lake) -> None:
    name = lake.create("a")
    for number in range(3):
        lake.write(f"s{number}", a=[number])
    old = head_of(lake.load(name))
    assert old is not None
    lake.load(name).manage_snapshots().create_tag(old, "kept").commit()
    lake.load(name).delete("n < 3")
    before = lake.load(name)
    gone = [s.snapshot_id for s in ancestry(before, before.metadata.snapshot_by_id(old).parent_snapshot_id)]  # pyright: ignore[reportOptionalMemberAccess]
    lake.catalog.commit_tables([TableChange(before.name(), (), (remove_snapshots(gone),))])
    only = reached_only_by([s for s in before.metadata.snapshots if s.snapshot_id in gone], before, lake.load(name))
    assert not only.data
    delete_files(before, only.metadata, ())
    assert sorted(lake.load(name).scan(snapshot_id=old).to_arrow()["n"].to_pylist()) == [0, 1, 2]


def test_a_dead_branch_does_not_take_files_with_it_that_the_history_of_main_reads(lake: Lake) -> None:
    """Its files were published from another branch, on a newer base, and are no longer at the head of main."""
    name = lake.create("a")
    lake.write("first", a=[1])
    staged = lake.stage(lake.bases(name)[name], attempt(), [2])
    maintain(lake, name)
    rebased = rebase(lake.catalog, staged, lake.load(name))
    lake.catalog.commit_tables(
        [TableChange(rebased.base.identifier, (), (set_branch("main", rebased.head), remove_ref(rebased.branch)))]
    )
    then = head_of(lake.load(name))
    lake.load(name).delete("n == 2")
    (left,) = abandoned_branches(lake.load(name), older_than=timedelta(0))
    assert left.branch == staged.branch
    assert drop_branch(lake.catalog, left) == 0
    assert sorted(lake.load(name).scan(snapshot_id=then).to_arrow()["n"].to_pylist()) == [1, 2]


def test_what_a_rebase_leaves_on_no_reference_goes_in_the_end(lake: Lake) -> None:
    """Trimming takes it ten days later, where nobody expires; what was rolled back is not its business."""
    name = lake.create("a")
    lake.write("first", a=[1])
    staged = lake.stage(lake.bases(name)[name], attempt(), [2])
    maintain(lake, name)
    assert publish(lake.catalog, [staged]).rebases == 1
    table = lake.load(name)
    reachable = {s.snapshot_id for s in ancestry(table, head_of(table))}
    left = {s.snapshot_id for s in table.metadata.snapshots} - reachable
    assert len(left) == 2
    assert outdated_snapshots(table, head_of(table) or 0) == []
    days = [10 * 24 * 3600 * 1000 - 60_000, 10 * 24 * 3600 * 1000 + 60_000]
    later = [
        Table(
            table.name(),
            table.metadata.model_copy(update={"last_updated_ms": table.metadata.last_updated_ms + ms}),
            table.metadata_location,
            table.io,
            table.catalog,
        )
        for ms in days
    ]
    assert [set(outdated_snapshots(table, head_of(table) or 0)) for table in later] == [set(), left]


def test_a_file_that_is_named_in_another_way_is_needed_still(lake: Lake) -> None:
    """Whoever adds files by their paths writes them as he likes; what was let go under one name is read by another."""
    name = lake.create("a")
    lake.write("first", a=[1, 2])
    table = lake.load(name)
    (path,) = [task.file.file_path for task in table.scan().plan_files()]
    mapping = table.schema().name_mapping.model_dump_json()
    table.delete("n >= 0")
    with lake.load(name).transaction() as change:
        change.set_properties({"schema.name-mapping.default": mapping})
        change.add_files([path.replace("file:///", "file:/")], check_duplicate_files=False)
    before, after, gone = _removed(lake, name, keep=1)
    only = reached_only_by([s for s in before.metadata.snapshots if s.snapshot_id in gone], before, after)
    assert only.data == frozenset()
    delete_files(before, only.metadata, ())
    assert lake.rows(name) == [1, 2]
