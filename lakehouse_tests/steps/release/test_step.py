"""A release from begin to end: what is tagged, what the pointer says, what is kept, and when nothing is done."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from lakehouse.declarations import apply, plan
from lakehouse.protocol.catalog import LakeCatalog, TableChange
from lakehouse.protocol.errors import Superseded
from lakehouse.steps.release.errors import TagRefused
from lakehouse.steps.release.gate import ReleaseHeld
from lakehouse.steps.release.names import id_of, moment_of, tag_of
from lakehouse.steps.release.pointer import moves, read_pointer
from lakehouse.steps.release.step import release
from lakehouse_tests.steps.release.conftest import DATE, Group, MakeGroup

pytestmark = pytest.mark.slow


def test_a_release_tags_every_member_and_then_moves_the_pointer(group: Group) -> None:
    group.make()
    made = group.release("run-one")
    assert (made.outcome, made.previous) == ("released", None)
    opened = group.open()
    assert opened.id == made.id
    assert [(m.table, m.snapshot_id, m.runtime_date, m.rows, m.run_id) for m in opened.members] == [
        (group.name(short), group.head(short), DATE, 1, "run-1") for short in "abc"
    ]
    for short in "abc":
        ref = group.load(short).metadata.refs[tag_of(made.id)]
        assert (ref.snapshot_id, ref.max_ref_age_ms) == (group.head(short), 2**63 - 1)
    pointer = group.catalog.load_table(group.declared.table.identifier)
    (row,) = moves(pointer)
    assert (row.id, row.kind, row.run_id, row.code_version) == (made.id, "release", "run-one", "v1")
    assert (row.runtime_date, row.parameters_digest, row.parameters) == (DATE, "p", '{"p":"p"}')
    assert row.members == opened.members
    assert row.moved_by == "run run-one"
    assert read_pointer(pointer).base.sealed.seal.inputs == {m.table: m.snapshot_id for m in opened.members}


def test_nothing_is_released_twice(group: Group) -> None:
    group.make()
    first = group.release()
    again = group.release("another")
    assert (again.outcome, again.id) == ("unchanged", first.id)
    assert "No member has changed" in again.note
    assert group.tags() == [tag_of(first.id)]
    retried = group.release("retry", root_run_id="release-1")
    assert (retried.outcome, retried.id, retried.members) == ("already", first.id, first.members)


def test_what_changed_is_told(sql_group: MakeGroup) -> None:
    group = sql_group()
    group.make()
    group.release()
    was = group.head("c")
    group.write("c", 7, a=group.head("a"), b=group.head("b"))
    made = group.release("next")
    assert made.changed == {group.name("c"): f"new content, {was} before"}
    assert made.previous == group.open(made.previous).id


def test_ids_sort_by_time_and_name_their_group(sql_group: MakeGroup) -> None:
    group = sql_group()
    ids: list[str] = []
    for _ in range(3):
        group.make()
        ids.append(group.release().id)
    assert ids == sorted(ids)
    assert len({moment_of(release_id) for release_id in ids}) == 3
    assert id_of(tag_of(ids[0]), group.declared.name) == ids[0]
    assert id_of(tag_of(ids[0]), "g") is None


def test_only_as_many_as_declared_stay_readable(sql_group: MakeGroup) -> None:
    group = sql_group(keep=2)
    ids: list[str] = []
    for _ in range(4):
        group.make()
        ids.append(group.release().id)
    for short in "abc":
        assert group.tags(short) == [tag_of(release_id) for release_id in ids[-2:]]
    assert group.vintages(group.open(ids[2])) == [3, 3, 3]


def test_two_at_once_one_moves_the_pointer(group: Group) -> None:
    group.make()
    # The other one comes between what this one has read and its publish.
    mine = group.step("mine", inform=lambda message: group.release("other") if "tagging" in message else None)
    with pytest.raises(Superseded):
        release(mine)
    opened = group.open()
    assert opened.id == group.open(opened.id).id
    assert group.vintages() == [1, 1, 1]
    group.make()
    after = group.release("after")
    # What the loser had tagged is gone by the next release.
    assert group.tags() == sorted(tag_of(release_id) for release_id in (opened.id, after.id))


class Meanwhile:
    """A catalog on which something happens between what a release has seen and its first commit."""

    def __init__(self, catalog: LakeCatalog, happens: Callable[[Sequence[TableChange]], None]) -> None:
        self._catalog = catalog
        self._happens = [happens]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._catalog, name)

    def commit_tables(self, changes: Sequence[TableChange]) -> None:
        while self._happens:
            self._happens.pop()(changes)
        self._catalog.commit_tables(changes)


def test_all_members_are_tagged_or_none(group: Group) -> None:
    def recreate(_: Sequence[TableChange]) -> None:
        group.catalog.drop_table((group.lake.namespace, "c"))
        group.lake.create("c")

    group.make()
    with pytest.raises(TagRefused, match="created anew while it was being released"):
        group.release(catalog=Meanwhile(group.catalog, recreate))
    assert group.tags("a") == group.tags("b") == []


def test_a_tag_is_never_moved(group: Group) -> None:
    group.make()
    first = group.head("a")
    group.make()

    def take(changes: Sequence[TableChange]) -> None:
        (wanted,) = changes[0].updates
        group.change("a", wanted.model_copy(update={"snapshot_id": first}))

    with pytest.raises(TagRefused, match=f"names snapshot {first} already"):
        group.release(catalog=Meanwhile(group.catalog, take))
    (tag,) = group.tags("a")
    assert group.load("a").metadata.refs[tag].snapshot_id == first
    assert group.tags("b") == []


def test_members_that_leave_the_group_lose_their_tags_when_no_kept_release_has_them(sql_group: MakeGroup) -> None:
    group = sql_group(keep=2)
    group.make()
    first = group.release()
    fewer = replace(group.declared, members=group.members[:2])
    for _ in range(2):
        group.make()
        made = group.release(declared=fewer)
    assert made.dropped == (first.id,)
    assert group.tags("c") == []
    assert group.open().tables == group.members[:2]


def test_other_groups_look_after_their_own_tags(sql_group: MakeGroup) -> None:
    group = sql_group(keep=1)
    other = replace(group.declared, name=f"{group.declared.name}_too", keep=3)
    apply(plan(other.table, group.catalog), group.catalog)
    kept: list[str] = []
    for _ in range(3):
        group.make()
        kept.append(group.release(declared=other).id)
        group.release()
    assert [tag for tag in group.tags() if id_of(tag, other.name)] == [tag_of(release_id) for release_id in kept]


def test_a_member_that_does_not_exist_holds_the_release(sql_group: MakeGroup) -> None:
    group = sql_group()
    group.make()
    checks = group.checks()
    group.catalog.drop_table((group.lake.namespace, "b"))
    with pytest.raises(ReleaseHeld, match=r"b: it does not exist. To repair: materialize it: `lakehouse run`"):
        group.release(checks=checks)
