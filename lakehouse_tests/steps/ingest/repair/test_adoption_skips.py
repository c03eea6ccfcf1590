"""Adopting rows moves no stream past offsets that nobody has read: what is given up is in the loss ledger.

Guarded mechanism: the ranges that would be skipped.
"""

import pytest

from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.refusals import OffsetsSkipped
from lakehouse.steps.ingest.repair import adoption as module
from lakehouse.steps.ingest.repair.adoption import Adoption, adopt, find_adoption
from lakehouse.steps.ingest.repair.go_on import GoOnFrom
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.proofs.audit.simulated import A, SimulatedStream, to_a

ROWS, EARLIEST, LATEST = GoOnFrom.ROWS, GoOnFrom.EARLIEST, GoOnFrom.LATEST


@pytest.fixture
def events(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> SimulatedStream:
    """Ten records are read, and a row was appended by hand."""
    stream = SimulatedStream(open_catalog(sql_lake.settings))
    monkeypatch.setattr(module, "read_stream_topics", lambda kafka, declared, previous: stream.topic())
    stream.ingest({0: 10}, to_a)
    stream.append(A, [(0, 3)])
    return stream


def adopted(events: SimulatedStream, go_on_from: GoOnFrom = ROWS) -> Adoption:
    step = events.step("adopting")
    bases = read_bases(events.catalog, events.tables)
    adoption = find_adoption(step, bases, go_on_from)
    adopt(step, bases, adoption)
    return adoption


@pytest.mark.parametrize(
    ("go_on_from", "skipped"),
    [(LATEST, r"partition 0 offsets \[10, 17\)"), (EARLIEST, r"partition 0 offsets \[10, 14\)")],
)
def test_a_stream_with_a_position_passes_over_no_offset(
    events: SimulatedStream, go_on_from: GoOnFrom, skipped: str
) -> None:
    """Neither what is unread nor what retention took: what is given up is in the loss ledger."""
    events.ends, events.earliest = {0: 17, 1: 0}, {0: 14}
    before = events.load(A).metadata_location
    with pytest.raises(OffsetsSkipped, match=f"skip {skipped} of topic .*adopt with `--from rows`.*accept-loss events"):
        adopted(events, go_on_from)
    assert events.load(A).metadata_location == before
    assert adopted(events).statement.end == {0: 10, 1: 0}


def test_an_end_of_the_log_that_lies_before_the_position_skips_nothing(events: SimulatedStream) -> None:
    assert adopted(events, EARLIEST).statement.end == {0: 0, 1: 0}


def test_another_topic_is_read_from_its_beginning(events: SimulatedStream) -> None:
    events.topic_id = "another"
    with pytest.raises(OffsetsSkipped, match="adopt with `--from earliest`"):
        adopted(events, LATEST)
