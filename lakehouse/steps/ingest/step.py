"""The story of one ingest: plan, read and write once, stage, seal, audit, publish.

All tables of a stream and its quarantine change in one publish. There is no other state: if this process dies anywhere
before the publish, the next run finds the old position and plans the same offsets again.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import structlog
from pyspark.sql import SparkSession

from lakehouse import seal_keys
from lakehouse.contracts.rules import compile_rules
from lakehouse.declarations import Declarations, Stream, ToNamed, names_schema
from lakehouse.engines.kafka import TopicState
from lakehouse.engines.kafka.several_topics.stream_topics import (
    again,
    mean_record_bytes,
    oversized_record,
    read_stream_topics,
)
from lakehouse.engines.kafka.statement import Counts, KafkaStatement
from lakehouse.engines.kafka.truncation import with_truncation
from lakehouse.errors import LakehouseError
from lakehouse.proofs.audit.absence import joined_key
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit import Published, Staged, publish, seal_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.seal import Seal
from lakehouse.quantities import quantity
from lakehouse.settings import IngestSettings, KafkaSettings
from lakehouse.steps.ingest.completeness import compare, require_whole
from lakehouse.steps.ingest.duplicates.drop import without_duplicates
from lakehouse.steps.ingest.evolve.changes import MOST_ROUNDS, TableChanges, TablesChange, carry_out, wanted_changes
from lakehouse.steps.ingest.evolve.evolved_tables import as_evolved
from lakehouse.steps.ingest.gate import refused_ends, require_acceptable
from lakehouse.steps.ingest.plan import IngestPlan, plan_range, require_retained, require_unchanged
from lakehouse.steps.ingest.position import first_offsets, joining, stored_position
from lakehouse.steps.ingest.position_mirror import mirror_position
from lakehouse.steps.ingest.read.readable import PlanReader, Readable, read_what_can_be_read
from lakehouse.steps.ingest.read.unreadable import OffsetsUnreadable
from lakehouse.steps.ingest.record_limit import record_limit
from lakehouse.steps.ingest.refused_batch import REFUSED, BatchRefused, drop_older, reason_of
from lakehouse.steps.ingest.report import IngestReport, WriteResult
from lakehouse.steps.ingest.routes.blame import tables_to_blame
from lakehouse.steps.ingest.routes.loadable import load_tables_of
from lakehouse.steps.ingest.routes.made_tables import made_tables, make_tables_for, sealed_tables, with_tables_of
from lakehouse.steps.ingest.routes.stopping import (
    Stop,
    reasons,
    require_applied_or_stop,
    require_one_that_goes_on,
    sealed_stops,
    stopped_before,
)
from lakehouse.steps.ingest.staged_audit import require_staged
from lakehouse.steps.ingest.step_statement import state
from lakehouse.steps.ingest.workers.registered import remembered_ids
from lakehouse.steps.ingest.workers.work import IngestWork, remove_written
from lakehouse.steps.ingest.write_result import stage_tables

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class IngestStep:
    """What an ingest needs. `session` opens Spark, and only when there is something to read.

    Attributes:
        follows: whether tables may still change with their records.
        evolved: table → how it was changed in this step already.
        stopped: table → why it takes no records, and until when.
        created: tables that were made in this step already because records name them.
        unmakeable: table that records name → why it cannot be made.
    """

    stream: Stream
    declarations: Declarations
    catalog: LakeCatalog
    kafka: KafkaSettings
    limits: IngestSettings
    session: Callable[[], AbstractContextManager[SparkSession]]
    attempt: Attempt
    inform: Callable[[str], None] = field(default=lambda message: log.info("ingest", detail=message))
    follows: bool = True
    evolved: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    stopped: Mapping[str, Stop] = field(default_factory=dict[str, Stop])
    created: tuple[str, ...] = ()
    unmakeable: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def tables(self) -> tuple[str, ...]:
        """All tables that the step writes, quarantine last."""
        return (*self.stream.tables, self.stream.quarantine_table)


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


def with_named_tables(step: IngestStep) -> IngestStep:
    """The step with the tables that its stream has made because records name them."""
    if not isinstance(step.stream.route, ToNamed):
        return step
    names = dict.fromkeys((*made_tables(step.catalog, step.stream), *step.created))
    declarations = with_tables_of(step.declarations, step.stream, names)
    return replace(step, declarations=declarations, stream=declarations.streams[step.stream.name])


def after_changes(step: IngestStep, changes: TableChanges) -> IngestStep:
    """The step as it begins again, after tables were changed or stopped."""
    done = carry_out(step.catalog, changes)
    for name, lines in done.items():
        step.inform(f"{step.stream.name}: {name} follows its records: {'; '.join(lines)}")
    for name, stop in changes.stopped.items():
        step.inform(f"{step.stream.name}: {name} takes no records any more: {stop.reason}")
    if changes.unmade:
        named = make_tables_for(step.catalog, step.stream, step.declarations, changes.unmade)
        for name in named.made:
            step.inform(f"{step.stream.name}: created table {name}")
        for name, reason in named.refused.items():
            step.inform(f"{step.stream.name}: no table {name}: {reason}")
        created, unmakeable = (*step.created, *named.made), {**step.unmakeable, **named.refused}
        step = replace(step, created=created, unmakeable=unmakeable)
    evolved = {name: [*step.evolved.get(name, ()), *lines] for name, lines in done.items()}
    return replace(step, evolved={**step.evolved, **evolved}, stopped={**step.stopped, **changes.stopped})


def with_stopped(
    step: IngestStep, bases: Mapping[str, Base], unloaded: Mapping[str, LakehouseError] | None = None
) -> IngestStep:
    """The step with the tables that take no records: stopped by a run before, not there, or not as they are declared.

    Args:
        step: as it begins.
        bases: the tables that take part.
        unloaded: table → why it cannot be written to at all.

    Raises:
        NotApplied: a table that the others cannot go on without is not as declared.
        WouldLoseData: such a table cannot become what is declared.
    """
    wrong = {**(unloaded or {}), **require_applied_or_stop(step.stream, step.declarations, bases)}
    require_one_that_goes_on(step.stream, step.declarations, wrong)
    before = stopped_before(step.stream, step.declarations, bases)
    return replace(step, stopped={**before, **step.stopped, **{name: Stop(str(e)) for name, e in wrong.items()}})


def _ingest(step: IngestStep) -> IngestReport:
    began = time.monotonic()
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
        require_unchanged(step.stream.name, plan, topic)
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


def verdicts(step: IngestStep, landed: WriteResult, bases: Mapping[str, Base]) -> dict[str, dict[str, str]]:
    """Table → what its seal says beside Kafka's part, so that a check can report it without reading a row.

    Key `quality.rules`: JSON, rule → severity and how many records broke it. What broke a blocking rule, or could not
    be decoded, is told by the quarantine's seal.

    Key `changes.operations`, in a stream of changes: JSON, changelog → operation → rows of this step.

    Key `dropped.rules`, where any did: JSON, declared rule → table → records that it has dropped.

    Key `evolution.changes`, where any were made: JSON, table → how its columns were changed before this step wrote.

    Key `evolution.stopped`, where a table takes no records: JSON, table → why, and a digest of its declaration.

    Keys `format.schemas` and `format.extra_fields`, where there are any: JSON, schema id or field → records. Key
    `format.known_schemas`: the ids of these records and of those before, for the next run to begin with.
    """
    by_table: dict[str, dict[str, dict[str, str | int]]] = {
        step.stream.quarantine_table: {
            reason: {"severity": "error", "broken": times} for reason, times in landed.errors.items()
        }
    }
    for name in step.stream.tables:
        rules = compile_rules(step.declarations.tables[name].without_coordinates())
        by_table[name] = {f"{rule.column}: {rule.name}": {"severity": "error", "broken": 0} for rule in rules.blocking}
        for rule, times in landed.warnings.get(name, {}).items():
            by_table[name][rule] = {"severity": "warning", "broken": times}
    known = remembered_ids(bases, landed.schemas) if names_schema(step.stream.format) else []
    shared: dict[str, Any] = {
        **({seal_keys.CHANGES_OPERATIONS: landed.operations} if step.stream.changes else {}),
        **({seal_keys.DROPPED_RULES: landed.dropped} if landed.dropped else {}),
        **({seal_keys.EVOLUTION_CHANGES: step.evolved} if step.evolved else {}),
        **({seal_keys.EVOLUTION_STOPPED: sealed_stops(step.declarations, step.stopped)} if step.stopped else {}),
        **({seal_keys.FORMAT_SCHEMAS: landed.schemas} if landed.schemas else {}),
        **({seal_keys.FORMAT_KNOWN_SCHEMAS: known} if known else {}),
        **({seal_keys.FORMAT_EXTRA_FIELDS: landed.extra} if landed.extra else {}),
    }
    keys = {key: msgspec.json.encode(value, order="sorted").decode() for key, value in shared.items()}
    return {
        name: {seal_keys.QUALITY_RULES: msgspec.json.encode(rules).decode(), **keys} for name, rules in by_table.items()
    }


def seal_all(
    step: IngestStep,
    bases: Mapping[str, Base],
    statement: KafkaStatement,
    extra_keys: Mapping[str, Mapping[str, str]],
    *,
    kind: str = "ingest",
) -> list[Staged]:
    """Seal every table of the step, also those that received nothing; `extra_keys` are for one table each.

    A table that comes back to the stream says what it missed.
    """
    joined_keys = {name: joined_key(missed) for name, missed in joining(bases).items()}
    named = sealed_tables(step.stream)
    return [
        seal_branch(
            step.catalog,
            base,
            step.attempt,
            Seal.of(
                step.attempt,
                kind,
                statement={**statement.to_keys(), **joined_keys.get(name, {}), **named, **extra_keys.get(name, {})},
                previous=base.sealed.seal if base.sealed else None,
            ),
        )
        for name, base in bases.items()
    ]


__all__ = ["IngestStep", "Published", "ingest"]
