"""Writes all generated pages anew."""

from lakehouse_tests.reference.pages import PAGES

for path, page in PAGES.items():
    path.write_text(page(), encoding="utf-8")
