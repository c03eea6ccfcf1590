"""A section from a file: every wrong key is named, and no value."""

from pathlib import Path

import pytest

from lakehouse.settings import CatalogSettings, IngestSettings, SettingsError
from lakehouse.settings.document import Document
from lakehouse.settings.models.validated import validated


def test_it_names_each_wrong_key_and_no_value() -> None:
    document = Document(Path("conf/x.yaml"), {"min_partitions": "s3cret", "unknown": "s3cret"}, prefix="ingest.")
    with pytest.raises(SettingsError) as refused:
        validated(IngestSettings, document)
    assert "conf/x.yaml, key ingest.min_partitions: Input should be a valid integer" in str(refused.value)
    assert "conf/x.yaml, key ingest.unknown: Extra inputs are not permitted" in str(refused.value)
    assert "s3cret" not in str(refused.value)
    assert refused.value.__context__ is None


def test_a_value_of_several_types_is_named_once_by_its_key() -> None:
    document = Document(Path("conf/x.yaml"), {"type": "rest", "uri": 7, "warehouse": "w"})
    with pytest.raises(SettingsError) as refused:
        validated(CatalogSettings, document)
    assert refused.value.message.splitlines() == ["conf/x.yaml, key uri: Input should be a valid string."]
