"""Rollback moves the pointer and nothing else, says who and why, and what was taken back is not released again."""

import pytest

from lakehouse.protocol.catalog import remove_ref
from lakehouse.protocol.errors import Superseded
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.release.errors import NothingReleased, ReleaseGone, ReleaseUnknown, TagMoved
from lakehouse.steps.release.names import tag_of
from lakehouse.steps.release.pointer import moves
from lakehouse.steps.release.rollback import NothingToMove, rollback
from lakehouse.steps.release.step import release
from lakehouse_tests.steps.release.conftest import Group, MakeGroup

pytestmark = pytest.mark.slow


def back(group: Group, release_id: str) -> None:
    attempt = Attempt("cli-1", f"release:{group.declared.name}")
    rollback(group.catalog, group.declared.name, release_id, attempt, by="ann", why="wrong delays")


def released(group: Group, number: int) -> list[str]:
    ids: list[str] = []
    for _ in range(number):
        group.make()
        ids.append(group.release().id)
    return ids


def test_readers_get_the_older_release_and_the_record_says_why(group: Group) -> None:
    first, second = released(group, 2)
    heads = {short: group.head(short) for short in "abc"}
    back(group, first)
    assert (group.open().id, group.vintages()) == (first, [1, 1, 1])
    assert {short: group.head(short) for short in "abc"} == heads
    newest, *older = moves(group.catalog.load_table(group.declared.table.identifier))
    assert (newest.id, newest.kind, newest.moved_by, newest.why) == (first, "rollback", "ann", "wrong delays")
    assert newest.parameters == older[0].parameters
    assert [move.id for move in older] == [second, first]
    back(group, second)
    assert group.vintages() == [2, 2, 2]


def test_what_was_taken_back_is_not_released_again_before_a_member_is_new(sql_group: MakeGroup) -> None:
    group = sql_group()
    first, second = released(group, 2)
    back(group, first)
    again = group.release("tick")
    assert (again.outcome, again.id) == ("unchanged", first)
    assert f"No member has changed since release {second}. It was taken back, and {first} is current" in again.note
    group.make()
    done = group.release("repaired")
    assert (done.outcome, done.previous) == ("released", first)
    assert done.id > second
    assert group.vintages() == [3, 3, 3]


def test_the_current_release_is_kept_while_it_is_current(sql_group: MakeGroup) -> None:
    group = sql_group(keep=2)
    first, second = released(group, 2)
    back(group, first)
    group.release("tick")
    assert group.tags() == [tag_of(first), tag_of(second)]
    assert group.vintages() == [1, 1, 1]
    group.make()
    third = group.release("next").id
    assert group.tags() == [tag_of(first), tag_of(third)], "what readers had until now, and not what was taken back"


def test_what_cannot_be_read_cannot_be_current(sql_group: MakeGroup) -> None:
    group = sql_group(keep=2)
    with pytest.raises(NothingReleased):
        back(group, "x")
    first, second, third = released(group, 3)
    with pytest.raises(NothingToMove, match=f"{third} is the current release"):
        back(group, third)
    with pytest.raises(ReleaseGone, match=f"{first} is older than the 2"):
        back(group, first)
    with pytest.raises(ReleaseUnknown, match="has no release x"):
        back(group, "x")
    group.change("b", remove_ref(tag_of(second)))
    with pytest.raises(TagMoved, match="was removed, though the release is kept"):
        back(group, second)
    assert group.open().id == third


def test_a_release_that_was_begun_before_a_rollback_does_not_undo_it(sql_group: MakeGroup) -> None:
    group = sql_group()
    first, _ = released(group, 2)
    group.make()
    step = group.step("slow", inform=lambda message: back(group, first) if "tagging" in message else None)
    with pytest.raises(Superseded):
        release(step)
    assert group.open().id == first
    # Its retry does not go on where it was either: the pointer was moved since.
    assert group.release("retry", root_run_id="slow").outcome == "released"
