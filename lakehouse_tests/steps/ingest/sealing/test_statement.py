"""What a seal says of the range that a step has read."""

from dataclasses import replace

from lakehouse.engines.kafka.statement import LOST, Counts
from lakehouse.engines.kafka.topics import PartitionRange, TopicState
from lakehouse.steps.ingest.plan import IngestPlan
from lakehouse.steps.ingest.received import Stretch
from lakehouse.steps.ingest.report import WriteResult
from lakehouse.steps.ingest.sealing.statement import state
from lakehouse_tests.steps.ingest.workers.tasks import TOPIC

PLAN = IngestPlan(TOPIC, {0: 0}, {0: 9}, None, made_at_ms=77)


def test_what_was_skipped_is_lost_and_counted() -> None:
    statement = state(replace(PLAN, skipped={0: (2, 5)}), WriteResult({}, {}, Counts(read=6, written=6)))
    assert (statement.counts.lost, statement.tallies[LOST][0].total, statement.lost) == (3, 2 + 3 + 4, {0: [(2, 5)]})


def test_it_is_valid_through_its_plan_if_nothing_is_left() -> None:
    assert state(PLAN, WriteResult.nothing()).valid_through_ms == 77
    assert state(replace(PLAN, end={0: 8}), WriteResult.nothing()).valid_through_ms == 0


def test_records_refused_at_the_end_go_on_from_the_seal_before() -> None:
    landed = replace(WriteResult.nothing(), received={0: [Stretch(0, 8, 9, judged=9, refused=9)]})
    first = state(PLAN, landed)
    assert first.refused_last == {0: 9}
    assert state(replace(PLAN, previous=first, start={0: 9}), landed).refused_last == {0: 18}


def test_a_range_that_is_stepped_over_is_lost_and_the_position_comes_after_it() -> None:
    topic = TopicState("t", "c", "id", {0: PartitionRange(0, 10), 1: PartitionRange(0, 3)})
    plan = IngestPlan(topic, {0: 0, 1: 0}, {0: 10, 1: 3}, None, made_at_ms=5, skipped={0: (4, 10)})
    statement = state(plan, WriteResult.nothing())
    assert statement.end == {0: 10, 1: 3}
    assert (statement.counts.lost, statement.tallies[LOST][0].count) == (6, 6)
    assert statement.valid_through_ms == 5
