"""A refused step, a failed check, a plot and the graph in a real browser, for somebody who does not read code.

Dagster's web server alone, over runs that this process has executed: no broker, no daemon.
"""

import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from urllib.error import URLError

import dagster as dg
import pyarrow as pa
import pytest
from playwright.sync_api import Page, expect, sync_playwright
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyspark.sql import SparkSession

from lakehouse.build import PROVE_JOB
from lakehouse.cli.processes.dagster_services import end_group
from lakehouse_tests.fixtures.spark import free_port
from lakehouse_tests.orchestration.assets.house import House
from lakehouse_tests.orchestration.assets.story import new_story
from lakehouse_tests.orchestration.assets.test_story import MONDAY, OTHERWISE
from lakehouse_tests.ui.test_dev import FLAGS, picture

pytestmark = [
    *(pytest.mark.browser, pytest.mark.slow, pytest.mark.soak, pytest.mark.spark),
    pytest.mark.timeout(300),
]


@dataclass
class Site:
    """Where the pages are, and which run refused."""

    url: str
    refused: str


@contextmanager
def served(folder: Path, module: str = "lakehouse.definitions") -> Iterator[str]:
    """Dagster's web server over a module of definitions, for as long as it is needed."""
    port = free_port()
    command = [Path(sys.executable).parent / "dagster-webserver", "-m", module, "-h", "127.0.0.1"]
    with (folder / "webserver.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "-p", str(port)], cwd=folder, stdout=log, stderr=log, start_new_session=True
        )
    url, deadline = f"http://127.0.0.1:{port}", time.monotonic() + 120
    try:
        while time.monotonic() < deadline:
            assert process.poll() is None, (folder / "webserver.log").read_text()
            with suppress(URLError, ConnectionError), urllib.request.urlopen(f"{url}/server_info"):
                break
            time.sleep(0.2)
        yield url
    finally:
        end_group(process)


def write_by_hand(house: House) -> None:
    """Put a row into a derived table as nobody should."""
    table = house.lake().catalog.load_table(("mart", "shop_days"))
    row = {"shop": "Kiel", "day": date(2026, 1, 4), "total": 1, "runtime_date": date(2026, 1, 6)}
    table.append(pa.Table.from_pylist([row], schema=schema_to_pyarrow(table.schema(), include_field_ids=False)))


def judge(house: House, table: str, check: str) -> bool:
    """Ask one check, and say whether it passed."""
    key = dg.AssetCheckKey(dg.AssetKey(table.split(".")), check)
    job = house.defs().resolve_job_def(PROVE_JOB).get_subset(asset_check_selection={key})
    judged = job.execute_in_process(instance=house.instance, raise_on_error=False)
    [evaluation] = judged.get_asset_check_evaluations()
    return evaluation.passed


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, jars: Path, spark: SparkSession) -> Iterator[Site]:
    """All computed and released for Monday; one table again for Tuesday; and one that somebody wrote to by hand."""
    root = tmp_path_factory.mktemp("trust")
    with pytest.MonkeyPatch.context() as environ, new_story(root, jars, environ) as house:
        assert house.run(tags=MONDAY).success
        assert house.run("mart.shop_sizes", tags=OTHERWISE["another date"]).success
        refused = house.run("mart.best_days", tags=MONDAY)
        assert not refused.success
        write_by_hand(house)
        assert not judge(house, "mart.shop_days", "runtime_date")
        assert judge(house, "raw.orders", "histogram_amount")
        with served(root) as url:
            yield Site(url, refused.run_id)


@pytest.fixture(scope="module")
def page(site: Site) -> Iterator[Page]:
    """Debian's chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        opened = browser.new_page(viewport={"width": 1280, "height": 800})
        opened.set_default_timeout(30_000)
        yield opened
        browser.close()


def test_a_refused_step_says_which_input_is_wrong_and_what_repairs_it(site: Site, page: Page, tmp_path: Path) -> None:
    page.goto(f"{site.url}/runs/{site.refused}")
    expect(page.get_by_text("its inputs do not agree with this run").first).to_be_visible()
    picture(page, "refused-step", tmp_path)


def test_a_failed_check_says_what_it_proves_what_it_found_and_what_repairs_it(
    site: Site, page: Page, tmp_path: Path
) -> None:
    page.goto(f"{site.url}/assets/mart/shop_days?view=checks&checkDetail=runtime_date")
    expect(page.get_by_text("Every row of the table carries the runtime date of the run").first).to_be_visible()
    expect(page.get_by_text("holds 1 rows of 2026-01-06").first).to_be_visible()
    expect(page.get_by_text("lakehouse derive mart.shop_days --upstream").first).to_be_visible()
    picture(page, "failed-check", tmp_path)


def test_the_picture_of_a_check_is_rendered_where_the_report_of_a_run_says(
    site: Site, page: Page, tmp_path: Path
) -> None:
    page.goto(f"{site.url}/assets/raw/orders?view=checks&checkDetail=histogram_amount")
    page.get_by_text("[Show Markdown]").first.click()
    plot = page.locator("img[src^='data:image']").first
    expect(plot).to_be_visible()
    assert plot.evaluate("image => image.naturalWidth") > 100
    picture(page, "check-plot", tmp_path)


def test_the_graph_shows_derived_tables_and_their_release(site: Site, page: Page, tmp_path: Path) -> None:
    page.goto(f"{site.url}/assets/release/reports?view=lineage&lineageScope=upstream&lineageDepth=3")
    for table in ("shop_days", "shop_sizes", "best_days", "reports"):
        expect(page.get_by_text(table, exact=True).first).to_be_visible()
    picture(page, "derived-graph", tmp_path)
