"""A section from a file: every wrong key is named, and no value."""

from pathlib import Path

import pytest

from lakehouse.polaris import PolarisServer
from lakehouse.settings import CatalogSettings, IngestSettings, SettingsError
from lakehouse.settings.document import Document
from lakehouse.settings.models.validated import validated


def test_it_names_each_wrong_key_and_no_value() -> None:
    document = Document(Path("conf/x.yaml"), {"min_partitions": "s3cret", "unknown": "s3cret"}, prefix="ingest.")
    with pytest.raises(SettingsError) as refused:
        validated(IngestSettings, document)
    assert "conf/x.yaml, key ingest.min_partitions: Input should be a valid integer" in str(refused.value)
    assert "conf/x.yaml, key ingest.unknown: unknown key" in str(refused.value)
    assert "s3cret" not in str(refused.value)
    assert refused.value.__context__ is None


@pytest.mark.parametrize("uri", [7, {"hush": "hush"}, ["hush"]])
def test_a_value_of_several_types_is_named_once_by_its_key(uri: object) -> None:
    document = Document(Path("conf/x.yaml"), {"type": "rest", "uri": uri, "warehouse": "w"})
    with pytest.raises(SettingsError) as refused:
        validated(CatalogSettings, document)
    assert refused.value.message.splitlines() == ["conf/x.yaml, key uri: Input should be a valid string."]


@pytest.mark.parametrize(
    ("catalogs", "key"),
    [
        ({"lake": {"storage": {"type": "azure"}}}, "catalogs.lake.storage.tenant_id: Field required"),
        ({"lake": {"storage": {"type": "s3", "region": ["hush"]}}}, "catalogs.lake.storage.region: Input should be"),
        ({"lake": {"namespaces": ["a", "b/c"]}}, "catalogs.lake.namespaces.1: This name has /"),
        ({"la/ke": {}}, "catalogs.la/ke: This name has /"),
        ({7: {}}, "catalogs.7: Input should be a valid string"),
        ({"lake": {}}, "catalogs.lake.location: Field required"),
    ],
)
def test_a_key_is_named_as_it_stands_in_the_file(catalogs: dict[object, object], key: str) -> None:
    document = Document(Path("conf/x.yaml"), {"uri": "https://p", "credential": {"hush": 1}, "catalogs": catalogs})
    with pytest.raises(SettingsError) as refused:
        validated(PolarisServer, document)
    lines = refused.value.message.splitlines()
    assert any(line.startswith(f"conf/x.yaml, key {key}") for line in lines)
    assert "conf/x.yaml, key credential: Input should be a valid string." in lines
    assert "hush" not in refused.value.message
