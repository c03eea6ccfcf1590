"""`lakehouse run` from nothing, and again: the whole demo, and in its short form the demo's first weeks."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from lakehouse.demo import BROKEN_FLIGHTS, flight_changes, load_demo
from lakehouse.demo.changes import PARTITIONS
from lakehouse.demo.flights import FlightFeed
from lakehouse.engines.kafka import Record, create_topic, send
from lakehouse.settings import KafkaSettings
from lakehouse_tests.fixtures.broker import state_with_jars
from lakehouse_tests.fixtures.environ import clean_environ
from lakehouse_tests.fixtures.spark import free_port
from lakehouse_tests.orchestration.assets.house import command, shipped_conf

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.kafka, pytest.mark.timeout(1200)]
OWN_ASSET = Path(__file__).parents[4] / "docs" / "how-to" / "own-asset.md"
LAKEHOUSE = str(Path(sys.executable).parent / "lakehouse")
FLIGHTS = 10_000  # of about eleven days, so that routes have a history


class Terminal:
    """A person's terminal, with state, ports and an environment of its own."""

    def __init__(self, folder: Path, jars: Path) -> None:
        self.folder = folder
        self.kafka = KafkaSettings(bootstrap_servers=f"127.0.0.1:{free_port()}", local=True)
        self.environ = clean_environ(
            LAKEHOUSE_HOME=str(state_with_jars(folder / "state", jars).root),
            LAKEHOUSE__KAFKA__BOOTSTRAP_SERVERS=self.kafka.bootstrap_servers,
            COLUMNS="160",
        )
        self.lakehouse = self.start

    def share_driver(self) -> None:
        """Run commands inside this process, with the test session's driver."""
        conf = {"LAKEHOUSE_CONF": str(shipped_conf(self.folder)), "LAKEHOUSE_PLATFORM": "test"}
        self.environ |= conf
        self.lakehouse = self.call

    def call(self, *arguments: str) -> str:
        """What a command prints; it must succeed."""
        return command(*arguments, environ=self.environ).stdout

    def start(self, *arguments: str) -> str:
        """The same, as a process of its own."""
        done = subprocess.run(
            [LAKEHOUSE, *arguments], env=self.environ, capture_output=True, text=True, check=False, cwd=self.folder
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def run_again_with_another_asset(self, first: str, *, days: int) -> None:
        """What is declared later is computed although its inputs have nothing new, and nothing else changes.

        Args:
            first: What the first run reported.
            days: How many rows that asset has.
        """
        release = release_of(first)
        (self.folder / "own").mkdir()
        documented = re.findall(r"```python\n(.*?)```", OWN_ASSET.read_text(), re.DOTALL)[0]
        (self.folder / "own" / "busy_days.py").write_text(documented)
        self.environ["LAKEHOUSE_DECLARATIONS"] = str(self.folder / "own")
        second = self.lakehouse("run")
        assert f"\n{days:,} rows of 1 table written anew. " in second
        assert f" {days:,} anew " in second.split("mart.busy_days", 1)[1].splitlines()[0]
        assert "0 failed" in second
        assert release_of(second) == release
        balances = r"^[\d,]+ (?:messages of topic|flights) .*$"
        assert re.findall(balances, second, re.MULTILINE) == re.findall(balances, first, re.MULTILINE)
        audit = self.lakehouse("audit")
        assert "Every promise holds" in audit
        assert "features.training" in audit
        assert release in audit
        assert "down" in self.lakehouse("status"), "what was started is stopped"


@pytest.fixture
def terminal(tmp_path: Path, jars: Path) -> Terminal:
    """Nothing runs yet."""
    return Terminal(tmp_path, jars)


def release_of(report: str) -> str:
    """The release that readers of `analytics` see."""
    match = re.search(r"Readers of analytics see release (analytics-\S+):", report)
    assert match
    return match[1]


def send_flights(kafka: KafkaSettings, values: Sequence[bytes]) -> Mapping[str, int]:
    """The beginning of each topic of the demo; returns how many messages of each."""
    sent = dict(load_demo(kafka, topics=["reference"]))
    create_topic(kafka, "flights", 4)
    sent["flights"] = send(kafka, "flights", [Record(value, partition=n % 4) for n, value in enumerate(values)])
    create_topic(kafka, "flight_changes", PARTITIONS)
    sent["flight_changes"] = send(kafka, "flight_changes", flight_changes(flights=FLIGHTS))
    return sent


@pytest.mark.usefixtures("spark")
def test_the_first_weeks_land_and_are_released(terminal: Terminal) -> None:
    values = FlightFeed().first_year()[:FLIGHTS]
    broken = {record.value for record in BROKEN_FLIGHTS}.intersection(values)
    flights = [json.loads(value) for value in values if value not in broken]
    terminal.share_driver()
    terminal.lakehouse("up")
    try:
        sent = send_flights(terminal.kafka, values)
    finally:
        terminal.lakehouse("down")
    first = terminal.start("run", "--no-demo")
    good = f"{len(flights):,}"
    parts = f"{good} in raw.flights + {len(broken)} in quarantine.flights"
    assert f"{FLIGHTS:,} messages of topic flights = {parts}" in first
    assert "flights of 2013" not in first, "what is known of the demo is for who loads all of it"
    changes = f"{sent['flight_changes']:,}"
    assert f"{changes} messages of topic flight_changes = {changes} in changelog.flights + 0 in" in first
    assert "All 6 derived tables are of runtime date" in first
    assert "0 failed" in first
    assert "≠" not in first
    for reported in ("not_json", "unknown_route", "that no row of raw.planes has", "?view=checks&checkDetail="):
        assert reported in first
    assert "Every promise holds" in terminal.lakehouse("audit")
    shown = json.loads(terminal.lakehouse("release", "show", "analytics", "--json"))
    assert [(member["table"], member["rows"]) for member in shown["members"]][-1] == ("features.training", len(flights))


@pytest.mark.soak
def test_the_demo_lands_and_a_second_run_adds_nothing(terminal: Terminal) -> None:
    first = terminal.lakehouse("run")
    assert "336,783 messages of topic flights = 336,776 in raw.flights + 7 in quarantine.flights" in first
    assert "336,776 flights of 2013 = 336,776 rows in raw.flights + 0 in quarantine" in first
    assert "336,776 flights scheduled = 328,521 rows in mirror.flights + 8,255 cancelled and deleted" in first
    assert "1,009,870 messages of topic flight_changes = 1,009,870 in changelog.flights + 0 in" in first
    for table, rows in (("weather", "26,115"), ("planes", "3,322"), ("airports", "1,458"), ("airlines", "16")):
        assert f"{rows} in raw.{table}" in first
    assert "336,776 flights in raw.flights = 336,776 rows in features.training" in first
    assert "All 6 derived tables are of runtime date" in first
    # Known gaps of the data, which are warnings by declaration, with their size.
    assert "50,094 of 336,776 rows have one of 721 values of tailnum that no row of raw.planes has" in first
    assert "7,602 of 336,776 rows have one of 4 values of dest that no row of raw.airports has" in first
    assert "http://127.0.0.1:3000/assets/raw/planes?view=checks&checkDetail=histogram_year" in first
    for reason in ("not_json", "not_an_object", "wrong_type", "missing_field", "out_of_range", "unknown_route"):
        assert reason in first
    assert "0 failed" in first
    shown = json.loads(terminal.lakehouse("release", "show", "analytics", "--json"))
    assert [(member["table"], member["rows"]) for member in shown["members"]][-1] == ("features.training", 336_776)
    assert "no row was added" in terminal.lakehouse("run")
    terminal.run_again_with_another_asset(first, days=1_095)
