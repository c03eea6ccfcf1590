"""A tag that no release drops is named with a command that does."""

from dataclasses import replace

import pytest

from lakehouse.declarations import Declarations, Expire
from lakehouse.steps.maintenance.expire import expire
from lakehouse.steps.maintenance.expire.holds import holders_of
from lakehouse.steps.release.names import tag_of
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.maintenance.house import COPY, GROUP, LOG, House, days_ahead

pytestmark = pytest.mark.slow

SMALL = Expire(min_snapshots_to_keep=2, max_snapshots=2, at_least=1)
KEEP_LESS = "declare a smaller `keep` for the release"


@pytest.fixture
def house(sql_lake: Lake) -> House:
    return House.of(sql_lake)


def command_of(house: House, declarations: Declarations) -> str:
    """What holds the changelog by a release says to do."""
    (hold,) = [hold for hold in holders_of(house.catalog, declarations, house.log) if hold.kind == "release"]
    assert bool(hold.reason) is (hold.command != KEEP_LESS)
    return hold.command


@pytest.mark.parametrize("pointer", ["kept", "dropped"])
def test_a_group_that_is_not_declared_any_more(house: House, pointer: str) -> None:
    house.grow(1)
    release_id = house.release()
    house.grow(4)
    assert command_of(house, house.declarations) == KEEP_LESS
    if pointer == "dropped":
        house.catalog.drop_table(("release", GROUP))
    declarations = replace(house.declarations, releases={})
    assert command_of(house, declarations) == f"ALTER TABLE {LOG} DROP TAG `{tag_of(release_id)}`"
    blocked = expire.expire(house.catalog, declarations, LOG, SMALL, now=days_ahead(2)).selection.blocked
    assert [hold.kind for hold in blocked] == ["release"]
    house.log.manage_snapshots().remove_tag(tag_of(release_id)).commit()  # what the command does
    assert not expire.expire(house.catalog, declarations, LOG, SMALL, now=days_ahead(2)).selection.blocked


def test_a_table_that_has_left_the_group(house: House) -> None:
    """The pointer remembers that it was a member, as long as there is one."""
    house.grow(1)
    house.release()
    former = replace(house.declarations.releases[GROUP], members=(COPY,))
    declarations = replace(house.declarations, releases={GROUP: former})
    assert command_of(house, declarations) == KEEP_LESS
    house.catalog.drop_table(("release", GROUP))
    assert "DROP TAG" in command_of(house, declarations)
    assert command_of(house, house.declarations) == KEEP_LESS, "the next release of a member drops it"
