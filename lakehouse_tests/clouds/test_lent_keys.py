"""Every step on keys that a catalog lends and that end: by Spark, by our workers and by the driver.

No client has a key of the store. What is lent ends after a minute, so it is renewed in each step that takes longer.
"""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakehouse.acceptance import TRIALS, carry_out, scratch
from lakehouse.acceptance.messages import orders
from lakehouse.engines.kafka import send
from lakehouse.settings import KafkaSettings, Settings
from lakehouse.steps.ingest.workers.lent_credentials import CredentialsEnded
from lakehouse_tests.clouds.connected import connected_to
from lakehouse_tests.clouds.ingests import ingest_orders, let_keys_end, order_ids, require_exactly_once
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.lent_store import LendingCatalog

pytestmark = [pytest.mark.soak, pytest.mark.spark, pytest.mark.kafka, pytest.mark.rest, pytest.mark.timeout(900)]
_KEY_SECONDS = 60
_FEW_SECONDS = 10
# A process of its own would have to be told the login of this test's catalog: the kills are in other tests.
_TRIED = [trial for trial in TRIALS if trial.name != "kill"]
_SECRETS = re.compile(rb"(secret|token|planted|bearer)-[0-9a-f]{32}")


@pytest.fixture
def connected(lent_lake: Lake, tmp_path: Path, jars: Path, broker: KafkaSettings) -> Iterator[Settings]:
    """Spark that has no key of the store, and writes down what it does."""
    (tmp_path / "events").mkdir()
    events = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": (tmp_path / "events").as_uri()}
    with connected_to(lent_lake, tmp_path, jars, broker, events) as settings:
        yield settings


def test_every_promise_holds_on_keys_that_end(
    lending_catalog: LendingCatalog, connected: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lending_catalog.seconds = _KEY_SECONDS
    with scratch(connected, 60, lambda _: None, {}) as place:
        outcomes = list(carry_out(place, 600, _TRIED))
        assert {outcome.trial: outcome.evidence for outcome in outcomes if outcome.verdict != "seen"} == {}
        assert lending_catalog.refreshes  # Spark has asked, too

        send(connected.kafka, place.orders_topic, orders(60, 5))
        before = order_ids(place)
        lending_catalog.seconds = _FEW_SECONDS
        let_keys_end(monkeypatch, _FEW_SECONDS, times=2)
        with pytest.raises(CredentialsEnded):
            ingest_orders(place)
        assert order_ids(place) == before
        let_keys_end(monkeypatch, _FEW_SECONDS, times=1)
        ingest_orders(place)
        assert order_ids(place) == [*before, *range(60, 65)]
        require_exactly_once(place)
    events = [path for path in (tmp_path / "events").rglob("*") if path.is_file()]
    assert events
    logs = [path for path in connected.state.logs.rglob("*") if path.is_file()]
    assert [path.name for path in [*events, *logs] if _SECRETS.search(path.read_bytes())] == []


def test_runs_of_several_minutes_on_keys_of_one(lending_catalog: LendingCatalog, connected: Settings) -> None:
    lending_catalog.seconds = _KEY_SECONDS
    begun, sent = time.monotonic(), 0
    with scratch(connected, 60, lambda _: None, {}) as place:
        while time.monotonic() - begun < 6 * _KEY_SECONDS:
            send(connected.kafka, place.orders_topic, orders(sent, 200_000))
            sent += 200_000
            ingest_orders(place)
        assert order_ids(place) == list(range(sent))
