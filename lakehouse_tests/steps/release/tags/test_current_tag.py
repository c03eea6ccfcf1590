"""The tag that names what is current: it follows the pointer, forward and back, and audits see where it does not."""

from dataclasses import replace

import pytest

from lakehouse.declarations import Declarations
from lakehouse.protocol.catalog import remove_ref, set_tag
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.history import head_of
from lakehouse.steps.maintenance.expire.orphaned_tags import orphaned_tags
from lakehouse.steps.release.audit import audit_release
from lakehouse.steps.release.names import current_tag, id_of, is_tag_of, tag_of
from lakehouse.steps.release.rollback import rollback
from lakehouse.steps.release.tags import current_tag as module
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.release.conftest import NAMES, Group, MakeGroup, make_group


def current(group: Group) -> list[int | None]:
    """What the tag names, by member."""
    return [head_of(group.load(short), current_tag(group.declared.name)) for short in NAMES]


def released(group: Group) -> list[int]:
    return [member.snapshot_id for member in group.open().members]


def back(group: Group, release_id: str) -> None:
    attempt = Attempt("cli-1", f"release:{group.declared.name}")
    rollback(group.catalog, group.declared.name, release_id, attempt, by="ann", why="wrong")


def test_no_release_has_its_name() -> None:
    assert current_tag("sales") == "release-sales-current"
    assert id_of(current_tag("sales"), "sales") is None
    assert is_tag_of(current_tag("sales"), "sales")
    assert is_tag_of("release-sales-20261121173005123-1f9c2e3a", "sales")
    assert not is_tag_of(current_tag("sales"), "other")


def test_it_follows_the_pointer_forward_and_back(sql_group: MakeGroup) -> None:
    follows(sql_group())


@pytest.mark.slow
@pytest.mark.rest
def test_it_follows_the_pointer_of_a_rest_catalog(rest_lake: Lake) -> None:
    follows(make_group(rest_lake))


def follows(group: Group) -> None:
    group.make()
    first = group.release()
    assert current(group) == released(group)
    group.make()
    group.release()
    assert current(group) == released(group) == [group.head(short) for short in NAMES]
    back(group, first.id)
    assert current(group) == released(group) == [member.snapshot_id for member in first.members]


def test_a_release_that_has_nothing_new_sets_a_tag_that_stayed_behind(sql_group: MakeGroup) -> None:
    group = sql_group()
    group.make()
    first = group.release()
    group.change("b", remove_ref(current_tag(group.declared.name)))
    assert group.release("again").outcome == "unchanged"
    assert current(group) == [member.snapshot_id for member in first.members]


def test_a_table_that_left_the_group_loses_it(sql_group: MakeGroup) -> None:
    group = sql_group()
    group.make()
    group.release()
    fewer = replace(group.declared, members=group.members[:2])
    group.make()
    group.release(checks=group.checks("a", "b"), declared=fewer, dated=frozenset(fewer.members))
    assert current(group) == [group.head("a"), group.head("b"), None]
    assert [tag_of(group.open().id) in group.load(short).metadata.refs for short in NAMES] == [True, True, False]


def test_an_audit_names_a_tag_that_stays_behind(sql_group: MakeGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    group = sql_group()
    group.make()
    before = group.release()
    group.make()
    group.release()
    group.change("a", set_tag(current_tag(group.declared.name), before.members[0].snapshot_id))
    assert audit_release(group.catalog, group.declared).holds, "the release may still be on its way"
    monkeypatch.setattr(module, "GRACE", -module.GRACE)
    (finding,) = audit_release(group.catalog, group.declared).findings
    assert (finding.kind, finding.table) == ("current_tag", group.name("a"))
    group.change("a", remove_ref(current_tag(group.declared.name)))
    assert audit_release(group.catalog, group.declared).holds, "set by no version before this one"


def test_it_is_an_orphan_where_its_group_is_not_declared(sql_group: MakeGroup) -> None:
    group = sql_group()
    group.make()
    group.release()
    tag = current_tag(group.declared.name)
    declared = Declarations({}, {}, {}, releases={group.declared.name: group.declared})
    assert orphaned_tags(group.catalog, declared, group.load("a")) == frozenset()
    assert tag in orphaned_tags(group.catalog, Declarations({}, {}, {}), group.load("a"))
