"""How much may be read beside a range decides how its plan is run; what is read is in the tests of its parts."""

from types import SimpleNamespace
from typing import Any

import pytest
from pyiceberg.table.snapshots import Operation, Snapshot, Summary

from lakehouse.steps.cdc.range_context import looks_far

KNOWN, FIRST = object(), None


def answer(
    continued: object = KNOWN,
    initial: str | None = None,
    *,
    reprocessed: bool = False,
    tombstones: bool = False,
    moving: bool = False,
    total: int | None = 1000,
) -> bool:
    """Whether more than 1,000 rows may be read, of a changelog with so many; None: its snapshot is gone."""
    end = None
    if total is not None:
        summary = Summary(Operation.APPEND, **{"total-records": str(total)})
        end = Snapshot(snapshot_id=7, timestamp_ms=0, manifest_list="x", summary=summary)
    work: Any = SimpleNamespace(continued=continued, tables=SimpleNamespace(mirror=SimpleNamespace(initial=initial)))
    table = SimpleNamespace(metadata=SimpleNamespace(snapshot_by_id={7: end}.get))
    change_range: Any = SimpleNamespace(table=table, end=7, reprocessed=reprocessed)
    scope: Any = SimpleNamespace(lone_tombstones=tombstones, moving=moving)
    return looks_far(work, change_range, scope, rows=1000)


def test_a_range_that_is_complete_by_itself_reads_nothing_else() -> None:
    assert not answer(total=10**9)
    assert not answer(FIRST, total=10**9)
    assert not answer(FIRST, tombstones=True, total=10**9), "all changes before are in the range"


def test_an_initial_copy_may_have_any_number_of_rows() -> None:
    assert answer(FIRST, "raw.things", total=0)
    assert not answer(KNOWN, "raw.things", total=10**9), "it was read by the first run"


@pytest.mark.parametrize("given", [{"reprocessed": True}, {"tombstones": True}, {"moving": True}], ids=str)
def test_what_a_range_refers_to_may_be_anywhere_in_the_changelog(given: dict[str, bool]) -> None:
    assert not answer(**given, total=1000)
    assert answer(**given, total=1001)
    assert answer(**given, total=None), "how many they are is not known"
