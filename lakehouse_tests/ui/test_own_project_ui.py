"""A Dagster project as `create-dagster` lays it out, with a lakehouse in it: one run makes an asset of each.

The project has an executor and a `spark` of its own. It is seen in a real browser, as its team would see it.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import dagster as dg
import pytest
from playwright.sync_api import expect, sync_playwright
from pyspark.sql import SparkSession

from lakehouse_tests.orchestration.assets.story import new_story
from lakehouse_tests.test_component import write
from lakehouse_tests.ui.test_dev import FLAGS
from lakehouse_tests.ui.test_trust_ui import served

pytestmark = [
    pytest.mark.soak,
    *(pytest.mark.browser, pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(300)),
    # Dagster's own: how it reads YAML, and what of its components is a preview.
    pytest.mark.filterwarnings("ignore:`parse_obj_as` is deprecated"),
    pytest.mark.filterwarnings("ignore::dagster.PreviewWarning"),
    pytest.mark.filterwarnings("ignore::dagster.BetaWarning"),
]

OURS, THEIRS = "corp/lake/mart/shop_sizes", "reports/largest"
UPKEEP = "corp/lake/maintenance/mart/shop_sizes"
RGB = "element => getComputedStyle(element).color.match(/[0-9]+/g).slice(0, 3)"
COLOURFUL = 60  # of 255; orange and red are far beyond
PROJECT = {
    "pyproject.toml": '[tool.dg]\ndirectory_type = "project"\n[tool.dg.project]\nroot_module = "managers"\n',
    "src/managers/__init__.py": "",
    "src/managers/definitions.py": """
        from pathlib import Path

        import dagster as dg


        @dg.definitions
        def defs() -> dg.Definitions:
            return dg.load_from_defs_folder(path_within_project=Path(__file__).parent)


        def both() -> dg.JobDefinition:
            return defs().resolve_job_def("both")
        """,
    "src/managers/defs/__init__.py": "",
    "src/managers/defs/lake/defs.yaml": """
        type: lakehouse.component.LakehouseComponent
        attributes:
          conf: ../../../../conf
          asset_key_prefix: corp/lake
          resource_keys:
            lake: tables
            spark: lake_spark
        """,
    "src/managers/defs/own.py": """
        import dagster as dg

        from lakehouse import Lake

        OURS = dg.AssetKey(["corp", "lake", "mart", "shop_sizes"])


        class TheirSpark:
            largest = "orders of the largest shop"


        @dg.asset(key=["reports", "largest"], deps=[OURS], group_name="reports")
        def largest(spark: dg.ResourceParam[TheirSpark], tables: dg.ResourceParam[Lake]) -> dg.MaterializeResult:
            rows = tables.arrow("mart.shop_sizes")["orders"].to_pylist()
            return dg.MaterializeResult(metadata={spark.largest: max(rows)})


        @dg.definitions
        def own() -> dg.Definitions:
            return dg.Definitions(
                assets=[largest],
                jobs=[dg.define_asset_job("both", [OURS, largest.key])],
                resources={"spark": TheirSpark()},
                executor=dg.in_process_executor,
            )
        """,
}


@dataclass
class Site:
    """Where the pages are, and the run that made both."""

    url: str
    run_id: str


@pytest.fixture
def site(tmp_path: Path, jars: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with new_story(tmp_path, jars, monkeypatch) as house:
        write(tmp_path, PROJECT)
        monkeypatch.delenv("LAKEHOUSE_CONF", raising=False)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "src"))
        monkeypatch.syspath_prepend(str(tmp_path / "src"))
        try:
            job = dg.reconstructable(import_module("managers.definitions").both)
            assert job.get_definition().executor_def is dg.in_process_executor, "the project's own"
            with dg.execute_job(job, instance=house.instance) as result:
                assert result.success
                made = {
                    event.materialization.asset_key.to_user_string()
                    for event in result.get_asset_materialization_events()
                }
                assert made == {OURS, THEIRS}
                with served(tmp_path, "managers.definitions") as url:
                    yield Site(url, result.run_id)
        finally:
            for name in [name for name in sys.modules if name.split(".")[0] == "managers"]:
                del sys.modules[name]


def test_one_run_of_a_teams_own_project_makes_a_table_of_the_lake_and_an_asset_of_theirs(site: Site) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        page.set_default_timeout(60_000)
        for asset, shown in ((THEIRS, "orders of the largest shop"), (OURS, "rows written")):
            page.goto(f"{site.url}/assets/{asset}?view=events")
            expect(page.get_by_text(site.run_id[:8]).first).to_be_visible()
            expect(page.get_by_text(shown).first).to_be_visible()
        # What nobody has looked after yet is not waiting for anybody: it is gray, and no warning.
        page.goto(f"{site.url}/assets/{UPKEEP}?view=lineage")
        never = page.get_by_text("Never materialized").first
        expect(never).to_be_visible()
        red, green, blue = (int(part) for part in never.evaluate(RGB))
        assert max(red, green, blue) - min(red, green, blue) < COLOURFUL
        page.goto(f"{site.url}/assets/{THEIRS}?view=lineage")
        expect(page.get_by_text("shop_sizes").first).to_be_visible()
        browser.close()
