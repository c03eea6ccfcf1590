"""The fence: between a publish's look at its tables and its transaction something else is quicker.

Guarded mechanisms: `main` and the branch are required to be where they were seen; all rows of a transaction are swapped
or none, each compared with what was read; a group is read between two steps. The whole matrix is in `test_last_moment`.
"""

from collections.abc import Callable
from typing import Any

import pytest
from pyiceberg.exceptions import CommitFailedException

from lakehouse.protocol.catalog import TableChange, open_catalog, ref_is, set_tag
from lakehouse.protocol.catalog.sql import SqlLakeCatalog
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


def tags(lake: Lake, *names: str) -> list[TableChange]:
    """A change of several tables that others may make at the same time."""
    return [
        TableChange(load.name(), (ref_is("t", None),), (set_tag("t", head(load)),)) for load in map(lake.load, names)
    ]


def head(table: Any) -> int:
    return table.metadata.refs["main"].snapshot_id


def overtaken(lake: Lake, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Another program changes one table after our documents were prepared, and before the rows are swapped."""
    assert isinstance(lake.catalog, SqlLakeCatalog)
    other, swap = open_catalog(lake.settings), SqlLakeCatalog._swap
    changes = tags(lake, name)

    def late(catalog: SqlLakeCatalog, prepared: Any) -> bool:
        monkeypatch.setattr(SqlLakeCatalog, "_swap", swap)
        other.commit_tables(changes)
        return swap(catalog, prepared)

    monkeypatch.setattr(SqlLakeCatalog, "_swap", late)


def test_of_two_tables_both_rows_are_swapped_or_none(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [sql_lake.create("a"), sql_lake.create("b")]
    sql_lake.write("first", a=[1], b=[1])
    changes = tags(sql_lake, *names)
    overtaken(sql_lake, monkeypatch, names[1])
    with pytest.raises(CommitFailedException, match="t is at"):
        sql_lake.catalog.commit_tables(changes)
    assert "t" not in sql_lake.load(names[0]).metadata.refs


def test_a_document_that_another_program_has_written_meanwhile_is_not_lost(
    sql_lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = sql_lake.create("a")
    sql_lake.write("first", a=[1])
    change = TableChange(sql_lake.load(name).name(), (), (set_tag("ours", head(sql_lake.load(name))),))
    overtaken(sql_lake, monkeypatch, name)
    sql_lake.catalog.commit_tables([change])
    assert set(sql_lake.load(name).metadata.refs) == {"main", "t", "ours"}


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
