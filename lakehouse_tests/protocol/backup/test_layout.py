"""Which lakehouses can have a backup."""

import pytest

from lakehouse.protocol.backup.layout import BackupError, places_of
from lakehouse.settings import CatalogSettings

OTHERS = {
    "a server": CatalogSettings(type="rest", uri="http://catalog:8181", warehouse="lakehouse"),
    "a database": CatalogSettings(type="sql", uri="postgresql://u:hush@db/lake", warehouse="file:///w"),
    "an object store": CatalogSettings(type="sql", uri="sqlite:////w/catalog.db", warehouse="s3://bucket/w"),
}


@pytest.mark.parametrize("settings", OTHERS.values(), ids=OTHERS)
def test_others_have_means_of_their_own(settings: CatalogSettings) -> None:
    with pytest.raises(BackupError, match=r"pg_dump.*the database first") as caught:
        places_of(settings)
    assert "hush" not in str(caught.value)
