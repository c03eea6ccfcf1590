"""From settings to a catalog."""

from pathlib import Path

import pytest

from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.catalog.sql_catalog.sqlite_file import CatalogUnusable
from lakehouse_tests.fixtures.lakes import Lake, sql_settings


def test_an_embedded_catalog_that_is_not_there_is_not_made(lake: Lake, tmp_path: Path) -> None:
    settings = sql_settings(tmp_path / "nowhere")
    both = open_catalog(lake.settings, {"nowhere": settings})
    with pytest.raises(CatalogUnusable, match=r"There is no catalog database .*nowhere/catalog.db"):
        both.load_table("nowhere:raw.sales")
    assert not (tmp_path / "nowhere").exists()
    assert both.locations([("nowhere:raw", "sales")]).refused == {
        ("nowhere:raw", "sales"): "catalog nowhere: CatalogUnusable"
    }
