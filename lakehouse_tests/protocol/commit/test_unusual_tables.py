"""Table states and timings that no ordinary day brings: each ends well, or with an error that names what happened."""

import sys
import time
from datetime import timedelta
from typing import Any

import pytest

from lakehouse.protocol.catalog import TableChange, remove_ref
from lakehouse.protocol.cleanup.housekeeping import abandoned_branches, drop_branch
from lakehouse.protocol.commit import open_branch, publish, seal_branch, stage_files
from lakehouse.protocol.commit.rebase import rebase
from lakehouse.protocol.errors import MainMoved, RolledBack, SchemaChanged, Superseded, TableGone
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.seal import Seal
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.protocol.commit.oracle import Oracle


def attempt(step: str = "step") -> Attempt:
    return Attempt(run_id="run", step=step)


def maintain(lake: Lake, name: str) -> None:
    """A commit of maintenance, which lets an attempt under way be rebased."""
    upkeep, base = attempt("upkeep"), lake.bases(name)[name]
    assert base.sealed
    note = Seal.of(upkeep, "maintenance", statement={}, previous=base.sealed.seal)
    publish(lake.catalog, [seal_branch(lake.catalog, base, upkeep, note)])


def test_an_empty_table_whose_twin_published_before_we_staged(lake: Lake) -> None:
    """Its first commit is raced for, and the loser stages only after the winner has published."""
    name = lake.create("a")
    base = lake.bases(name)[name]
    lake.write("twin", a=[1])
    staged = lake.stage(base, attempt(), [2])
    with pytest.raises(Superseded):
        publish(lake.catalog, [staged])
    assert Oracle.of(lake).rows("a") == {1: "1"}


def test_a_base_that_was_trimmed_away_before_we_staged(lake: Lake) -> None:
    name = lake.create("a", **{"lakehouse.publish.keep-snapshots": "2"})
    lake.write("first", a=[1])
    base = lake.bases(name)[name]
    for n in range(2, 5):
        lake.write(f"later {n}", a=[n])
    with pytest.raises(MainMoved, match="no longer in the table"):
        lake.stage(base, attempt(), [9])
    assert Oracle.of(lake).refs("a") == {"main"}


def test_a_table_that_is_renamed_while_staged_is_named_and_goes_on_under_its_name(sql_lake: Lake) -> None:
    names = [sql_lake.create("a"), sql_lake.create("b")]
    bases = sql_lake.bases(*names)
    staged = [sql_lake.stage(bases[name], attempt(), [1]) for name in names]
    sql_lake.catalog.rename_table(names[1], f"{names[1]}_away")
    with pytest.raises(TableGone, match=rf"^{names[1]} was dropped or renamed during this attempt.*Remedy"):
        publish(sql_lake.catalog, staged)
    with pytest.raises(TableGone, match=f"^{names[1]} "):
        sql_lake.stage(bases[names[1]], attempt("other"), [])
    sql_lake.catalog.rename_table(f"{names[1]}_away", names[1])
    publish(sql_lake.catalog, staged)
    assert [sql_lake.rows(name) for name in names] == [[1], [1]]


def test_main_removed_while_staged(lake: Lake) -> None:
    name = lake.create("a")
    lake.write("first", a=[1])
    staged = lake.stage(lake.bases(name)[name], attempt(), [2])
    lake.catalog.commit_tables([TableChange(tuple(name.split(".")), (), (remove_ref("main"),))])
    with pytest.raises(MainMoved):
        publish(lake.catalog, [staged])
    assert "main" not in Oracle.of(lake).refs("a")


def test_a_tag_named_like_an_attempts_branch_is_left_alone(lake: Lake) -> None:
    name = lake.create("a")
    lake.write("first", a=[1])
    head = lake.bases(name)[name].snapshot_id
    assert head is not None
    lake.load(name).manage_snapshots().create_tag(head, "lakehouse_attempt_kept").commit()
    assert abandoned_branches(lake.load(name), older_than=timedelta(0)) == []


@pytest.mark.usefixtures("storage_of_our_clock")
def test_a_branch_just_opened_on_an_old_table_is_not_abandoned(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark is about to write to it; its head is still the base, which is older than any run may take."""
    name = lake.create("a")
    lake.write("first", a=[1])
    dead = attempt()
    open_branch(lake.catalog, lake.bases(name)[name], dead)
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + 25 * 3600 * 10**9)
    open_branch(lake.catalog, lake.bases(name)[name], attempt())
    assert [branch.branch for branch in abandoned_branches(lake.load(name))] == [dead.branch]


def test_thirty_tables_in_one_publish(lake: Lake) -> None:
    tables = [f"t{n}" for n in range(30)]
    for table in tables:
        lake.create(table)
    names = [f"{lake.namespace}.{table}" for table in tables]
    work, bases = attempt(), lake.bases(*names)
    result = publish(lake.catalog, [lake.stage(bases[name], work, []) for name in names])
    assert set(result.snapshots) == set(names)
    oracle = Oracle.of(lake)
    assert all(oracle.attempts(table) == [work.id] for table in tables)


def test_a_table_named_twice_is_refused(lake: Lake) -> None:
    name = lake.create("a")
    staged = lake.stage(lake.bases(name)[name], attempt(), [1])
    with pytest.raises(ValueError, match="once"):
        publish(lake.catalog, [staged, staged])


def test_a_transaction_that_the_catalog_applied_in_part_is_completed(lake: Lake) -> None:
    """A catalog that is not crash-atomic, or shows one table's change before the other's."""
    names = [lake.create("a"), lake.create("b")]
    work, bases = attempt(), lake.bases(*names)
    staged = [lake.stage(bases[name], work, [1]) for name in names]
    publish(lake.catalog, staged[:1])
    publish(lake.catalog, staged)
    oracle = Oracle.of(lake)
    assert [oracle.rows(table) for table in "ab"] == [{1: "1"}, {1: "1"}]


def test_one_table_of_two_was_taken_back(lake: Lake) -> None:
    names = [lake.create("a"), lake.create("b")]
    lake.write("first", a=[1], b=[1])
    work, bases = attempt(), lake.bases(*names)
    staged = [lake.stage(bases[name], work, [2]) for name in names]
    publish(lake.catalog, staged)
    lake.load(names[1]).manage_snapshots().set_current_snapshot(bases[names[1]].snapshot_id).commit()
    with pytest.raises(RolledBack):
        publish(lake.catalog, staged)
    assert Oracle.of(lake).rows("b") == {1: "1"}


def test_partitioning_changed_before_the_files_were_staged(lake: Lake) -> None:
    """PyIceberg would enter them in a manifest of the new partitioning, where readers prune them wrongly."""
    name = lake.create("a")
    base = lake.bases(name)[name]
    files = lake.files(name, [1, 2])
    with lake.load(name).update_spec() as update:
        update.add_identity("n")
    with pytest.raises(SchemaChanged, match="partitioning"):
        stage_files(lake.catalog, base, attempt(), files)


def test_partitioning_changed_after_the_files_were_staged(lake: Lake) -> None:
    name = lake.create("a")
    staged = lake.stage(lake.bases(name)[name], attempt(), [1, 2])
    with lake.load(name).update_spec() as update:
        update.add_identity("n")
    publish(lake.catalog, [staged])
    assert [row["n"] for row in lake.load(name).scan("n == 2").to_arrow().to_pylist()] == [2]


def test_housekeeping_while_a_rebase_is_on_its_way(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The branch is removed between the moment its files are read and the moment they are put on a newer base."""
    name = lake.create("a")
    lake.write("first", a=[1])
    staged = lake.stage(lake.bases(name)[name], attempt(), [2])
    maintain(lake, name)
    publish_module = sys.modules[publish.__module__]
    real = publish_module.rebase

    def rebase_late(*args: Any) -> Any:
        (branch,) = abandoned_branches(lake.load(name), older_than=timedelta(0))
        drop_branch(lake.catalog, branch)
        return real(*args)

    monkeypatch.setattr(publish_module, "rebase", rebase_late)
    with pytest.raises(RolledBack, match="or removed"):
        publish(lake.catalog, [staged])
    oracle = Oracle.of(lake)
    assert oracle.rows("a") == {1: "1"}
    assert oracle.files("a") <= oracle.files_on_disk("a")


def test_branches_of_an_attempt_killed_after_its_rebase_share_files(lake: Lake) -> None:
    """Whichever is removed first, the files stay until the other is gone too."""
    name, oracle = lake.create("a"), Oracle.of(lake)
    lake.write("first", a=[1])
    staged = lake.stage(lake.bases(name)[name], attempt(), [2])
    maintain(lake, name)
    rebased = rebase(lake.catalog, staged, lake.load(name))
    first, second = abandoned_branches(lake.load(name), older_than=timedelta(0))
    assert drop_branch(lake.catalog, first) == 0
    left = staged.head if second.branch == staged.branch else rebased.head
    assert sorted(lake.load(name).scan(snapshot_id=left).to_arrow()["n"].to_pylist()) == [1, 2]
    assert drop_branch(lake.catalog, second) == 1
    assert oracle.rows("a") == {1: "1"}
    assert oracle.files("a") == oracle.files_on_disk("a")
