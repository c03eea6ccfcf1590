"""What an ingest asks its own tables before it reads, and before it publishes: no broker, no Spark.

Guarded mechanisms: the sibling check, rows and commits that no seal accounts for, an emptied table and the audit of
what was staged. What the broker says is in `test_plan`, the quarantine gate in `test_gate`.
"""

from pathlib import Path

import pytest

from lakehouse.declarations import apply, plan
from lakehouse.engines.kafka.statement import Counts, KafkaStatement
from lakehouse.engines.kafka.tally import Tally
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.commit import stage_files
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.history import head_of
from lakehouse.steps.ingest.position import stored_position
from lakehouse.steps.ingest.refusals import (
    IngestRefused,
    PositionsDiffer,
    RowsWithoutSeal,
    TableEmptied,
    UnsealedCommit,
)
from lakehouse.steps.ingest.staged_audit import StagedRowsDiffer, require_staged
from lakehouse.steps.ingest.step import seal_all
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.proofs.audit.simulated import A, SimulatedStream, to_a


@pytest.fixture
def events(tmp_path: Path) -> SimulatedStream:
    return SimulatedStream(open_catalog(sql_settings(tmp_path)))


def refused(events: SimulatedStream, refusal: type[IngestRefused]) -> None:
    with pytest.raises(refusal, match=A):
        stored_position("events", read_bases(events.catalog, events.tables))


def test_a_table_that_was_rolled_back_alone(events: SimulatedStream) -> None:
    events.ingest({0: 2}, to_a)
    first = head_of(events.load(A))
    assert first
    events.ingest({0: 2}, to_a)
    events.load(A).manage_snapshots().set_current_snapshot(first).commit()
    refused(events, PositionsDiffer)


def test_rows_without_a_seal_are_never_taken_for_offset_0(events: SimulatedStream) -> None:
    events.append(A, [(0, 0)])
    refused(events, RowsWithoutSeal)


def test_a_commit_after_the_last_seal(events: SimulatedStream) -> None:
    events.ingest({0: 2}, to_a)
    events.append(A, [(0, 9)])
    refused(events, UnsealedCommit)


def test_a_table_made_anew_beside_sealed_ones(events: SimulatedStream) -> None:
    events.ingest({0: 2}, to_a)
    events.catalog.drop_table(A)
    apply(plan(events.declarations.tables[A], events.catalog), events.catalog)
    refused(events, TableEmptied)


def test_fewer_rows_on_the_branch_than_were_counted(events: SimulatedStream) -> None:
    step, bases = events.step(), read_bases(events.catalog, events.tables)
    stage_files(events.catalog, bases[A], step.attempt, events.files(A, [(0, 0), (0, 1)]))
    counts = Counts(read=3, written=3)
    statement = KafkaStatement("c", "events", "t", {0: 0}, {0: 3}, {A: {0: Tally.of_range(0, 3)}}, counts=counts)
    with pytest.raises(StagedRowsDiffer, match="received 2 rows, the workers wrote 3"):
        require_staged(events.catalog, seal_all(step, bases, statement, {}), statement)
