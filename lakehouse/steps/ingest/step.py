"""The story of one ingest: plan, read and write once, stage, seal, audit, publish.

All tables of a stream and its quarantine change in one publish. There is no other state: if this process dies anywhere
before the publish, the next run finds the old position and plans the same offsets again.
"""

import time
from collections.abc import Mapping
from dataclasses import replace

from lakehouse.engines.kafka import TopicState
from lakehouse.engines.kafka.several_topics.stream_topics import (
    again,
    mean_record_bytes,
    oversized_record,
    read_stream_topics,
)
from lakehouse.engines.kafka.statement import Counts, KafkaStatement
from lakehouse.engines.kafka.truncation import with_truncation
from lakehouse.protocol.commit import publish
from lakehouse.protocol.completion.completion import complete_publish
from lakehouse.protocol.seals.base import Base
from lakehouse.quantities import quantity
from lakehouse.steps.ingest.completeness import compare, require_whole
from lakehouse.steps.ingest.duplicates.drop import without_duplicates
from lakehouse.steps.ingest.evolve.changes import MOST_ROUNDS, TableChanges, TablesChange, wanted_changes
from lakehouse.steps.ingest.evolve.evolved_tables import as_evolved
from lakehouse.steps.ingest.gate import refused_ends, require_acceptable
from lakehouse.steps.ingest.ingest_step import IngestStep, after_changes, with_named_tables, with_stopped
from lakehouse.steps.ingest.plan import IngestPlan, plan_range, require_retained
from lakehouse.steps.ingest.position import first_offsets, stored_position
from lakehouse.steps.ingest.position_mirror import mirror_position
from lakehouse.steps.ingest.read.readable import PlanReader, Readable, read_what_can_be_read
from lakehouse.steps.ingest.read.unreadable import OffsetsUnreadable
from lakehouse.steps.ingest.record_limit import record_limit
from lakehouse.steps.ingest.refused_batch import REFUSED, BatchRefused, drop_older, reason_of
from lakehouse.steps.ingest.report import IngestReport, WriteResult
from lakehouse.steps.ingest.routes.blame import tables_to_blame
from lakehouse.steps.ingest.routes.loadable import load_tables_of
from lakehouse.steps.ingest.routes.stopping import reasons
from lakehouse.steps.ingest.sealing.seal_tables import seal_all
from lakehouse.steps.ingest.sealing.staged_audit import require_staged
from lakehouse.steps.ingest.sealing.statement import state
from lakehouse.steps.ingest.sealing.verdicts import verdicts
from lakehouse.steps.ingest.topic_identity import require_unchanged
from lakehouse.steps.ingest.workers.reading import remove_written
from lakehouse.steps.ingest.workers.work import IngestWork
from lakehouse.steps.ingest.write_result import stage_tables


def ingest(step: IngestStep) -> IngestReport:
    """Land the next range of a stream in its tables, exactly once.

    Returns:
        What was done; `published` is None where there was nothing to do.

    Raises:
        NotApplied: a table is not as declared.
        IngestRefused: stored position and topic do not fit together, or do not any more; nothing was published.
        CannotRead: offsets cannot be read; what lies before them was published, and the error has the report.
        ReadDiffers: what was read is not what was planned; nothing was published.
        TooMuchQuarantined: more records were unacceptable than the stream allows; nothing was published.
        CommitError: the publish did not go through, for example `Superseded`; nothing was published.
    """
    for _ in range(MOST_ROUNDS):
        step = with_named_tables(step)
        try:
            return _ingest(step)
        except TablesChange as change:
            step = after_changes(step, change.changes)
    return _ingest(replace(with_named_tables(step), follows=False))


def _ingest(step: IngestStep) -> IngestReport:
    began = time.monotonic()
    for name in complete_publish(step.catalog, step.tables):
        step.inform(f"{step.stream.name}: {name} has what an attempt had staged for it, and stopped before")
    loaded = load_tables_of(step.catalog, step.stream, step.declarations)
    bases = loaded.bases
    step = with_stopped(step, bases, loaded.unloaded)
    for name, stop in step.stopped.items():
        step.inform(f"{step.stream.name}: {name} takes no records: {stop.reason}")
    plan = make_plan(step, bases)
    if not plan.needed:
        step.inform(f"{step.stream.name}: nothing new in {plan.topic.topic}")
        return IngestReport.idle(step.stream, plan, time.monotonic() - began)
    partitions = quantity(len(plan.ranges), "partition")
    step.inform(f"{step.stream.name}: {quantity(plan.offsets, 'offset')} of {plan.topic.topic} in {partitions}")
    readable = _land(step, plan, bases)
    plan, landed = readable.plan, readable.landed
    if readable.unreadable and (readable.spark_ended or not plan.needed):
        ended = readable.spark_ended
        raise OffsetsUnreadable(step.stream.name, plan.topic, readable.unreadable, None, spark_ended=ended)
    comparison = compare(step.stream.name, plan, landed, step.kafka)
    statement = state(plan, landed, comparison)
    step.inform(
        f"{step.stream.name}: {quantity(landed.counts.written, 'row')} and {landed.counts.quarantined:,} for "
        f"quarantine written, {time.monotonic() - began:.1f} s"
    )
    try:
        require_whole(comparison)
        require_acceptable(step.stream, landed, step.attempt.branch, refused_ends(plan, statement))
    except BatchRefused as refusal:
        keep_newest(step, bases, statement, refusal)
        raise
    staged = seal_all(step, bases, statement, verdicts(step, landed, bases))
    require_staged(step.catalog, staged, statement)
    published = publish(step.catalog, staged)
    step.inform(f"{step.stream.name}: published, {time.monotonic() - began:.1f} s in all")
    mirror = mirror_position(step.kafka, step.stream.name, plan.topic, plan.end)
    report = IngestReport.of(step.stream, plan, landed, statement, published, time.monotonic() - began, mirror)
    tables = {name: t for name, t in as_evolved(step.declarations, bases).tables.items() if name in bases}
    report = replace(report, evolved=step.evolved, stopped=reasons(step.stopped), tables=tables)
    if readable.unreadable:
        raise OffsetsUnreadable(step.stream.name, plan.topic, readable.unreadable, report)
    return report


def make_plan(step: IngestStep, bases: Mapping[str, Base]) -> IngestPlan:
    """Plan the next range from what the tables and the broker say.

    Raises:
        IngestRefused: they do not fit together.
    """
    previous = stored_position(step.stream.name, bases)
    topic = with_truncation(step.kafka, read_stream_topics(step.kafka, step.stream, previous), previous)
    for kind, names in (("no more there, or not declared", topic.absent), ("new in this stream", topic.joining)):
        if names:
            step.inform(f"{step.stream.name}: topics {kind}: {', '.join(sorted(names))}")
    first = first_offsets(step.stream, step.kafka, topic) if previous is None else {}
    max_records = record_limit(
        step.limits,
        topic.partitions,
        previous.end if previous else first,
        previous.total_counts if previous else Counts(),
        lambda starts: mean_record_bytes(step.kafka, topic, starts),
    )
    return plan_range(step.stream.name, previous, topic, first=first, max_records=max_records)


def _land(step: IngestStep, plan: IngestPlan, bases: Mapping[str, Base]) -> Readable:
    def look() -> TopicState:
        topic = again(step.kafka, plan.topic)
        require_unchanged(step.stream.name, plan.topic, plan.ranges, topic)
        return topic

    if not plan.ranges:
        return Readable(plan, WriteResult.nothing())
    with step.session() as spark:
        work = IngestWork(
            *(plan, step.stream, step.declarations, bases, step.attempt),
            stopped=reasons(step.stopped),
            unmakeable=step.unmakeable,
        )
        reading = PlanReader(spark, step.kafka, work, step.limits.min_partitions)
        readable = read_what_can_be_read(
            *(plan, reading.land, reading.attempt),
            look=lambda: require_retained(step.stream.name, plan, look()),
            oversized=lambda plan: oversized_record(step.kafka, plan.topic, plan.ranges),
            inform=step.inform,
        )
        look()
        changes = step.follows and (
            TableChanges(unmade=readable.landed.unmade)
            or wanted_changes(step.stream, as_evolved(work.declarations, bases), readable.landed)
        )
        if changes:
            remove_written(work, readable.landed)
            raise TablesChange(changes)
        if blamed := tables_to_blame(step.stream, step.declarations, readable.plan, readable.landed):
            remove_written(work, readable.landed)
            raise TablesChange(TableChanges(stopped=blamed))
        landed = without_duplicates(spark, step.declarations, bases, readable.landed)
        stage_tables(spark, step.catalog, bases, step.attempt, landed)
    return replace(readable, landed=landed)


def keep_newest(step: IngestStep, bases: Mapping[str, Base], statement: KafkaStatement, refusal: BatchRefused) -> None:
    """Seal the branches of a refused batch with the reason, and remove those of the batches refused before it."""
    keys = reason_of(refusal)
    seal_all(step, bases, statement, dict.fromkeys(bases, keys), kind=REFUSED)
    for branch in drop_older(step.catalog, bases, step.attempt):
        step.inform(f"{step.stream.name}: removed {branch}, which was refused before")
