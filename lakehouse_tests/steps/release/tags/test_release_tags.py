"""The tags of a release, which nobody moves."""

import pytest
from msgspec.structs import replace

from lakehouse.steps.release.errors import TagRefused
from lakehouse.steps.release.tags.release_tags import set_tags
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.release.conftest import Group, make_group


@pytest.fixture
def group(sql_lake: Lake) -> Group:
    made = make_group(sql_lake)
    made.make()
    return made


def test_a_tag_that_is_there_is_never_moved(group: Group) -> None:
    done = group.release()
    group.write("a", 2)
    [member] = [member for member in done.members if member.table == group.name("a")]
    with pytest.raises(TagRefused, match="never moved"):
        set_tags(group.catalog, done.id, [replace(member, snapshot_id=group.head("a"))])
