"""What is given up is tallied as lost, and the position is the plan's end."""

from lakehouse.engines.kafka.statement import LOST
from lakehouse.engines.kafka.topics import PartitionRange, TopicState
from lakehouse.steps.ingest.plan import IngestPlan
from lakehouse.steps.ingest.report import WriteResult
from lakehouse.steps.ingest.step_statement import state


def test_a_range_that_is_stepped_over_is_lost_and_the_position_comes_after_it() -> None:
    topic = TopicState("t", "c", "id", {0: PartitionRange(0, 10), 1: PartitionRange(0, 3)})
    plan = IngestPlan(topic, {0: 0, 1: 0}, {0: 10, 1: 3}, None, made_at_ms=5, skipped={0: (4, 10)})
    statement = state(plan, WriteResult.nothing())
    assert statement.end == {0: 10, 1: 3}
    assert (statement.counts.lost, statement.tallies[LOST][0].count) == (6, 6)
    assert statement.valid_through_ms == 5
