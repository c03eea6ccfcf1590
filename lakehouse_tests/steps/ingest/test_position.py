"""What an ingest asks its own tables before it reads: no broker, no Spark.

Guarded mechanisms: the sibling check, rows and commits that no seal accounts for, and an emptied table. What the broker
says is in `test_plan`, the quarantine gate in `test_gate`, the audit of what was staged in `test_staged_audit`.
"""

from pathlib import Path

import pytest

from lakehouse.declarations import Start, Stream, ToTable, apply, plan
from lakehouse.engines.kafka.topics import PartitionRange, TopicState
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.history import head_of
from lakehouse.settings import KafkaSettings
from lakehouse.steps.ingest.position import first_offsets, stored_position
from lakehouse.steps.ingest.refusals import (
    IngestRefused,
    PositionsDiffer,
    RowsWithoutSeal,
    TableEmptied,
    UnsealedCommit,
)
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


@pytest.mark.parametrize(
    ("start", "expected"),
    [(Start.earliest(), {}), (Start.latest(), {0: 8, 1: 3}), (Start.offsets({1: 2}), {1: 2})],
    ids=["earliest", "latest", "offsets"],
)
def test_a_stream_without_position_begins_where_it_declares(start: Start, expected: dict[int, int]) -> None:
    """The latest is where the next committed record comes."""
    stream = Stream(name="things", topic="things", route=ToTable("raw.things"), start=start)
    topic = TopicState("things", "c", "t", {0: PartitionRange(0, 8), 1: PartitionRange(0, 3)})
    assert first_offsets(stream, KafkaSettings(bootstrap_servers="127.0.0.1:1"), topic) == expected
