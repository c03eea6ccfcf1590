"""docs/reference/settings.md names every key."""

import pytest

from lakehouse.settings.models import CatalogSettings, IngestSettings, KafkaSettings, Platform, Section, Settings
from lakehouse_tests.settings.test_settings import REPOSITORY

GIVEN = {(Platform, "name"), (Settings, "conf"), (Settings, "state")}  # by the file's name, and by the folder's
SECTIONS = (Settings, Platform, CatalogSettings, KafkaSettings, IngestSettings)


@pytest.mark.parametrize("section", SECTIONS)
def test_every_key_is_on_the_page(section: type[Section]) -> None:
    page = (REPOSITORY / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    keys = [name for name in section.model_fields if (section, name) not in GIVEN]
    assert [key for key in keys if f"| `{key}` |" not in page] == []
