"""Pins: one moment for a whole run, whatever happens to the tables meanwhile.

Guarded mechanism: the tag of a run, set in one commit on tables that do not carry it yet.
"""

from collections.abc import Callable
from typing import Any

import pytest

from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.seals.history import head_of
from lakehouse.steps.derived.inputs.pins import KEPT, PIN_PREFIX, Pin, pin_inputs
from lakehouse_tests.fixtures.lakes import Lake

RUN = Pin("0b7e-run", 1_700_000_000_000)
WEEK_MS = int(KEPT.total_seconds() * 1000)


@pytest.fixture
def names(lake: Lake) -> list[str]:
    """Two tables with a row each."""
    created = [lake.create("a"), lake.create("b")]
    lake.write("first", a=[1], b=[1])
    return created


def pinned(lake: Lake, names: list[str], pin: Pin = RUN) -> dict[str, int | None]:
    return {name: entry.snapshot_id for name, entry in pin_inputs(lake.catalog, names, pin).items()}


def pins_of(lake: Lake, name: str) -> list[str]:
    return sorted(ref for ref in lake.load(name).metadata.refs if ref.startswith(PIN_PREFIX))


def test_every_step_of_a_run_finds_what_the_first_has_pinned(lake: Lake, names: list[str]) -> None:
    first = pinned(lake, names)
    lake.write("meanwhile", a=[2])
    assert pinned(lake, names[:1]) == {names[0]: first[names[0]]}
    assert pinned(lake, names) == first
    assert pinned(lake, names, Pin("another-run", RUN.begun_ms)) != first


def test_a_pinned_snapshot_outlives_trimming(lake: Lake) -> None:
    name = lake.create("kept", **{"lakehouse.publish.keep-snapshots": "2"})
    lake.write("first", kept=[1])
    snapshot_id = pinned(lake, [name])[name]
    for number in range(2, 8):
        lake.write(f"step-{number}", kept=[number])
    table = lake.load(name)
    assert len(table.metadata.snapshots) < 8, "trimming is at work"
    assert table.scan(snapshot_id=snapshot_id).to_arrow()["n"].to_pylist() == [1]
    assert pinned(lake, [name]) == {name: snapshot_id}


class Overtaken:
    """A catalog in which something else happens just before the first commit of several tables."""

    def __init__(self, catalog: LakeCatalog, meanwhile: Callable[[], None]) -> None:
        self._catalog, self._meanwhile = catalog, [meanwhile]

    def commit_tables(self, changes: Any) -> None:
        if self._meanwhile:
            self._meanwhile.pop()()
        self._catalog.commit_tables(changes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._catalog, name)


def test_of_two_steps_that_pin_at_once_both_read_what_one_has_pinned(lake: Lake, names: list[str]) -> None:
    others: dict[str, int | None] = {}

    def another_step() -> None:
        lake.write("meanwhile", a=[2], b=[2])
        others.update(pinned(lake, names))

    overtaken: Any = Overtaken(lake.catalog, another_step)
    snapshots = {name: entry.snapshot_id for name, entry in pin_inputs(overtaken, names, RUN).items()}
    assert snapshots == others == {name: head_of(lake.load(name)) for name in names}
    assert [pins_of(lake, name) for name in names] == [[RUN.tag]] * 2


def test_what_is_not_there_yet_is_pinned_when_it_is(lake: Lake, names: list[str]) -> None:
    empty, missing = lake.create("empty"), f"{lake.namespace}.missing"
    assert set(pinned(lake, [*names, empty, missing])) == set(names)
    lake.write("later", empty=[5], a=[2])
    later = pinned(lake, [*names, empty, missing])
    assert set(later) == {*names, empty}
    assert later[names[0]] != head_of(lake.load(names[0])), "and the others stay where they were"


def test_pins_of_a_week_go_with_a_later_pin(lake: Lake, names: list[str]) -> None:
    old, recent = Pin("old", RUN.begun_ms - WEEK_MS), Pin("recent", RUN.begun_ms - WEEK_MS + 1)
    for pin in (old, recent, RUN):
        pinned(lake, names, pin)
    for name in names:
        assert pins_of(lake, name) == sorted([recent.tag, RUN.tag])


def test_the_tag_tells_the_age_and_is_a_name_that_needs_no_quotes() -> None:
    tag = Pin("a-b/c'd", 1).tag
    assert tag == "lakehouse_pin_00000000001_a_b_c_d"
