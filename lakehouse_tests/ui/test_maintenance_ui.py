"""Why did it do that, and why not: the page of a table's maintenance in a real browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright
from pyspark.sql import SparkSession

from lakehouse_tests.orchestration.assets.flock import new_flock, upkeep
from lakehouse_tests.ui.test_dev import FLAGS, picture
from lakehouse_tests.ui.test_trust_ui import served

pytestmark = [pytest.mark.soak, pytest.mark.browser, pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, jars: Path, spark: SparkSession) -> Iterator[str]:
    """A table that was looked after twice: first there was something to do, then nothing."""
    root = tmp_path_factory.mktemp("upkeep")
    with pytest.MonkeyPatch.context() as environ, new_flock(root, jars, environ, writes=3) as house:
        assert upkeep(house)[0].success
        assert upkeep(house)[0].success
        with served(root) as url:
            yield url


@pytest.fixture(scope="module")
def page(site: str) -> Iterator[Page]:
    """Debian's chromium, at the events of the table's maintenance."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        opened = browser.new_page(viewport={"width": 1280, "height": 1000})
        opened.set_default_timeout(30_000)
        opened.goto(f"{site}/assets/maintenance/raw/flock?view=events")
        yield opened
        browser.close()


def test_the_newest_run_says_why_nothing_was_done(page: Page, tmp_path: Path) -> None:
    expect(page.get_by_text("not done, and why").first).to_be_visible()
    expect(page.get_by_text("Nothing, because:").first).to_be_visible()
    picture(page, "maintenance", tmp_path)
