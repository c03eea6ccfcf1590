"""Storage is asked for every file that a snapshot lists, and how large each is.

Guarded mechanism: what an object store lists at once, and what is asked for one by one, are compared with manifests.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyiceberg.table import Table

from lakehouse.iceberg import file_sizes
from lakehouse.proofs.audit.stored_files import stored_otherwise
from lakehouse.protocol.seals.history import head_of
from lakehouse_tests.fixtures.lakes import Lake


def local(location: str) -> Path:
    return Path(location.removeprefix("file://"))


def data_file(table: Table) -> Path:
    return local(next(iter(table.scan().plan_files())).file.file_path)


def manifest(table: Table) -> Path:
    snapshot = table.current_snapshot()
    assert snapshot is not None
    return local(snapshot.manifests(table.io)[0].manifest_path)


def longer(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


@pytest.fixture(params=["one by one", "listed"])
def table(request: pytest.FixtureRequest, sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Table:
    """A table of several files; the location is listed as an object store's is, or each file is asked for."""
    if request.param == "listed":
        monkeypatch.setattr(file_sizes, "_FEW", 0)
        monkeypatch.setattr(file_sizes.arrow_fs, "LocalFileSystem", type("Elsewhere", (), {}))
    name = sql_lake.create("a")
    for numbers in ([1, 2], [3], [4]):
        sql_lake.write(str(numbers), a=numbers)
    return sql_lake.load(name)


@pytest.mark.parametrize(
    ("which", "subject", "harm", "kind"),
    [
        (data_file, "data file", Path.unlink, "missing_file"),
        (data_file, "data file", longer, "changed_file"),
        (manifest, "manifest", Path.unlink, "missing_file"),
        (manifest, "manifest", longer, "unreadable_file"),
    ],
    ids=["data removed", "data longer", "manifest removed", "manifest longer"],
)
def test_a_file_that_is_not_as_it_is_listed_is_named_once(
    table: Table, which: Callable[[Table], Path], subject: str, harm: Callable[[Path], None], kind: str
) -> None:
    head = head_of(table)
    assert head is not None
    assert stored_otherwise(table, {head: ""}) == []
    harm(path := which(table))
    before = table.metadata.snapshots[-2].snapshot_id
    (damage,) = stored_otherwise(table, {before: "The tag t keeps it.", head: ""})
    assert (damage.kind, damage.lost) == (kind, True)
    assert f"{subject} {path.name} " in damage.message
