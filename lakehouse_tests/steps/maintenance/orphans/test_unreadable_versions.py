"""What cannot be read stops the look, unless nobody names it."""

import json
from pathlib import Path
from urllib.parse import urlparse

import pytest
from pyiceberg.io import InputFile
from pyiceberg.io.pyarrow import PyArrowFileIO

from lakehouse.steps.maintenance.orphans.known_files import MetadataUnreadable
from lakehouse_tests.steps.maintenance.orphans.conftest import Folder

pytestmark = pytest.mark.slow


TORN = "metadata/00099-broken.metadata.json"


def test_a_version_that_cannot_be_read_stops_the_look_while_it_may_be_being_written(folder: Folder) -> None:
    folder.put(TORN, content="{", days_ago=1.9)
    with pytest.raises(MetadataUnreadable, match="00099-broken"):
        folder.look()


@pytest.mark.parametrize("content", ["", "{", "[]", "\x1f\x8b"])
def test_a_torn_version_that_nobody_names_is_an_orphan(folder: Folder, content: str) -> None:
    """What a full disk or a crash leaves behind; it kept all other orphans until somebody removed it by hand."""
    before = folder.files()
    torn, stray = folder.put(TORN, content=content), folder.put()
    assert folder.look().effect.candidates == 2
    assert folder.look(days=3).effect.deleted == 2
    assert sorted(folder.events()) == sorted(
        (event, file) for event in ("candidate", "deleted") for file in (torn, stray)
    )
    assert folder.files() == before


def test_a_torn_version_in_the_log_stops_the_look(folder: Folder) -> None:
    """Whichever version names it: somebody may want to go back to that one."""
    logged = Path(urlparse(folder.table.metadata.metadata_log[-1].metadata_file).path)
    logged.write_text("{")
    folder.age(days_ago=30)
    with pytest.raises(MetadataUnreadable, match=logged.name):
        folder.look()
    rolled_back = folder.put("metadata/00098-rolled-back.metadata.json", content="{}")
    folder.put(TORN, content="{")
    newest = json.loads(Path(urlparse(folder.table.metadata_location).path).read_text())
    log = [{"metadata-file": (folder.path / TORN).as_uri(), "timestamp-ms": 1}]
    logged.write_text(json.dumps({**newest, "metadata-log": []}))
    folder.put(rolled_back, content=json.dumps({**newest, "metadata-log": log}))
    with pytest.raises(MetadataUnreadable, match="00099-broken"):
        folder.look()


def test_a_version_that_the_store_does_not_hand_out_stops_the_look(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be whole."""
    folder.put(TORN, content="{")

    new_input = PyArrowFileIO.new_input

    def refusing(io: PyArrowFileIO, location: str) -> InputFile:
        if "broken" in location:
            raise OSError(f"{location}: not now")
        return new_input(io, location)

    monkeypatch.setattr(PyArrowFileIO, "new_input", refusing)
    with pytest.raises(MetadataUnreadable, match="not now"):
        folder.look()


def test_a_missing_manifest_of_the_table_stops_the_look(folder: Folder) -> None:
    (newest,) = [
        s for s in folder.table.metadata.snapshots if s.snapshot_id == folder.table.metadata.current_snapshot_id
    ]
    Path(urlparse(newest.manifest_list).path).unlink()
    with pytest.raises(MetadataUnreadable, match="is not there"):
        folder.look()
