"""Files that some snapshot knows."""

from datetime import timedelta
from pathlib import Path
from urllib.parse import urlparse

import pytest
from pyiceberg.table import Table

from lakehouse.declarations import Declarations, Expire, Orphans
from lakehouse.protocol.failpoints import InjectedFault
from lakehouse.steps.maintenance.expire.expire import expire
from lakehouse.steps.maintenance.orphans.known_files import Known, known_files
from lakehouse.steps.maintenance.orphans.listing import ListedFile, list_files, names_of
from lakehouse.steps.maintenance.orphans.orphan_log import Noted, OrphanHistory
from lakehouse.steps.maintenance.orphans.removal import look
from lakehouse_tests.steps.maintenance.orphans.conftest import Folder
from lakehouse_tests.steps.maintenance.orphans.test_removal import NOW, _listed

pytestmark = pytest.mark.slow


def test_what_a_killed_expiry_has_left_is_found(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once no version of the metadata lists the snapshots that went."""
    nobody = Declarations({}, {}, {})
    with folder.table.transaction() as change:
        change.set_properties(
            {"write.metadata.previous-versions-max": "1", "write.metadata.delete-after-commit.enabled": "true"}
        )
    folder.table.delete("n < 2")
    monkeypatch.setenv("LAKEHOUSE_FAILPOINTS", "expire.between=fail")
    policy = Expire(min_snapshots_to_keep=2, max_snapshots=2, at_least=1)
    with pytest.raises(InjectedFault):
        expire(folder.lake.catalog, nobody, folder.name, policy)
    monkeypatch.delenv("LAKEHOUSE_FAILPOINTS")
    for number in (7, 8):
        folder.lake.write(f"s{number}", a=[number])
    left = {str(path.relative_to(folder.path)) for path in folder.path.rglob("*.metadata.json")}
    keep = {urlparse(v).path.rpartition("/")[2] for v in _versions(folder.table)}
    for name in left:
        if Path(name).name not in keep:  # the versions from before the property was set
            (folder.path / name).unlink()
    folder.age(days_ago=3)
    assert folder.look().effect.candidates > 0
    assert folder.look(days=3).effect.deleted > 0
    assert folder.lake.rows(folder.name) == [2, 3, 4, 7, 8]
    names = {name_ for path in folder.files() for name_ in names_of(path)}
    assert names <= known_files(folder.table, list_files(folder.table.io, folder.table.location())).names


def _versions(table: Table) -> list[str]:
    return [table.metadata_location, *(entry.metadata_file for entry in table.metadata.metadata_log)]


def test_another_scheme_is_no_other_file() -> None:
    file = ListedFile("b/t/data/x.parquet", 1, NOW - timedelta(days=9))
    memory = OrphanHistory({"s3://b/t/data/x.parquet": Noted(NOW - timedelta(days=99), 1, NOW - timedelta(days=9))})
    for location in ("s3a://b/t/data/x.parquet", "s3n://b/t/data/x.parquet", "s3://alias/t/data/x.parquet"):
        verdict = look(_listed(file), Known(names_of(location), 1), memory, Orphans(), now=NOW, longest=timedelta(0))
        assert verdict.reprieved == (file,)
    unknown = look(_listed(file), Known(frozenset(), 1), memory, Orphans(), now=NOW, longest=timedelta(0))
    assert unknown.doomed == (file,)
