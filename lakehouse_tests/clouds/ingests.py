"""Ingests of orders into a scratch namespace, where what workers were lent ends before they use it."""

import time
from typing import Any

import pytest

from lakehouse.acceptance.scratch import Scratch
from lakehouse.proofs.audit import audit_stream
from lakehouse.steps.ingest.ingest_step import IngestStep
from lakehouse.steps.ingest.step import ingest
from lakehouse.steps.ingest.workers.work import make_task
from lakehouse.steps.ingest.workers.worker import IngestTask


def ingest_orders(place: Scratch) -> None:
    """Bring what was sent into the table."""
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


def order_ids(place: Scratch) -> list[int]:
    """Of the orders that are published, sorted."""
    table = place.catalog.load_table(place.name("orders"))
    return sorted(table.scan(selected_fields=("order_id",)).to_arrow()["order_id"].to_pylist())


def require_exactly_once(place: Scratch) -> None:
    """Each record is there once, proven from metadata and by a scan."""
    stream = place.declarations.streams[f"{place.namespace}_orders"]
    proof = audit_stream(place.catalog, stream.name, (*stream.tables, stream.quarantine_table), scan=True)
    assert proof.holds, proof.findings


def let_keys_end(monkeypatch: pytest.MonkeyPatch, seconds: float, *, times: int) -> None:
    """Workers are slow to begin, so many times: by then what they were given has ended."""
    left = [seconds] * times

    def slow(*arguments: Any) -> IngestTask:
        task = make_task(*arguments)
        time.sleep(left.pop() if left else 0)
        return task

    monkeypatch.setattr("lakehouse.steps.ingest.workers.reading.make_task", slow)
