"""Inputs of other catalogs: one snapshot for a whole run by the moment it began, and no word where that has gone."""

from pathlib import Path

import pytest

from lakehouse.protocol.catalog import LakeCatalog, open_catalog, remove_snapshots
from lakehouse.protocol.catalog.change import TableChange
from lakehouse.protocol.seals.history import head_of
from lakehouse.steps.derived.inputs.elsewhere import read_as_of
from lakehouse.steps.derived.inputs.pins import Pin, pin_inputs
from lakehouse.steps.derived.refusals import InputGone
from lakehouse_tests.fixtures.lakes import Lake, sql_settings

NAME = "azure:{}.sales"


@pytest.fixture
def own(sql_lake: Lake, tmp_path: Path) -> LakeCatalog:
    """A catalog beside the one of `sql_lake`, which it calls azure."""
    (tmp_path / "own").mkdir()
    return open_catalog(sql_settings(tmp_path / "own"), {"azure": sql_lake.settings})


def written(lake: Lake) -> list[tuple[int, int]]:
    """Moments and snapshots of `main`, of a table that is written twice."""
    lake.create("sales")
    lake.write("first", sales=[1])
    lake.write("second", sales=[2])
    return [
        (entry.timestamp_ms, entry.snapshot_id) for entry in lake.load(f"{lake.namespace}.sales").metadata.snapshot_log
    ]


def test_a_table_is_read_as_it_was_when_the_run_began_and_nothing_is_written_there(
    own: LakeCatalog, sql_lake: Lake
) -> None:
    name = NAME.format(sql_lake.namespace)
    (first, at_first), (second, at_second) = written(sql_lake)
    before = sql_lake.load(f"{sql_lake.namespace}.sales").metadata_location
    moments = {first: at_first, second - 1: at_first, second: at_second, second + 9: at_second}
    for moment, snapshot_id in moments.items():
        assert read_as_of(own, [name], moment)[name].snapshot_id == snapshot_id
        assert pin_inputs(own, [name], Pin("run", moment))[name].snapshot_id == snapshot_id
    assert sql_lake.load(f"{sql_lake.namespace}.sales").metadata_location == before


def test_what_has_expired_or_came_later_is_refused_with_what_to_do(own: LakeCatalog, sql_lake: Lake) -> None:
    name = NAME.format(sql_lake.namespace)
    (first, at_first), (second, _) = written(sql_lake)
    with pytest.raises(InputGone, match=f"{name} has no snapshot of .* when this run began"):
        read_as_of(own, [name], first - 1)
    identifier = (sql_lake.namespace, "sales")
    sql_lake.catalog.commit_tables([TableChange(identifier, (), (remove_snapshots([at_first]),))])
    with pytest.raises(InputGone, match=r"start a new run.*max-snapshot-age-ms"):
        read_as_of(own, [name], second - 1)
    assert read_as_of(own, [name], second)[name].snapshot_id == head_of(sql_lake.load(f"{sql_lake.namespace}.sales"))


def test_a_table_that_does_not_exist_or_holds_nothing_is_left_out(own: LakeCatalog, sql_lake: Lake) -> None:
    sql_lake.create("empty")
    names = [f"azure:{sql_lake.namespace}.{table}" for table in ("empty", "none")]
    assert read_as_of(own, names, 1) == {}
