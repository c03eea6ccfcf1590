"""The fence: between a publish's look at its tables and its transaction something else is quicker.

Guarded mechanisms: `main` and the branch are required to be where they were seen; a group is read between two steps.
The whole matrix is in `test_last_moment`, the transaction of the embedded catalog in `catalog/test_sql_commits`.
"""

from collections.abc import Callable
from typing import Any

import pytest

from lakehouse.protocol.commit import publish
from lakehouse.protocol.errors import ForeignCommit, Superseded
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.read_group import read_group
from lakehouse_tests.fixtures.lakes import Lake


def quicker(lake: Lake, monkeypatch: pytest.MonkeyPatch, event: Callable[[], object]) -> None:
    """Let something happen just before the next transaction."""
    send, events = lake.catalog.commit_tables, iter([event])

    def late(changes: Any) -> None:
        if (happens := next(events, None)) is not None:
            happens()
        send(changes)

    monkeypatch.setattr(lake.catalog, "commit_tables", late)


def test_rows_of_a_twin_that_was_quicker_stay(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    name = sql_lake.create("a")
    staged = sql_lake.stage(sql_lake.bases(name)[name], Attempt("run", "step"), [1])
    quicker(sql_lake, monkeypatch, lambda: sql_lake.write("twin", a=[2]))
    with pytest.raises(Superseded):
        publish(sql_lake.catalog, [staged])
    assert sql_lake.rows(name) == [2]


def test_what_was_put_on_the_branch_last_is_not_published(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    name = sql_lake.create("a")
    staged = sql_lake.stage(sql_lake.bases(name)[name], Attempt("run", "step"), [1])
    rows = sql_lake.load(name).scan(snapshot_id=staged.head).to_arrow()
    quicker(sql_lake, monkeypatch, lambda: sql_lake.load(name).append(rows, branch=staged.branch))
    with pytest.raises(ForeignCommit):
        publish(sql_lake.catalog, [staged])
    assert sql_lake.rows(name) == []


def test_half_a_step_is_read_again(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a catalog may show it that applies a transaction table by table."""
    names = [sql_lake.create("a"), sql_lake.create("b")]
    sql_lake.write("pair", a=[1], b=[1])
    before = sql_lake.load(names[0])
    sql_lake.write("pair", a=[2], b=[2])
    after = sql_lake.load(names[1])
    half, load = iter([{before.name(): before, after.name(): after}]), sql_lake.catalog.load_tables
    monkeypatch.setattr(type(sql_lake.catalog), "reads_whole_commits", False)
    monkeypatch.setattr(sql_lake.catalog, "load_tables", lambda asked: next(half, None) or load(asked))
    group = read_group(sql_lake.catalog, names)
    assert [sorted(pinned.scan("n").to_arrow()["n"].to_pylist()) for pinned in group.values()] == [[1, 2], [1, 2]]
