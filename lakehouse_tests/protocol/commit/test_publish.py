"""Stage, seal, publish on both catalogs: what a reader of `main` may and may not see."""

import time
from datetime import timedelta

import pytest
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.types import LongType

from lakehouse.protocol.catalog import TableChange, ref_is
from lakehouse.protocol.cleanup.housekeeping import abandoned_branches, drop_branch
from lakehouse.protocol.commit import publish
from lakehouse.protocol.errors import ForeignCommit, MainMoved, RolledBack, SchemaChanged, Superseded, TableReplaced
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.history import last_seal, seals
from lakehouse.protocol.seals.read_group import read_group
from lakehouse_tests.fixtures.lakes import Lake


class CommitRefused(Exception):
    """By a condition."""


def attempt(step: str = "step", run: str = "run") -> Attempt:
    return Attempt(run_id=run, step=step)


def test_first_commit_of_a_table_without_snapshots(lake: Lake) -> None:
    name = lake.create("a")
    staged = lake.stage(lake.bases(name)[name], attempt(), [1, 2, 3])
    assert lake.rows(name) == []
    result = publish(lake.catalog, [staged])
    assert lake.rows(name) == [1, 2, 3]
    assert result.snapshots == {name: staged.head}
    assert list(lake.load(name).metadata.refs) == ["main"]


def test_nothing_is_visible_before_publish_and_everything_after(lake: Lake) -> None:
    names = [lake.create("a"), lake.create("b")]
    lake.write("first", a=[1], b=[10])
    bases = lake.bases(*names)
    work = attempt()
    staged = [lake.stage(bases[names[0]], work, [2]), lake.stage(bases[names[1]], work, [20])]
    assert [lake.rows(name) for name in names] == [[1], [10]]
    publish(lake.catalog, staged)
    assert [lake.rows(name) for name in names] == [[1, 2], [10, 20]]


def test_what_a_condition_requires_is_part_of_the_transaction(lake: Lake) -> None:
    """The other table is as it was looked at, or nothing is published; it gets no new document itself."""
    a, b = lake.create("a"), lake.create("b")
    lake.write("first", a=[1], b=[10])
    staged = lake.stage(lake.bases(a)[a], attempt(), [2])
    seen: list[int] = []

    def unchanged() -> TableChange:
        table = lake.load(b)
        if seen:
            raise CommitRefused("b was changed")
        seen.append(1)
        lake.write("other", b=[20])
        return TableChange(table.name(), (ref_is("main", table.metadata.current_snapshot_id),), ())

    with pytest.raises(CommitRefused):
        publish(lake.catalog, [staged], conditions=[unchanged])
    assert (lake.rows(a), lake.rows(b)) == ([1], [10, 20])
    location, head = lake.load(b).metadata_location, lake.load(b).metadata.current_snapshot_id
    publish(lake.catalog, [staged], conditions=[lambda: TableChange(lake.load(b).name(), (ref_is("main", head),), ())])
    assert (lake.rows(a), lake.load(b).metadata_location) == ([1, 2], location)


def test_a_step_without_rows_is_just_a_seal(lake: Lake) -> None:
    name = lake.create("a")
    lake.write("first", a=[1])
    publish(lake.catalog, [lake.stage(lake.bases(name)[name], attempt(), [], position="7")])
    assert lake.rows(name) == [1]
    sealed = last_seal(lake.load(name))
    assert sealed is not None
    assert sealed.seal.statement["position"] == "7"


def test_seals_form_a_chain_by_digest(lake: Lake) -> None:
    name = lake.create("a")
    for n in range(3):
        lake.write(f"s{n}", a=[n])
    newest_first = [sealed.seal for sealed in seals(lake.load(name), lake.bases(name)[name].snapshot_id)]
    assert [seal.step for seal in newest_first] == ["s2", "s1", "s0"]
    assert [seal.previous for seal in newest_first] == [newest_first[1].digest, newest_first[2].digest, ""]


def test_the_loser_of_a_race_is_superseded_and_changes_nothing(lake: Lake) -> None:
    names = [lake.create("a"), lake.create("b")]
    bases = lake.bases(*names)
    first, second = attempt(), attempt()
    staged = [[lake.stage(bases[name], work, [n]) for name in names] for n, work in ((1, first), (2, second))]
    publish(lake.catalog, staged[0])
    with pytest.raises(Superseded):
        publish(lake.catalog, staged[1])
    assert [lake.rows(name) for name in names] == [[1], [1]]


def test_overlapping_sets_move_together_or_not_at_all(lake: Lake) -> None:
    a, b, c = (lake.create(n) for n in "abc")
    bases = lake.bases(a, b, c)
    left, right = attempt("left"), attempt("right")
    staged_left = [lake.stage(bases[n], left, [1]) for n in (a, b)]
    staged_right = [lake.stage(bases[n], right, [2]) for n in (b, c)]
    publish(lake.catalog, staged_right)
    with pytest.raises(Superseded):
        publish(lake.catalog, staged_left)
    assert [lake.rows(n) for n in (a, b, c)] == [[], [2], [2]]


def test_foreign_branch_tag_and_property_do_not_disturb(lake: Lake) -> None:
    name = lake.create("a")
    lake.write("first", a=[1])
    staged = lake.stage(lake.bases(name)[name], attempt(), [2])
    table = lake.load(name)
    table.manage_snapshots().create_tag(table.current_snapshot().snapshot_id, "t").commit()
    lake.load(name).manage_snapshots().create_branch(table.current_snapshot().snapshot_id, "other").commit()
    lake.load(name).transaction().set_properties({"who": "else"}).commit_transaction()
    lake.load(name).append(lake.load(name).scan().to_arrow(), branch="other")
    publish(lake.catalog, [staged])
    after = lake.load(name)
    assert lake.rows(name) == [1, 2]
    assert after.properties["who"] == "else"
    assert set(after.metadata.refs) == {"main", "t", "other"}


def test_an_unsealed_append_in_between_is_refused(lake: Lake) -> None:
    name = lake.create("a")
    lake.write("first", a=[1])
    staged = lake.stage(lake.bases(name)[name], attempt(), [2])
    lake.load(name).append(lake.load(name).scan().to_arrow())
    with pytest.raises(ForeignCommit, match="outside the protocol"):
        publish(lake.catalog, [staged])
    assert lake.rows(name) == [1, 1]


def test_a_changed_schema_is_refused(lake: Lake) -> None:
    name = lake.create("a")
    staged = lake.stage(lake.bases(name)[name], attempt(), [2])
    with lake.load(name).update_schema() as update:
        update.add_column("more", LongType())
    with pytest.raises(SchemaChanged):
        publish(lake.catalog, [staged])
    assert lake.rows(name) == []


def test_a_table_dropped_and_made_anew_is_refused(lake: Lake) -> None:
    name = lake.create("a")
    staged = lake.stage(lake.bases(name)[name], attempt(), [2])
    lake.catalog.drop_table(name)
    lake.create("a")
    with pytest.raises(TableReplaced):
        publish(lake.catalog, [staged])


def test_rolled_back_rows_do_not_come_back_to_life(lake: Lake) -> None:
    name = lake.create("a")
    lake.write("first", a=[1])
    before = lake.bases(name)[name].snapshot_id
    lake.write("second", a=[2])
    staged = lake.stage(lake.bases(name)[name], attempt(), [3])
    lake.load(name).manage_snapshots().set_current_snapshot(before).commit()
    with pytest.raises(MainMoved):
        publish(lake.catalog, [staged])
    assert lake.rows(name) == [1]


def test_a_head_on_top_of_foreign_rows_is_refused(lake: Lake) -> None:
    name = lake.create("a")
    lake.write("first", a=[1])
    base = lake.bases(name)[name]
    work = attempt()
    lake.stage(base, work, [3])
    lake.load(name).append(lake.load(name).scan().to_arrow(), branch=work.branch)
    staged = lake.stage(base, work, [4])
    with pytest.raises(ForeignCommit, match="not this attempt"):
        publish(lake.catalog, [staged])


def test_publishing_again_recognises_its_own_commit(lake: Lake) -> None:
    name = lake.create("a")
    staged = lake.stage(lake.bases(name)[name], attempt(), [1])
    assert publish(lake.catalog, [staged]).snapshots == publish(lake.catalog, [staged]).snapshots
    assert lake.rows(name) == [1]


def test_publishing_again_after_an_operators_rollback_stops(lake: Lake) -> None:
    name = lake.create("a")
    lake.write("first", a=[1])
    base = lake.bases(name)[name]
    staged = lake.stage(base, attempt(), [2])
    publish(lake.catalog, [staged])
    lake.load(name).manage_snapshots().set_current_snapshot(base.snapshot_id).commit()
    with pytest.raises(RolledBack):
        publish(lake.catalog, [staged])
    assert lake.rows(name) == [1]


def test_many_commits_keep_the_metadata_small_and_every_row(lake: Lake) -> None:
    name = lake.create("a", **{"lakehouse.publish.keep-snapshots": "6"})
    for n in range(12):
        lake.write(f"s{n}", a=[n])
    table = lake.load(name)
    assert lake.rows(name) == list(range(12))
    assert len(table.metadata.snapshots) <= 8


def test_housekeeping_removes_an_abandoned_branch_with_its_files_and_nothing_else(lake: Lake) -> None:
    name = lake.create("a")
    lake.write("first", a=[1])
    dead = lake.stage(lake.bases(name)[name], attempt(), [2, 3])
    doomed = [f.file.file_path for f in lake.load(name).scan(snapshot_id=dead.head).plan_files()]
    assert abandoned_branches(lake.load(name)) == []
    (branch,) = abandoned_branches(lake.load(name), older_than=timedelta(0))
    assert drop_branch(lake.catalog, branch) == 1
    table = lake.load(name)
    assert list(table.metadata.refs) == ["main"]
    assert lake.rows(name) == [1]
    kept = {f.file.file_path for f in table.scan().plan_files()}
    for path in doomed:
        assert table.io.new_input(path).exists() == (path in kept)


def test_a_group_is_read_at_one_moment(lake: Lake) -> None:
    names = [lake.create("a"), lake.create("b")]
    lake.write("first", a=[1], b=[1])
    group = read_group(lake.catalog, names)
    lake.write("second", a=[2], b=[2])
    assert [pinned.scan("n").to_arrow()["n"].to_pylist() for pinned in group.values()] == [[1], [1]]
    steps = {pinned.sealed.seal.step for pinned in group.values() if pinned.sealed}
    assert steps == {"first"}


def test_a_missing_table_is_named(lake: Lake) -> None:
    with pytest.raises(NoSuchTableError):
        lake.bases(f"{lake.namespace}.absent")


def test_a_slow_clock_does_not_write_history_backwards(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    name = lake.create("a")
    lake.write("first", a=[1])
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() - 30 * 10**9)
    lake.write("second", a=[2])
    log = lake.load(name).metadata.snapshot_log
    assert [entry.timestamp_ms for entry in log] == sorted(entry.timestamp_ms for entry in log)
