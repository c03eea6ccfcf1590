"""What a table's properties say of its operations is what those operations say themselves."""

from pathlib import Path

import pytest

from lakehouse.declarations import ORPHANS, Declarations
from lakehouse.iceberg.locations import OBJECT_STORAGE, PATH_PROPERTIES
from lakehouse.protocol.catalog import open_catalog
from lakehouse.steps.maintenance.measure.traits import traits_of
from lakehouse.steps.maintenance.orphans.location import CannotLook, require_own_place
from lakehouse_tests.fixtures.lakes import Lake, sql_settings


@pytest.mark.parametrize("key", [*PATH_PROPERTIES, OBJECT_STORAGE])
def test_orphans_are_not_due_where_nobody_may_look_for_them(tmp_path: Path, key: str) -> None:
    """Else removal is called due, and refused, for ever."""
    settings = sql_settings(tmp_path)
    lake = Lake(settings, open_catalog(settings), "raw", None)
    lake.catalog.create_namespace("raw")
    table = lake.load(lake.create("a", **{key: "true"}))
    with pytest.raises(CannotLook, match=key):
        require_own_place(table, table)
    assert traits_of(table, ORPHANS, Declarations({}, {}, {})).own_location == f"{key} is set"
