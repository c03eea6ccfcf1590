"""Maintenance waits for a stream that refuses: of tables that are not at one position.

Guarded mechanism: the trait `stream_refuses`, and the precondition that goes by it.
"""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.history import head_of
from lakehouse.steps.maintenance.log.history import History
from lakehouse.steps.maintenance.measure.stream_refusal import stream_refusal
from lakehouse.steps.maintenance.model.action import Operation
from lakehouse.steps.maintenance.model.preconditions import StreamRefuses, refusals
from lakehouse.steps.maintenance.plan.budget import Budget
from lakehouse.steps.maintenance.survey import TableSurvey
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.proofs.audit.simulated import A, SimulatedStream, to_a


@pytest.fixture
def events(tmp_path: Path) -> SimulatedStream:
    return SimulatedStream(open_catalog(sql_settings(tmp_path)))


def waiting(events: SimulatedStream, table: str) -> set[str]:
    """The operations that wait for the table's stream."""
    declared = events.declarations.tables[table]
    survey = TableSurvey(
        catalog=events.catalog,
        declarations=events.declarations,
        memory=History(),
        budget=Budget(),
        now=datetime.now(UTC),
    )
    looked = survey.look(declared)
    assert looked is not None
    return {
        operation.value
        for operation in Operation
        if any(isinstance(trap, StreamRefuses) for trap in refusals(looked.state, declared.maintenance, operation))
    }


def test_all_tables_of_a_stream_wait_while_one_was_rolled_back_alone(events: SimulatedStream) -> None:
    events.ingest({0: 2}, to_a)
    first = head_of(events.load(A))
    assert first
    events.ingest({0: 2}, to_a)
    assert stream_refusal(events.catalog, events.declarations, A) == ""
    newest = head_of(events.load(A))
    assert newest
    events.load(A).manage_snapshots().set_current_snapshot(first).commit()
    for table in events.tables:
        assert waiting(events, table) == {"deduplicate", "rewrite", "manifests", "expire"}
    events.load(A).manage_snapshots().set_current_snapshot(newest).commit()
    assert [waiting(events, table) for table in events.tables] == [set()] * len(events.tables)
