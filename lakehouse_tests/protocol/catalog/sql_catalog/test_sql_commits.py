"""A commit of the embedded catalog that another program overtakes, between the documents and the transaction.

Guarded mechanisms: all rows of a transaction are swapped or none, each compared with what was read.
"""

from typing import Any

import pytest
from pyiceberg.exceptions import CommitFailedException

from lakehouse.protocol.catalog import TableChange, open_catalog, ref_is, set_tag
from lakehouse.protocol.catalog.sql_catalog.sql_commits import SqlCommits
from lakehouse_tests.fixtures.lakes import Lake


def tags(lake: Lake, *names: str) -> list[TableChange]:
    """A change of several tables that others may make at the same time."""
    return [
        TableChange(load.name(), (ref_is("t", None),), (set_tag("t", head(load)),)) for load in map(lake.load, names)
    ]


def head(table: Any) -> int:
    return table.metadata.refs["main"].snapshot_id


def overtaken(lake: Lake, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Another program changes one table after our documents were prepared, and before the rows are swapped."""
    other, swap = open_catalog(lake.settings), SqlCommits._swap
    changes = tags(lake, name)

    def late(commits: SqlCommits, prepared: Any) -> bool:
        monkeypatch.setattr(SqlCommits, "_swap", swap)
        other.commit_tables(changes)
        return swap(commits, prepared)

    monkeypatch.setattr(SqlCommits, "_swap", late)


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
