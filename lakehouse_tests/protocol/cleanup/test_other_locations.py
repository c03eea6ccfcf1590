"""A file that lies where another table lies is that table's, also below the location of one that names it as well.

Guarded mechanism: places of tables below are known to expiry and to a dropped branch.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from lakehouse.declarations import Declarations, Expire
from lakehouse.iceberg.locations import place_of
from lakehouse.protocol.catalog import Entry, TableChange, set_branch
from lakehouse.protocol.cleanup.housekeeping import abandoned_branches, drop_branch
from lakehouse.protocol.cleanup.other_locations import places_of_others
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.history import head_of
from lakehouse.steps.maintenance.expire.expire import expire
from lakehouse_tests.fixtures.lakes import SCHEMA, Lake

SMALL = Expire(min_snapshots_to_keep=2, max_snapshots=2, at_least=1)


def around_and_below(lake: Lake, folder: str = "below") -> tuple[str, str]:
    """Two tables, the second in a folder of the first; each has rows."""
    around, below = lake.create("around"), f"{lake.namespace}.below"
    lake.catalog.create_table((lake.namespace, "below"), SCHEMA, location=f"{lake.load(around).location()}/{folder}")
    lake.write("below", below=[7, 8])
    lake.write("around", around=[1])
    return around, below


def files_of(lake: Lake, name: str) -> list[str]:
    return [task.file.file_path for task in lake.load(name).scan().plan_files()]


def grow(lake: Lake, table: str) -> None:
    for number in range(3):
        lake.write(f"more{number}", **{table: [number]})


@pytest.mark.parametrize("folder", ["below", "data/below"])
def test_expiry_leaves_a_file_of_a_table_below(lake: Lake, folder: str) -> None:
    around, below = around_and_below(lake, folder)
    lake.load(around).add_files(files_of(lake, below))
    lake.load(around).delete("n >= 7")
    grow(lake, "around")
    done = expire(lake.catalog, Declarations({}, {}, {}), around, SMALL)
    assert lake.rows(below) == [7, 8]
    assert done.elsewhere == 1
    assert done.metadata_files


def test_a_dropped_branch_leaves_a_file_of_a_table_below(lake: Lake) -> None:
    around, below = around_and_below(lake)
    branch, head = Attempt("run", "step").branch, head_of(lake.load(around))
    assert head is not None
    lake.catalog.commit_tables([TableChange(tuple(around.split(".")), (), (set_branch(branch, head),))])
    lake.load(around).add_files(files_of(lake, below), branch=branch)
    (abandoned,) = abandoned_branches(lake.load(around), older_than=timedelta(0))
    assert drop_branch(lake.catalog, abandoned) == 0
    assert lake.rows(below) == [7, 8]


def test_a_table_below_leaves_a_file_among_the_data_of_the_one_around(sql_lake: Lake) -> None:
    """Where a table lies in the folder `data` of another one, both write there."""
    around, below = around_and_below(sql_lake, "data")
    [file] = files_of(sql_lake, around)
    assert file.startswith(sql_lake.load(below).location())
    sql_lake.load(below).add_files([file])
    sql_lake.load(below).delete("n = 1")
    grow(sql_lake, "below")
    assert expire(sql_lake.catalog, Declarations({}, {}, {}), below, SMALL).elsewhere
    assert sql_lake.rows(around) == [1]


def test_a_table_that_has_come_while_snapshots_were_let_go_keeps_its_files(
    sql_lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The catalog's entries are read before the commit, to refuse, and again before files are deleted."""
    around = sql_lake.create("around")
    sql_lake.write("around", around=[1])
    files = files_of(sql_lake, around)
    sql_lake.load(around).delete("n = 1")
    grow(sql_lake, "around")
    commit, below = sql_lake.catalog.commit_tables, (sql_lake.namespace, "below")

    def overtaken(changes: Sequence[TableChange]) -> None:
        commit(changes)
        monkeypatch.undo()
        table = sql_lake.catalog.create_table(below, SCHEMA, location=f"{sql_lake.load(around).location()}/data")
        table.add_files(files)

    monkeypatch.setattr(sql_lake.catalog, "commit_tables", overtaken)
    done = expire(sql_lake.catalog, Declarations({}, {}, {}), around, SMALL)
    assert done.elsewhere
    assert sql_lake.rows(f"{sql_lake.namespace}.below") == [1]


def test_own_files_of_a_table_below_go(sql_lake: Lake) -> None:
    around, below = around_and_below(sql_lake)
    sql_lake.load(below).delete("n >= 7")
    grow(sql_lake, "below")
    done = expire(sql_lake.catalog, Declarations({}, {}, {}), below, SMALL)
    assert (done.files, done.elsewhere) == (1, 0)
    assert sql_lake.rows(around) == [1]


def test_where_others_lie(sql_lake: Lake) -> None:
    table = sql_lake.load(sql_lake.create("a"))
    location = table.location()
    folder = location.rpartition("/")[0]
    elsewhere = Entry(("b", "c"), "file:///elsewhere/metadata/1.json", "other", "file:///elsewhere")
    cases = {
        elsewhere: set[str](),
        replace(elsewhere, location=f"{location}/b"): {f"{location}/b", f"{location}/b/data"},
        replace(elsewhere, folders=(f"{location}/files",)): {f"{location}/files"},
        # It was moved, or cannot be read: its older files lie where its documents do.
        replace(elsewhere, versions=frozenset({f"{location}/b/metadata/0.json"})): {
            f"{location}/b",
            f"{location}/b/data",
        },
        replace(elsewhere, location="", metadata_location=f"{location}/b/metadata/1.json", unreadable="OSError"): {
            f"{location}/b",
            f"{location}/b/data",
        },
        replace(elsewhere, location="", metadata_location="", unreadable="403"): set[str](),
        # A common root of many tables is nobody's place; a folder that a partition of another table has is.
        replace(elsewhere, folders=(folder,)): set[str](),
        replace(elsewhere, location=folder): set[str](),
        replace(elsewhere, folders=(location,)): {location},
        replace(elsewhere, identifier=table.name(), location=f"{location}/b"): set[str](),
    }
    for entry, places in cases.items():
        assert places_of_others([entry], table) == set(map(place_of, places))
    sql_lake.catalog.create_table((sql_lake.namespace, "p"), SCHEMA, location=f"{location}/day=1")
    below = sql_lake.load(f"{sql_lake.namespace}.p")
    assert places_of_others([replace(elsewhere, location=location)], below) == {place_of(location)}
