"""What a table's document tells of its files, whatever else is in it or missing."""

from lakehouse.protocol.catalog.entry import Entry

NEWEST = "file:/t/metadata/2.json"


def test_every_document_that_it_names_is_its_own() -> None:
    entry = Entry.of(("raw", "a"), NEWEST, {"metadata-log": [{"metadata-file": "file:/t/metadata/1.json"}]})
    assert entry.versions == {NEWEST, "file:/t/metadata/1.json"}


def test_it_writes_where_its_properties_say() -> None:
    properties = {"write.data.path": "s3://other/data", "write.metadata.path": "", "owner": "s3://no/path"}
    entry = Entry.of(("raw", "a"), NEWEST, {"location": "file:/t", "table-uuid": "u", "properties": properties})
    assert (entry.location, entry.uuid, entry.folders) == ("file:/t", "u", ("s3://other/data",))


def test_a_document_without_anything_is_an_entry_all_the_same() -> None:
    assert Entry.of(("raw", "a"), NEWEST, {"properties": None, "metadata-log": None}) == Entry(
        ("raw", "a"), NEWEST, versions=frozenset({NEWEST})
    )
