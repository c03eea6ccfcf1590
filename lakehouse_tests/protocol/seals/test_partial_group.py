"""A table that cannot be loaded is named, and keeps nobody from those beside it."""

from pathlib import Path

import pytest

from lakehouse.protocol.seals.partial_group import absence, absent_together, read_partial_group
from lakehouse_tests.fixtures.lakes import Lake

TABLES = ("a", "b", "c")


@pytest.fixture
def names(lake: Lake) -> list[str]:
    names = [lake.create(name) for name in TABLES]
    lake.write("first", a=[1], b=[1], c=[1])
    return names


def test_all_are_there(lake: Lake, names: list[str]) -> None:
    group = read_partial_group(lake.catalog, names)
    assert (group.whole, list(group.tables), group.unloaded) == (True, names, {})


def test_tables_that_were_dropped(lake: Lake, names: list[str]) -> None:
    for name in names[:2]:
        lake.catalog.drop_table(tuple(name.split(".")))
    group = read_partial_group(lake.catalog, names)
    assert (group.whole, list(group.tables), group.missing) == (False, names[2:], tuple(names[:2]))
    assert group.unloaded == {name: absence(name) for name in names[:2]}


def test_many_that_are_not_there_are_one_sentence() -> None:
    """A lake in which nothing has run yet: twenty times the same remedy hid it."""
    gone = [*(absence(name) for name in ("raw.a", "raw.b", "raw.c")), "raw.d does not exist."]
    together = absent_together(["m was never built.", *gone, "r was never released."])
    assert together == [
        "m was never built.",
        "raw.a, raw.b, raw.c and 1 more do not exist.",
        "r was never released.",
    ]
    assert absent_together(gone[:1]) == gone[:1]


def test_nothing_is_left(lake: Lake, names: list[str]) -> None:
    for name in names:
        lake.catalog.drop_table(tuple(name.split(".")))
    assert read_partial_group(lake.catalog, names).missing == tuple(names)


def test_documents_that_are_gone_or_cut(sql_lake: Lake) -> None:
    names = [sql_lake.create(name) for name in TABLES]
    for name, spoil in ((names[0], Path.unlink), (names[2], lambda path: path.write_bytes(b"{"))):
        spoil(Path(sql_lake.load(name).metadata_location.removeprefix("file://")))
    group = read_partial_group(sql_lake.catalog, names)
    assert list(group.tables) == [names[1]]
    assert {damage.table: damage.kind for damage in group.damages} == {
        names[0]: "missing_file",
        names[2]: "unreadable_file",
    }
