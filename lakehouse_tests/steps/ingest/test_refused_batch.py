"""What stays of refused batches: the branches of the newest, and of nobody else's less than there was."""

import dataclasses
from datetime import timedelta
from pathlib import Path

import pytest

from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.cleanup.housekeeping import abandoned_branches
from lakehouse.protocol.commit import stage_files
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.history import last_seal
from lakehouse.steps.ingest.gate import TooMuchQuarantined
from lakehouse.steps.ingest.position import stored_position
from lakehouse.steps.ingest.refused_batch import REFUSED
from lakehouse.steps.ingest.step import IngestStep, keep_newest, seal_all
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.proofs.audit.simulated import A, SimulatedStream, to_a

REFUSAL = TooMuchQuarantined("Stream events: 9 of 9 records are not acceptable.")


@pytest.fixture
def events(tmp_path: Path) -> SimulatedStream:
    return SimulatedStream(open_catalog(sql_settings(tmp_path)))


def stage(events: SimulatedStream, *, step: str = "") -> IngestStep:
    """Rows on the branch of a new attempt, as after the workers have written them."""
    made = events.step()
    if step:
        made = dataclasses.replace(made, attempt=dataclasses.replace(made.attempt, step=step))
    bases = read_bases(events.catalog, events.tables)
    stage_files(events.catalog, bases[A], made.attempt, events.files(A, [(0, 7)], prefix=made.attempt.id))
    return made


def refuse(events: SimulatedStream, step: IngestStep) -> None:
    bases = read_bases(events.catalog, events.tables)
    previous = stored_position("events", bases)
    start = previous.end if previous else {}
    keep_newest(step, bases, KafkaStatement("c", "events", "t", start, {0: 9}).after(previous), REFUSAL)


def branches(events: SimulatedStream) -> set[str]:
    """Attempts with a branch of any of the tables."""
    tables = [events.load(name) for name in events.tables]
    return {left.branch for table in tables for left in abandoned_branches(table, older_than=timedelta(0))}


def files(events: SimulatedStream) -> int:
    return len(list(Path(events.load(A).location().removeprefix("file://")).glob("data/**/*.parquet")))


def test_of_refused_batches_the_newest_stays_with_its_reason(events: SimulatedStream) -> None:
    events.ingest({0: 4}, to_a)
    for _ in range(5):
        step = stage(events)
        refuse(events, step)
        assert branches(events) == {step.attempt.branch}
        assert files(events) == 2, "the published one, and the newest refused one"
    sealed = last_seal(events.load(A), step.attempt.branch)
    assert sealed is not None
    assert sealed.seal.kind == REFUSED
    assert sealed.seal.statement["refused.error"] == "TooMuchQuarantined"
    assert sealed.seal.statement["refused.reason"] == REFUSAL.message
    events.ingest({0: 3}, to_a)
    assert events.audit().holds


def test_branches_that_nobody_refused_are_left_alone(events: SimulatedStream) -> None:
    """A twin that is about to publish, a run that was killed before it sealed, and another stream's refused batch."""
    twin, killed, other = stage(events), stage(events), stage(events, step="ingest:others")
    refuse(events, other)
    bases = read_bases(events.catalog, events.tables)
    seal_all(twin, bases, KafkaStatement("c", "events", "t", {}, {0: 9}), {})
    step = stage(events)
    refuse(events, step)
    assert branches(events) == {writer.attempt.branch for writer in (twin, killed, other, step)}
