"""Every step on keys that a catalog lends and that end: by Spark, by our workers and by the driver.

No client has a key of the store. What is lent ends after a minute, so it is renewed in each step that takes longer.
"""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lakehouse.acceptance import TRIALS, carry_out, scratch
from lakehouse.acceptance.messages import orders
from lakehouse.acceptance.scratch import Scratch
from lakehouse.engines.kafka import send
from lakehouse.proofs.audit import audit_stream
from lakehouse.settings import KafkaSettings, Settings
from lakehouse.steps.ingest.ingest_step import IngestStep
from lakehouse.steps.ingest.step import ingest
from lakehouse.steps.ingest.workers.lent_credentials import CredentialsEnded
from lakehouse.steps.ingest.workers.work import make_task
from lakehouse.steps.ingest.workers.worker import IngestTask
from lakehouse_tests.clouds.connected import connected_to
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.lent_store import LendingCatalog

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.rest, pytest.mark.slow, pytest.mark.timeout(900)]
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


def _ingest(place: Scratch) -> None:
    stream = place.declarations.streams[f"{place.namespace}_orders"]
    step = IngestStep(
        stream=stream,
        declarations=place.declarations,
        catalog=place.catalog,
        kafka=place.settings.kafka,
        limits=place.settings.ingest,
        session=place.session,
        attempt=place.attempt(f"ingest:{stream.name}"),
        inform=lambda message: None,
    )
    ingest(step)


def _rows(place: Scratch) -> list[int]:
    table = place.catalog.load_table(place.name("orders"))
    return sorted(table.scan(selected_fields=("order_id",)).to_arrow()["order_id"].to_pylist())


def _let_keys_end(monkeypatch: pytest.MonkeyPatch, *, times: int) -> None:
    """Workers are slow to begin: by then what they were given has ended."""
    left = [_FEW_SECONDS] * times

    def slow(*arguments: Any) -> IngestTask:
        task = make_task(*arguments)
        time.sleep(left.pop() if left else 0)
        return task

    monkeypatch.setattr("lakehouse.steps.ingest.workers.reading.make_task", slow)


def test_every_promise_holds_on_keys_that_end(
    lending_catalog: LendingCatalog, connected: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lending_catalog.seconds = _KEY_SECONDS
    with scratch(connected, 60, lambda _: None, {}) as place:
        outcomes = list(carry_out(place, 600, _TRIED))
        assert {outcome.trial: outcome.evidence for outcome in outcomes if outcome.verdict != "seen"} == {}
        assert lending_catalog.refreshes  # Spark has asked, too

        send(connected.kafka, place.orders_topic, orders(60, 5))
        before = _rows(place)
        lending_catalog.seconds = _FEW_SECONDS
        _let_keys_end(monkeypatch, times=2)
        with pytest.raises(CredentialsEnded):
            _ingest(place)
        assert _rows(place) == before
        _let_keys_end(monkeypatch, times=1)
        _ingest(place)
        assert _rows(place) == [*before, *range(60, 65)]
        stream = place.declarations.streams[f"{place.namespace}_orders"]
        proof = audit_stream(place.catalog, stream.name, (*stream.tables, stream.quarantine_table), scan=True)
        assert proof.holds, proof.findings
    events = [path for path in (tmp_path / "events").rglob("*") if path.is_file()]
    assert events
    logs = [path for path in connected.state.logs.rglob("*") if path.is_file()]
    assert [path.name for path in [*events, *logs] if _SECRETS.search(path.read_bytes())] == []


@pytest.mark.soak
def test_runs_of_several_minutes_on_keys_of_one(lending_catalog: LendingCatalog, connected: Settings) -> None:
    lending_catalog.seconds = _KEY_SECONDS
    begun, sent = time.monotonic(), 0
    with scratch(connected, 60, lambda _: None, {}) as place:
        while time.monotonic() - begun < 6 * _KEY_SECONDS:
            send(connected.kafka, place.orders_topic, orders(sent, 200_000))
            sent += 200_000
            _ingest(place)
        assert _rows(place) == list(range(sent))
