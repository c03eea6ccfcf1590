"""What expiry and orphan removal leave alone, a case each. Every case is in `test_cut`, `test_expire`, `test_orphans`.

Guarded mechanisms: the newest seal and what a reference names stay; a file goes in a second look, is old, and is known
to nobody; no other table lies there; nothing is deleted that nobody has allowed.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

import pytest

from lakehouse.declarations import ORPHANS, Declarations, Expire, Maintenance, Orphans
from lakehouse.steps.maintenance.expire.expire import run
from lakehouse.steps.maintenance.expire.snapshot_selection import select_snapshots
from lakehouse.steps.maintenance.model.action import Action, Operation
from lakehouse.steps.maintenance.model.state import RefState
from lakehouse.steps.maintenance.orphans.listing import ListedFile, Listing
from lakehouse.steps.maintenance.orphans.location import CannotLook, neighbours_below
from lakehouse.steps.maintenance.orphans.orphan_log import Noted, OrphanHistory
from lakehouse.steps.maintenance.orphans.orphans import Look, look
from lakehouse.steps.maintenance.orphans.reachable import Known
from lakehouse_tests.fixtures.lakes import SCHEMA, Lake
from lakehouse_tests.steps.maintenance.house import work_on
from lakehouse_tests.steps.maintenance.states import DAY, NOW, line, state

SMALL = Expire(min_snapshots_to_keep=2, max_snapshots=2, at_least=1)
FILE = "/t/data/stray.parquet"
POLICY = Orphans(older_than=2 * DAY)


def test_the_newest_seal_stays_however_old_it_is() -> None:
    first, *others = line(5)
    unsealed = [replace(other, kind="", attempt="") for other in others]
    assert select_snapshots(state(history=(first, *unsealed)), SMALL).expired == ()


def test_what_a_tag_names_stays() -> None:
    tag = RefState(name="kept", kind="tag", snapshot_id=1)
    assert 1 in select_snapshots(state(history=line(5)), SMALL).expired
    assert 1 not in select_snapshots(state(history=line(5), refs=(tag,)), SMALL).expired


def looked(*, age: timedelta = 5 * DAY, first: datetime | None = None, known: str = "") -> Look:
    """A look at a file of an age, which another look may have found before."""
    file = ListedFile(FILE, 4, NOW - age)
    memory = OrphanHistory({f"file://{FILE}": Noted(first, 4, NOW - age)} if first else {})
    listing = Listing((file,), cast("Any", None), "file")
    return look(listing, Known(frozenset({known}), 1), memory, POLICY, now=NOW, longest=timedelta(0))


def test_a_stray_file_goes_in_a_second_look_that_is_late_enough() -> None:
    assert (len(looked().candidates), looked().doomed) == (1, ())
    assert looked(first=NOW - DAY).doomed == ()
    assert len(looked(first=NOW - 3 * DAY).doomed) == 1


def test_a_young_file_is_no_orphan() -> None:
    assert looked(age=DAY).candidates == ()


def test_a_file_that_any_metadata_names_is_no_orphan() -> None:
    assert looked(known="stray.parquet", first=NOW - 3 * DAY).doomed == ()


def test_a_location_that_two_tables_share_is_not_cleaned(sql_lake: Lake) -> None:
    table = sql_lake.load(sql_lake.create("a"))
    sql_lake.catalog.create_table((sql_lake.namespace, "b"), SCHEMA, location=table.location())
    with pytest.raises(CannotLook, match="have one location"):
        neighbours_below(sql_lake.catalog, table)


def test_nothing_is_deleted_that_nobody_has_allowed(sql_lake: Lake) -> None:
    name = sql_lake.create("a")
    for number in range(3):
        sql_lake.write(f"s{number}", a=[number])
    before = len(sql_lake.load(name).metadata.snapshots)
    declared = Declarations({name: ORPHANS}, {}, {})
    work = work_on(sql_lake.catalog, declared, name, Maintenance(expire=SMALL), allow=False)
    assert run(work, Action(operation=Operation.EXPIRE)).result == "dry_run"
    assert len(sql_lake.load(name).metadata.snapshots) == before
