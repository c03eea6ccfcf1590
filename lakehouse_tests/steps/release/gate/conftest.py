"""A group that is fit to be released, and what a release says that is held."""

import pytest

from lakehouse.steps.release.gate.results import Check, ReleaseHeld
from lakehouse_tests.steps.release.conftest import Group, MakeGroup


@pytest.fixture
def made(sql_group: MakeGroup) -> Group:
    """A group whose members are fit to be released."""
    group = sql_group()
    group.make()
    return group


def held_message(group: Group, checks: list[Check] | None = None, **more: object) -> str:
    """What a held release says; the pointer has not moved."""
    before = group.load_pointer()
    with pytest.raises(ReleaseHeld) as caught:
        group.release("held", checks, **more)
    assert group.load_pointer() == before
    assert not any("held" in tag for tag in group.tags())
    return caught.value.message
