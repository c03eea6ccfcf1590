"""A result about a reference counts only for what it has judged of both tables."""

from dataclasses import replace

import pytest

from lakehouse.steps.release.gate import Check, Outcome, ReleaseHeld, Result
from lakehouse.steps.release.step import Released
from lakehouse_tests.steps.release.conftest import Group, MakeGroup

pytestmark = pytest.mark.slow


@pytest.fixture
def group(sql_group: MakeGroup) -> Group:
    """`c` is computed from `a`, which has had another row before, and has one more by now."""
    made = sql_group()
    made.write("a", 0)
    made.make()
    return made


def release(group: Group, about: tuple[Result, ...], members: str = "abc") -> Released:
    """Release some members: all is well with each of their snapshots, and a check of `c` has these results."""
    names = tuple(map(group.name, members))
    good = [
        Check(
            group.name(short),
            "good",
            tuple(Result("passed", snapshot.snapshot_id) for snapshot in group.load(short).snapshots()),
        )
        for short in members
    ]
    return group.release(
        "r",
        [*good, Check(group.name("c"), "references", about)],
        declared=replace(group.declared, members=names),
        dated=frozenset(map(group.name, "bc")),
    )


def judged(group: Group, outcome: Outcome = "passed", **elsewhere: int) -> Result:
    """The result of `c` as it is now, and of other tables."""
    snapshots = {group.name(short): snapshot_id for short, snapshot_id in elsewhere.items()}
    return Result(outcome, group.head("c"), elsewhere=snapshots)


def held_message(group: Group, about: Result, members: str = "abc") -> str:
    with pytest.raises(ReleaseHeld) as caught:
        release(group, (about,), members)
    return caught.value.message


def test_of_a_member_it_has_judged_the_very_snapshot_or_one_that_only_grew_into_it(group: Group) -> None:
    before = [snapshot.snapshot_id for snapshot in group.load("a").metadata.snapshots][1]
    read = group.head("a")
    group.write("a", 2)  # it goes on, and is released as `c` has read it
    message = held_message(group, judged(group, a=group.head("a")))
    assert f"{group.name('c')}: check references has judged {group.name('a')} at {group.head('a')}, which is" in message
    assert (
        "not in this release or older than what it was computed from. To repair: judge it: `lakehouse run`" in message
    )
    assert release(group, (judged(group, a=before),)).members[0].snapshot_id == read
    group.write("c", 2, a=read, b=group.head("b"))
    assert release(group, (judged(group, a=read),)).outcome == "released"


def test_what_was_judged_before_rows_were_removed_does_not_count(group: Group) -> None:
    before = group.head("a")
    group.load("a").delete("n = 0")
    group.write("a", 3)
    group.write("c", 3, a=group.head("a"), b=group.head("b"))
    assert f"has judged {group.name('a')} at {before}" in held_message(group, judged(group, a=before))
    assert release(group, (judged(group, a=group.head("a")),)).outcome == "released"


def test_of_a_table_that_is_no_member_it_has_judged_what_was_read_or_newer(group: Group) -> None:
    older = group.head("a")
    group.write("a", 2)
    group.write("c", 2, a=group.head("a"), b=group.head("b"))
    group.write("a", 3)
    assert f"has judged {group.name('a')} at {older}" in held_message(group, judged(group, a=older), "bc")
    assert release(group, (judged(group, a=group.head("a")),), "bc").outcome == "released"


def test_of_a_table_that_nobody_has_read_it_may_have_judged_anything(group: Group) -> None:
    assert release(group, (judged(group, other=17),)).outcome == "released"


def test_a_failure_that_was_judged_elsewhere_holds_nothing_and_an_older_pass_counts(group: Group) -> None:
    read = group.head("a")
    group.write("a", 2)
    results = judged(group, "failed", a=group.head("a")), judged(group, a=read)
    assert release(group, results).outcome == "released"
    group.write("c", 2, a=read, b=group.head("b"))
    assert "check references failed on snapshot" in held_message(group, judged(group, "failed", a=read))
