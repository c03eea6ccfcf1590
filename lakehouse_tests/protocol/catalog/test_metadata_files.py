"""Metadata documents as files: what a write leaves, what a torn one is called, and which old ones a commit deletes."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.types import LongType, NestedField

from lakehouse.protocol.catalog.metadata_files import (
    MetadataFiles,
    NoDocumentError,
    metadata_of,
    next_location,
    outdated_files,
)
from lakehouse.protocol.errors import MetadataFileDamaged

DOCUMENT = {"table-uuid": "u", "unknown-field": [1, {"kept": True}]}
DELETES = {"write.metadata.delete-after-commit.enabled": "true"}


@pytest.fixture
def files() -> MetadataFiles:
    return MetadataFiles({})


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def log(*files: str, **properties: str) -> dict[str, Any]:
    return {"metadata-log": [{"metadata-file": file} for file in files], "properties": properties}


def test_a_document_is_read_as_it_was_written(files: MetadataFiles, tmp_path: Path) -> None:
    plain, packed = (tmp_path / name for name in ("0.metadata.json", "0.gz.metadata.json"))
    files.write_all({plain.as_uri(): DOCUMENT, packed.as_uri(): DOCUMENT})
    assert [MetadataFiles({}).read(path.as_uri()) for path in (plain, packed)] == [DOCUMENT, DOCUMENT]
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()


@pytest.mark.parametrize("deletion", ["works", "fails"])
def test_a_write_that_fails_leaves_no_document(
    files: MetadataFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deletion: str
) -> None:
    """Not even the whole one before it; and a deletion that fails hides no error."""

    def refuse(*_: object) -> None:
        raise PermissionError("may not delete")

    if deletion == "fails":
        monkeypatch.setattr(PyArrowFileIO, "delete", refuse)
    (tmp_path / "taken").mkdir()
    documents = {(tmp_path / name).as_uri(): DOCUMENT for name in ("whole.json", "taken")}
    with pytest.raises(OSError, match="taken"):
        files.write_all(documents)
    assert names(tmp_path) - {"taken"} == (set() if deletion == "works" else {"whole.json"})


@pytest.mark.parametrize(
    "content",
    [b"", b'{"table-uuid": "u', b"[1]", gzip.compress(b'{"a": 1}')[:-4]],
    ids=["empty", "torn", "list", "gzip"],
)
def test_what_is_no_document_is_named(files: MetadataFiles, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "0.metadata.json"
    path.write_bytes(content)
    with pytest.raises(NoDocumentError, match=r"\w"):
        files.read(path.as_uri())
    with pytest.raises(MetadataFileDamaged, match=r"raw\.a.*0\.metadata\.json") as damaged:
        files.read_for(("raw", "a"), path.as_uri())
    assert not damaged.value.gone


def test_a_document_is_decoded_once_and_never_out_of_date(files: MetadataFiles, tmp_path: Path) -> None:
    path = tmp_path / "0.metadata.json"
    files.write_all({path.as_uri(): DOCUMENT})
    assert files.read(path.as_uri()) is files.read(path.as_uri())
    path.write_bytes(path.read_bytes().replace(b'"u"', b'"v"'))
    assert files.read(path.as_uri())["table-uuid"] == "v"
    path.unlink()
    with pytest.raises(FileNotFoundError):
        files.read(path.as_uri())


def test_a_document_that_is_gone_is_told_from_a_damaged_one(files: MetadataFiles, tmp_path: Path) -> None:
    with pytest.raises(MetadataFileDamaged) as damaged:
        files.read_for(("raw", "a"), (tmp_path / "0.metadata.json").as_uri())
    assert damaged.value.gone


def test_storage_that_does_not_answer_is_no_damage(
    files: MetadataFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("not yours")

    monkeypatch.setattr(PyArrowFile, "open", refuse)
    with pytest.raises(PermissionError, match="not yours"):
        files.read_for(("raw", "a"), (tmp_path / "0.metadata.json").as_uri())


def test_a_document_that_contradicts_itself_is_damaged(tmp_path: Path) -> None:
    """PyIceberg reads it, and Spark refuses it."""
    schema = Schema(NestedField(1, "number", LongType()))
    metadata = new_table_metadata(schema, UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER, tmp_path.as_uri())
    document = metadata.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert metadata_of(("raw", "a"), "0.metadata.json", document).table_uuid == metadata.table_uuid
    main = {"main": {"snapshot-id": 12, "type": "branch"}}
    with pytest.raises(MetadataFileDamaged, match=r"raw\.a.*main refers to snapshot 12, which is not in it"):
        metadata_of(("raw", "a"), "0.metadata.json", {**document, "refs": main, "snapshots": None})


@pytest.mark.parametrize(
    ("location", "document", "begins", "ends"),
    [
        ("s3://b/t/metadata/00007-x.metadata.json", {}, "s3://b/t/metadata/00008-", ".metadata.json"),
        ("/t/v3.metadata.json", log("a", "b"), "/t/00003-", ".metadata.json"),
        (
            "/t/00001-x.metadata.json",
            {"properties": {"write.metadata.compression-codec": "gzip"}},
            "/t/00002-",
            ".gz.metadata.json",
        ),
    ],
    ids=["counted", "named by another", "packed"],
)
def test_the_next_document_lies_beside_the_last(location: str, document: Any, begins: str, ends: str) -> None:
    first, second = (next_location(location, document) for _ in range(2))
    assert first != second
    assert first.startswith(begins)
    assert first.endswith(ends)
    assert (".gz." in first) == (".gz." in ends)


def test_what_fell_off_the_log_is_outdated() -> None:
    before, after = log("file:/t/metadata/1", "file:/t/metadata/2"), log("file:/t/metadata/2", **DELETES)
    assert outdated_files("/t/metadata/3", before, after) == ["file:/t/metadata/1"]
    assert outdated_files("/t/metadata/3", before, log("file:/t/metadata/2")) == []


def test_a_file_elsewhere_is_no_old_document() -> None:
    before = log("file:/t/data/rows.parquet", "file:/other/metadata/1")
    assert outdated_files("file:/t/metadata/3", before, log(**DELETES)) == []


def test_an_old_document_that_is_gone_already_does_not_keep_the_others(files: MetadataFiles, tmp_path: Path) -> None:
    (tmp_path / "2").write_bytes(b"{}")
    files.delete_outdated([(tmp_path / name).as_uri() for name in ("1", "2")], (tmp_path / "3").as_uri())
    assert names(tmp_path) == set()
