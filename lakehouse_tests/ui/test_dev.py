"""`lakehouse dev` in a real browser: the graph, a click that materializes, a check's report, and runs without a click.

The tests share one running lakehouse and go through it in order, as a person would.
"""

import json
import os
import signal
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from playwright.sync_api import Page, expect, sync_playwright

from lakehouse_tests.fixtures.broker import REPOSITORY
from lakehouse_tests.ui.conftest import Dev

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(600)]
# `UPDATE_SCREENSHOTS=1 pytest lakehouse_tests/ui` renews the pictures in docs/; otherwise a test changes no file.
UPDATE = os.environ.get("UPDATE_SCREENSHOTS") == "1"
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
FLIGHT = json.loads(
    '{"year":2013,"month":6,"day":5,"dep_time":517,"sched_dep_time":515,"dep_delay":2,"arr_time":830,"sched_arr_time":819,'
    '"arr_delay":11,"carrier":"UA","tailnum":"N14228","origin":"EWR","dest":"IAH","air_time":227,"distance":1400,"hour":5,'
    '"minute":15,"time_hour":"2013-06-05T09:00:00Z"}'
)


@pytest.fixture(scope="module")
def page(dev: Dev) -> Iterator[Page]:
    """Debian's chromium; it may ask nobody but the page's own server."""
    strangers: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        opened = browser.new_page(viewport={"width": 1280, "height": 800})
        opened.set_default_timeout(30_000)
        opened.on(
            "request", lambda r: None if r.url.startswith((dev.url, "data:", "blob:")) else strangers.append(r.url)
        )
        yield opened
        browser.close()
    assert not strangers


def picture(page: Page, name: str, folder: Path) -> None:
    """Keep what the page shows."""
    file = (REPOSITORY / "docs" / "images" if UPDATE else folder) / f"{name}.png"
    page.wait_for_timeout(1_000)
    page.screenshot(path=file)
    assert file.stat().st_size < 200_000


def stop_sensor(dev: Dev, name: str) -> None:
    repositories = dev.ask("{ repositoriesOrError { ... on RepositoryConnection { nodes { sensors { id name } } } } }")
    sensors = {s["name"]: s["id"] for node in repositories["repositoriesOrError"]["nodes"] for s in node["sensors"]}
    answer = dev.ask("mutation($id: String!) { stopSensor(id: $id) { __typename } }", id=sensors[name])
    assert answer["stopSensor"]["__typename"] == "StopSensorMutationResult"


def clicked(run: dict[str, Any]) -> bool:
    """Whether a person has started it; the sensors start others meanwhile."""
    return "dagster/from_ui" in {tag["key"] for tag in run["tags"]}


def test_messages_become_materializations_without_a_click(dev: Dev) -> None:
    dev.wait_until(lambda: "of reference succeeded: +26,115 raw.weather" in dev.output())
    dev.command(
        "produce", "reference", "--file", "-", given='{"record_type":"airlines","carrier":"XX","name":"Test Air"}'
    )
    dev.wait_until(lambda: "of reference succeeded: +1 raw.airlines" in dev.output())
    tables = {table["table"]: table["rows"] for table in json.loads(dev.command("tables", "--json"))}
    assert tables["raw.airlines"] == 17
    run = next(run for run in dev.runs() if run["status"] == "SUCCESS")
    tags = {tag["key"]: tag["value"] for tag in run["tags"]}
    assert tags["dagster/sensor_name"].endswith("_lag")
    assert tags["lakehouse/stream"] in ("reference", "flights")


def test_another_web_page_starts_nothing(dev: Dev) -> None:
    pause = urllib.parse.urlencode({"query": "mutation { setAutoMaterializePaused(paused: true) }"})
    for path, headers in ((f"/graphql?{pause}", {}), ("/server_info", {"Origin": "https://evil.example"})):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request(f"{dev.url}{path}", headers=headers))
        refused.value.close()
        assert refused.value.code in (403, 405)


def test_the_graph_shows_every_table_with_its_state(dev: Dev, page: Page, tmp_path: Path) -> None:
    page.set_viewport_size({"width": 1280, "height": 1300})
    page.goto(f"{dev.url}/locations/lakehouse.definitions/asset-groups/reference/lineage")
    for table in ("airlines", "airports", "planes"):
        expect(page.get_by_text(table, exact=True).first).to_be_visible()
    expect(page.get_by_text("5 / 5 Passed").first).to_be_visible()
    picture(page, "asset-graph", tmp_path)
    page.set_viewport_size({"width": 1280, "height": 800})


def test_a_click_materializes(dev: Dev, page: Page, tmp_path: Path) -> None:
    dev.wait_until(lambda: all(run["status"] == "SUCCESS" for run in dev.runs()))
    stop_sensor(dev, "flights_lag")
    lines = [json.dumps({**FLIGHT, "flight": number}) for number in range(1, 501)]
    dev.command("produce", "flights", "--file", "-", given="\n".join([*lines, "not a flight"]))
    page.goto(f"{dev.url}/assets/raw/flights")
    page.get_by_role("button", name="Materialize").first.click()
    expect(page.get_by_text("Additional assets will be materialized")).to_be_visible()
    page.get_by_role("button", name="Confirm").click()
    dev.wait_until(lambda: {run["status"] for run in dev.runs() if clicked(run)} == {"SUCCESS"})
    page.goto(f"{dev.url}/assets/raw/flights?view=events")
    expect(page.get_by_text("rows added").first).to_be_visible()
    expect(page.get_by_text("500", exact=True).first).to_be_visible()
    picture(page, "materialization", tmp_path)
    page.get_by_text("[Show Markdown]").click()
    arrivals = page.get_by_alt_text("records by time of arrival")
    expect(arrivals).to_be_visible()
    assert arrivals.evaluate("image => image.naturalWidth") > 100


def test_the_report_of_a_check_can_be_read_by_who_did_not_write_it(dev: Dev, page: Page, tmp_path: Path) -> None:
    page.goto(f"{dev.url}/assets/raw/flights?view=checks")
    page.get_by_text("exactly_once", exact=True).first.click()
    expect(
        page.get_by_text("Every Kafka record that this stream has read is in exactly one of its tables")
    ).to_be_visible()
    expect(page.get_by_text("All 500 rows of snapshot")).to_be_visible()
    expect(page.get_by_text("decided by").last).to_be_visible()
    picture(page, "check-report", tmp_path)


def _processes(dev: Dev) -> list[psutil.Process]:
    processes: list[psutil.Process] = []
    for process in psutil.process_iter():
        try:
            if str(dev.root) in process.environ().get("LAKEHOUSE_HOME", ""):
                processes.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return processes


def test_ctrl_c_leaves_nothing_running(dev: Dev) -> None:
    assert _processes(dev)
    dev.process.send_signal(signal.SIGINT)
    dev.process.wait(60)
    assert dev.process.returncode == 0
    deadline = time.monotonic() + 60
    while (left := _processes(dev)) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not left, [process.cmdline() for process in left]
    assert not list(Path(dev.root / "dagster" / "alive").glob("*"))
