"""Files as storage lists them."""

from typing import Any

import pytest

from lakehouse.protocol.commit import stage_files
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.maintenance.orphans import removal
from lakehouse.steps.maintenance.orphans.listing import Listing, list_files
from lakehouse_tests.steps.maintenance.orphans.conftest import Folder

pytestmark = pytest.mark.slow


def test_a_commit_between_listing_and_loading_is_known(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    (file,) = folder.lake.files(folder.name, [7])
    folder.age(file.file_path.removeprefix(f"{folder.path.as_uri()}/"), days_ago=3)

    def listed(*args: Any) -> Listing:
        listing = list_files(*args)
        base, attempt = folder.lake.bases(folder.name)[folder.name], Attempt(run_id="r", step="s")
        stage_files(folder.lake.catalog, base, attempt, [file])
        return listing

    monkeypatch.setattr(removal, "list_files", listed)
    folder.look()
    assert folder.events() == []
