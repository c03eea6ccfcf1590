"""A document that was read or written is not read again, unless its file is another by now."""

import os
from pathlib import Path
from typing import Any, cast

import pytest
from pyiceberg.table.metadata import TableMetadata

from lakehouse.protocol.catalog.metadata_files import MetadataFiles
from lakehouse.protocol.catalog.recent_documents import RecentDocuments, stamp_of
from lakehouse.protocol.commit import publish
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse_tests.fixtures.lakes import Lake

METADATA = cast("TableMetadata", object())


@pytest.fixture
def location(tmp_path: Path) -> str:
    path = tmp_path / "0.metadata.json"
    path.write_text("{}")
    return path.as_uri()


def test_a_document_is_known_until_its_file_changes_or_goes(location: str, tmp_path: Path) -> None:
    recent, document = RecentDocuments(), dict[str, Any]()
    recent.keep(location, stamp_of(location), document)
    assert recent.get(location) is document
    status = (tmp_path / "0.metadata.json").stat()
    os.utime(tmp_path / "0.metadata.json", ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert recent.get(location) is None
    recent.keep(location, stamp_of(location), document)
    (tmp_path / "0.metadata.json").unlink()
    assert recent.get(location) is None


def test_a_model_is_that_of_the_very_document(location: str) -> None:
    """An equal document that was read again may have been edited and edited back: it is looked at anew."""
    recent, document = RecentDocuments(), {"a": 1}
    recent.keep_metadata(location, document, METADATA)
    assert recent.metadata(location, document) is None
    recent.keep(location, stamp_of(location), document)
    recent.keep_metadata(location, document, METADATA)
    assert recent.metadata(location, document) is METADATA
    assert recent.metadata(location, dict(document)) is None
    recent.keep(location, stamp_of(location), dict(document))
    assert recent.metadata(location, document) is None


def test_the_oldest_is_forgotten() -> None:
    recent = RecentDocuments()
    for number in range(9):
        recent.keep(f"s3://a/{number}.metadata.json", stamp_of("s3://a/"), {"number": number})
    assert recent.get("s3://a/0.metadata.json") is None
    assert recent.get("s3://a/8.metadata.json") == {"number": 8}


def test_what_commits_leave_in_memory_is_what_lies_on_the_disk(sql_lake: Lake) -> None:
    """Otherwise this process would go on with a table that no other process sees."""
    name = sql_lake.create("a")
    for number in range(3):
        base = sql_lake.bases(name)[name]
        publish(sql_lake.catalog, [sql_lake.stage(base, Attempt(run_id=f"r{number}", step="s"), [number])])
        table = sql_lake.load(name)
        read = MetadataFiles({}).read(table.metadata_location)
        kept = cast("Any", sql_lake.catalog)._metadata_files.read(table.metadata_location)
        assert kept == read
        assert kept is not read
