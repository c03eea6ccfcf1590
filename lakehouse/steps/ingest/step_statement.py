"""What every table of an ingest will say of Kafka, made of the plan and of what the workers have counted."""

from lakehouse.engines.kafka.statement import LOST, Counts, KafkaStatement
from lakehouse.engines.kafka.tally import Tally
from lakehouse.steps.ingest.completeness import Completeness
from lakehouse.steps.ingest.plan import IngestPlan
from lakehouse.steps.ingest.received import last_refused
from lakehouse.steps.ingest.report import WriteResult


def state(plan: IngestPlan, landed: WriteResult, comparison: Completeness | None = None) -> KafkaStatement:
    """Make the statement that every table of the step will carry."""
    at_end = plan.lag_after == 0
    refused = (plan.previous.refused_last if plan.previous else None) or {}
    refused_last = {
        partition: last_refused(landed.received.get(partition, []), refused.get(partition, 0)) for partition in plan.end
    }
    lost = {partition: Tally.of_range(*span) for partition, span in plan.skipped.items()}
    return KafkaStatement(
        cluster_id=plan.topic.cluster_id,
        topic=plan.topic.topic,
        topic_id=plan.topic.topic_id,
        topics=plan.topic.topics,
        leader_epochs=plan.topic.leader_epochs,
        start=plan.start,
        end=plan.end,
        tallies={**landed.tallies, LOST: lost} if lost else landed.tallies,
        lost={partition: [span] for partition, span in plan.skipped.items()},
        counts=landed.counts + Counts(lost=sum(tally.count for tally in lost.values())),
        valid_through_ms=plan.made_at_ms if at_end else 0,
        refused_last={partition: times for partition, times in refused_last.items() if times},
        without_record=comparison.without_record if comparison else None,
        because=comparison.because if comparison else "",
    ).after(plan.previous)
