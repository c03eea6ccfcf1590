"""What a mirror began with stays, however often its table is published to.

Guarded mechanism: the tag on that snapshot, which trimming in a publish and expiry know.
"""

from pathlib import Path

from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.commit.trim import KEEP_PROPERTY
from lakehouse.steps.cdc.plan.initial_tag import hold_initial, initial_tag
from lakehouse_tests.fixtures.lakes import Lake, sql_settings


def test_a_publish_does_not_trim_what_a_mirror_began_with(tmp_path: Path) -> None:
    settings = sql_settings(tmp_path)
    lake = Lake(settings, open_catalog(settings), "raw", None)
    lake.catalog.create_namespace("raw")
    name = lake.create("old", **{KEEP_PROPERTY: "2"})
    lake.write("first", old=[1])
    first = lake.load(name).metadata.current_snapshot_id
    assert first is not None
    hold_initial(lake.catalog, "mirror.birds", f"{name}@{first}")
    for number in range(4):
        lake.write(f"later-{number}", old=[number])
    table = lake.load(name)
    assert table.metadata.snapshot_by_id(first) is not None
    assert table.metadata.refs[initial_tag("mirror.birds")].snapshot_id == first


def test_the_tag_moves_with_a_rebuild_and_what_is_gone_has_none(tmp_path: Path) -> None:
    settings = sql_settings(tmp_path)
    lake = Lake(settings, open_catalog(settings), "raw", None)
    lake.catalog.create_namespace("raw")
    name = lake.create("old")
    for number in range(2):
        lake.write(f"run-{number}", old=[number])
        hold_initial(lake.catalog, "mirror.birds", f"{name}@{lake.load(name).metadata.current_snapshot_id}")
    hold_initial(lake.catalog, "mirror.birds", "")
    hold_initial(lake.catalog, "mirror.bees", f"{name}@1")
    hold_initial(lake.catalog, "mirror.bees", "raw.gone@1")
    table = lake.load(name)
    tags = {ref: named.snapshot_id for ref, named in table.metadata.refs.items() if ref != "main"}
    assert tags == {initial_tag("mirror.birds"): table.metadata.current_snapshot_id}
