"""One release, from its gate to its reader, and what somebody does to it: a case each, on the embedded catalog.

Guarded mechanisms: results count for the snapshot that they name; members agree in date and parameters; tags are set
before the pointer moves, never moved, and believed only where they name what was recorded; a pointer moves from where
it was read. Every case is in `test_gate`, `test_step` and `test_reading`.
"""

from typing import Any

import pytest
from pyiceberg.table.update import SetSnapshotRefUpdate

from lakehouse.protocol.errors import Superseded
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.release import step
from lakehouse.steps.release.errors import TagMoved
from lakehouse.steps.release.gate.results import Check, ReleaseHeld, Result
from lakehouse.steps.release.names import tag_of
from lakehouse.steps.release.pointer import load_pointer, move_pointer, recorded
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.release.conftest import NAMES, Group, make_group

OTHER_DATE = "2013-05-15"


@pytest.fixture
def group(sql_lake: Lake) -> Group:
    made = make_group(sql_lake)
    made.make()
    return made


def tag(group: Group, name: str, snapshot_id: int) -> None:
    group.change("a", SetSnapshotRefUpdate(ref_name=name, type="tag", snapshot_id=snapshot_id))


def test_a_result_about_another_snapshot_does_not_count(group: Group) -> None:
    results = [Check(group.name("a"), "good", (Result("passed", 4711),)), *group.checks("b", "c")]
    with pytest.raises(ReleaseHeld, match="judged snapshot 4711"):
        group.release("held", results)


def test_members_of_two_dates(group: Group) -> None:
    group.write("c", 2, date=OTHER_DATE, a=group.head("a"), b=group.head("b"))
    with pytest.raises(ReleaseHeld, match=r"for 1 reason;[^-]*- .*the runtime dates of the members differ"):
        group.release("held")


def test_every_member_is_tagged_before_the_pointer_names_the_release(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    tagged: list[int] = []

    def move(*arguments: Any) -> Any:
        tagged.extend(len(group.tags(name)) for name in NAMES)
        return move_pointer(*arguments)

    monkeypatch.setattr(step, "move_pointer", move)
    group.release()
    assert tagged == [1, 1, 1]


def test_a_tag_that_somebody_has_moved_is_not_believed(group: Group) -> None:
    done = group.release()
    group.write("a", 2)
    tag(group, tag_of(done.id), group.head("a"))
    with pytest.raises(TagMoved, match="somebody moved it"):
        group.vintages()


def test_of_two_moves_from_one_place_the_second_is_superseded(group: Group) -> None:
    group.release()
    pointer = load_pointer(group.catalog, group.declared.name)
    row = recorded(pointer.base.table, pointer.current.current)
    assert row
    move_pointer(group.catalog, pointer, Attempt("first", "release"), pointer.current, row)
    with pytest.raises(Superseded):
        move_pointer(group.catalog, pointer, Attempt("second", "release"), pointer.current, row)
