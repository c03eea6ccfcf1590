"""A rewrite published as its writer left it, without our marks: claimed by its snapshots, on this very base alone.

Guarded mechanisms: only rewrites without a gap are claimed, and nothing but them; no commit that nobody sealed is
hidden; the seal is the only thing on top; on a newer base the work is lost, and says so.
"""

from collections.abc import Callable
from typing import Any

import pytest
from pyiceberg.table import Transaction
from pyiceberg.table.update.snapshot import ManageSnapshots

from lakehouse import seal_keys
from lakehouse.protocol.commit import Staged, publish, stage_as_written, stage_files
from lakehouse.protocol.commit.replace_snapshot import ReplaceFiles
from lakehouse.protocol.commit.stage import commit_on_branch, seal_on
from lakehouse.protocol.errors import ForeignCommit, MainMoved
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.foreign_rewrites import foreign_rewrites
from lakehouse.protocol.seals.history import head_of, last_seal
from lakehouse.protocol.seals.seal import Seal
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.protocol.commit.rewrites import append, create, rewrite


class Writer:
    """What Spark does for a seal: an append without rows, with what it is told as properties of its snapshot."""

    def __init__(self, lake: Lake, base: Base, attempt: Attempt, *, writes: bool = True) -> None:
        self._lake, self._base, self._attempt, self._writes = lake, base, attempt, writes
        self._summary: dict[str, str] = {}

    def table(self, _: str) -> "Writer":
        return self

    def limit(self, _: int) -> "Writer":
        return self

    def writeTo(self, _: str) -> "Writer":  # noqa: N802 - Spark's name
        return self

    def option(self, key: str, value: str) -> "Writer":
        self._summary[key.removeprefix("snapshot-property.")] = value
        return self

    def append(self) -> None:
        seal = Seal.from_summary(self._summary, where="the test")
        assert seal
        if self._writes:
            branch = self._attempt.branch
            commit_on_branch(self._lake.catalog, self._base, branch, lambda t: seal_on(t, self._base, branch, seal))


def rewritten(lake: Lake, name: str) -> tuple[Base, Attempt, int]:
    """A day in one file, on the attempt's branch, by a writer that sets no marks."""
    base, attempt = lake.bases(name)[name], Attempt(run_id="upkeep", step="maintain:a")

    def build(transaction: Transaction) -> None:
        ManageSnapshots(transaction).create_branch(base.snapshot_id or 0, attempt.branch).commit()
        ReplaceFiles(transaction, base.table, rewrite(base.table, 1), {}, attempt.branch).commit()

    return base, attempt, commit_on_branch(lake.catalog, base, attempt.branch, build)


def stage(lake: Lake, base: Base, attempt: Attempt, head: int, *, writes: bool = True) -> Staged:
    writer: Any = Writer(lake, base, attempt, writes=writes)
    return stage_as_written(lake.catalog, writer, base, attempt, head)


def filled(lake: Lake) -> str:
    name = create(lake)
    for n in range(3):
        append(lake, name, {n: 1, 10 + n: 2}, position=str(n))
    return name


def test_its_own_rewrite_is_claimed_and_none_below(sql_lake: Lake) -> None:
    """What somebody else put below the seal as a rewrite is to be proven, whatever the version of the table."""
    name = filled(sql_lake)
    table = sql_lake.load(name)
    with table.transaction() as transaction:
        ReplaceFiles(transaction, table, rewrite(table, 2), {}, "main").commit()
    foreign = head_of(sql_lake.load(name))
    staged = stage(sql_lake, *rewritten(sql_lake, name))
    publish(sql_lake.catalog, [staged])
    table = sql_lake.load(name)
    assert [snapshot.snapshot_id for snapshot in foreign_rewrites(table, head_of(table))] == [foreign]
    base, attempt = sql_lake.bases(name)[name], Attempt(run_id="upkeep", step="maintain:a")
    assert base.sealed is not None
    assert seal_keys.REWRITE_CLAIMED in base.sealed.seal.statement
    assert seal_keys.REWRITE_CLAIMED not in Seal.repeated(base.sealed.seal, attempt).statement


def test_it_is_published_as_it_is(sql_lake: Lake) -> None:
    name = filled(sql_lake)
    staged = stage(sql_lake, *rewritten(sql_lake, name))
    assert len(staged.claimed) == 1
    published = publish(sql_lake.catalog, [staged])
    table = sql_lake.load(name)
    assert published.snapshots[name] == head_of(table)
    assert sql_lake.rows(name) == [0, 1, 2, 10, 11, 12]
    assert set(table.metadata.refs) == {"main"}
    sealed = last_seal(table)
    assert sealed
    assert (sealed.seal.kind, sealed.seal.statement["position"]) == ("maintenance", "2")


def test_on_a_newer_base_it_is_lost(sql_lake: Lake) -> None:
    """A step that came first is no reason to say that the work was superseded: nobody else has done it."""
    name = filled(sql_lake)
    staged = stage(sql_lake, *rewritten(sql_lake, name))
    append(sql_lake, name, {7: 1})
    with pytest.raises(MainMoved, match="more than append"):
        publish(sql_lake.catalog, [staged])
    assert sql_lake.rows(name) == [0, 1, 2, 7, 10, 11, 12]


def strange(lake: Lake, name: str) -> None:
    """A commit that nobody sealed."""
    lake.load(name).append(lake.load(name).scan("n == 0").to_arrow())


@pytest.mark.parametrize("before", [strange, None])
def test_what_nobody_sealed_is_not_hidden(sql_lake: Lake, before: Callable[[Lake, str], None] | None) -> None:
    name = filled(sql_lake) if before else create(sql_lake)
    strange(sql_lake, name)
    with pytest.raises(ForeignCommit if before else MainMoved):
        stage(sql_lake, *rewritten(sql_lake, name))


def test_only_rewrites_are_claimed(sql_lake: Lake) -> None:
    name = filled(sql_lake)
    base, attempt, proven = rewritten(sql_lake, name)
    stage_files(sql_lake.catalog, base, attempt, [])
    with pytest.raises(MainMoved, match="after it was proven"):
        stage(sql_lake, base, attempt, proven)
    with pytest.raises(ForeignCommit, match="rewrites alone"):
        stage(sql_lake, base, attempt, head_of(sql_lake.load(name), attempt.branch) or 0)


def test_what_has_no_marks_has_to_be_claimed(sql_lake: Lake) -> None:
    name = filled(sql_lake)
    base, attempt, proven = rewritten(sql_lake, name)
    staged = stage(sql_lake, base, attempt, proven)
    with pytest.raises(ForeignCommit, match="is not this attempt's"):
        publish(sql_lake.catalog, [Staged(base, attempt, staged.branch, staged.head, staged.seal)])
    assert publish(sql_lake.catalog, [staged]).rebases == 0


def test_a_seal_that_is_not_there(sql_lake: Lake) -> None:
    name = filled(sql_lake)
    with pytest.raises(ForeignCommit, match="somebody wrote to branch"):
        stage(sql_lake, *rewritten(sql_lake, name), writes=False)


def test_a_branch_that_is_gone(sql_lake: Lake) -> None:
    name = filled(sql_lake)
    base, attempt = sql_lake.bases(name)[name], Attempt(run_id="upkeep", step="maintain:a")
    with pytest.raises(MainMoved, match="removed"):
        stage(sql_lake, base, attempt, base.snapshot_id or 0)
