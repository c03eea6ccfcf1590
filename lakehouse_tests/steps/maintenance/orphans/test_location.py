"""At which locations orphans are looked for."""

import pytest
from pyiceberg.table.update import SetLocationUpdate

from lakehouse.protocol.catalog import TableChange
from lakehouse.steps.maintenance.orphans.location import CannotLook, require_own_place
from lakehouse_tests.steps.maintenance.orphans.conftest import Folder

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("claimed", ["file:///", "{parent}", "{parent}/precious"])
def test_at_a_location_where_its_metadata_are_not_nobody_looks(folder: Folder, claimed: str) -> None:
    """Whoever may write a table may say that it lies anywhere; what is there is not the table's."""
    (folder.path.parent / "precious").mkdir()
    location = claimed.format(parent=folder.path.parent.as_uri())
    move = SetLocationUpdate(location=location)
    folder.lake.catalog.commit_tables([TableChange(folder.table.name(), (), (move,))])
    with pytest.raises(CannotLook, match="its metadata lies elsewhere"):
        require_own_place(folder.table, folder.table)
