"""A name that has meant two fields is known as such; a column that came later is no such name."""

from pathlib import Path

import pytest
from pyiceberg.types import LongType

from lakehouse.protocol.seals.history import head_of
from lakehouse.protocol.seals.written_fields import ambiguous_fields, written_fields
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.protocol.seals.foreign import publish_on, short_lived, swapped_names


@pytest.fixture
def name(sql_lake: Lake) -> str:
    return short_lived(sql_lake)


def test_names_that_were_swapped(sql_lake: Lake, name: str, tmp_path: Path) -> None:
    table = sql_lake.load(name)
    assert (written_fields(table, head_of(table)), ambiguous_fields(table, head_of(table))) == (
        {"n": {1}, "s": {2}},
        {},
    )
    swapped_names(sql_lake, name, tmp_path)
    for times in (0, 1, 5):
        publish_on(sql_lake, name, times)
        table = sql_lake.load(name)
        assert ambiguous_fields(table, head_of(table)) == {"n": [1, 2], "s": [1, 2]}


def test_a_column_that_was_added(sql_lake: Lake, name: str) -> None:
    with sql_lake.load(name).update_schema() as update:
        update.add_column("new", LongType())
    publish_on(sql_lake, name, 1)
    table = sql_lake.load(name)
    assert ambiguous_fields(table, head_of(table)) == {}
    assert written_fields(table, head_of(table)) == {"n": {1}, "s": {2}, "new": {3}}
