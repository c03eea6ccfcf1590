"""docs/reference/settings.md names every key."""

import pytest

from lakehouse.settings.models.section import Section
from lakehouse_tests.reference.settings import GIVEN, SECTIONS
from lakehouse_tests.settings.test_loading import REPOSITORY


@pytest.mark.parametrize("section", SECTIONS.values())
def test_every_key_is_on_the_page(section: type[Section]) -> None:
    page = (REPOSITORY / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    keys = [name for name in section.model_fields if (section, name) not in GIVEN]
    assert [key for key in keys if f"- **`{key}`** " not in page] == []
