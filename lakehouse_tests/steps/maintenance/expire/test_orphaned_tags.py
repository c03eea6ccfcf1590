"""A tag that no release drops is named with a command that does."""

from dataclasses import replace

import pytest

from lakehouse.declarations import Declarations, Expire
from lakehouse.steps.maintenance.expire import expire
from lakehouse.steps.maintenance.expire.holds import holders_of
from lakehouse.steps.release.names import TAG_PREFIX, current_tag, tag_of
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.maintenance.house import COPY, GROUP, LOG, House, days_ahead

pytestmark = pytest.mark.slow

SMALL = Expire(min_snapshots_to_keep=2, max_snapshots=2, at_least=1)
KEEP_LESS = "declare a smaller `keep` for the release"


@pytest.fixture
def house(sql_lake: Lake) -> House:
    return House.of(sql_lake)


def commands_of(house: House, declarations: Declarations) -> dict[str, str]:
    """Tag → what it says to do, of those that hold the changelog by a release."""
    holds = [hold for hold in holders_of(house.catalog, declarations, house.log) if hold.kind == "release"]
    assert all(bool(hold.reason) is ("DROP TAG" in hold.command) for hold in holds)
    return {TAG_PREFIX + hold.owner: hold.command for hold in holds}


def looked_after(release_id: str) -> dict[str, str]:
    """What is said while a declared release looks after its tags."""
    return {tag_of(release_id): KEEP_LESS, current_tag(GROUP): "it moves with the next release"}


def drops(release_id: str) -> dict[str, str]:
    """What is said if nobody does."""
    return {tag: f"ALTER TABLE {LOG} DROP TAG `{tag}`" for tag in (tag_of(release_id), current_tag(GROUP))}


@pytest.mark.parametrize("pointer", ["kept", "dropped"])
def test_a_group_that_is_not_declared_any_more(house: House, pointer: str) -> None:
    house.grow(1)
    release_id = house.release()
    house.grow(4)
    assert commands_of(house, house.declarations) == looked_after(release_id)
    if pointer == "dropped":
        house.catalog.drop_table(("release", GROUP))
    declarations = replace(house.declarations, releases={})
    assert commands_of(house, declarations) == drops(release_id)
    blocked = expire.expire(house.catalog, declarations, LOG, SMALL, now=days_ahead(2)).selection.blocked
    assert [hold.kind for hold in blocked] == ["release", "release"]
    for tag in drops(release_id):
        house.log.manage_snapshots().remove_tag(tag).commit()  # what the command does
    assert not expire.expire(house.catalog, declarations, LOG, SMALL, now=days_ahead(2)).selection.blocked


def test_a_table_that_has_left_the_group(house: House) -> None:
    """The pointer remembers that it was a member, as long as there is one."""
    house.grow(1)
    release_id = house.release()
    former = replace(house.declarations.releases[GROUP], members=(COPY,))
    declarations = replace(house.declarations, releases={GROUP: former})
    assert commands_of(house, declarations) == looked_after(release_id)
    house.catalog.drop_table(("release", GROUP))
    assert commands_of(house, declarations) == drops(release_id)
    assert commands_of(house, house.declarations) == looked_after(release_id), "the next release of a member drops it"
