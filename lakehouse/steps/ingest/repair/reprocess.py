"""Takes records up again that a stream has refused, after its declaration was widened or corrected.

They come from the quarantine, as Kafka gave them, through the same decoder, rules and writers as in an ingest. What is
acceptable now goes to its table and leaves the quarantine in one publish; the rest stays where it is. The seals count
what has moved, offset by offset, so that the audit goes on proving that each record is in one place.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from lakehouse import seal_keys
from lakehouse.engines.kafka.statement import Counts, KafkaStatement
from lakehouse.engines.kafka.tally import Tally
from lakehouse.engines.kafka.topics import TopicState
from lakehouse.errors import LakehouseError
from lakehouse.proofs.audit.chain import KIND_REPROCESS
from lakehouse.proofs.audit.coordinates import coordinates
from lakehouse.protocol.commit import Published, Staged, open_branch, publish, stage_files
from lakehouse.protocol.commit.stage import commit_on_branch
from lakehouse.protocol.failpoints import failpoint
from lakehouse.protocol.seals.base import Base
from lakehouse.steps.ingest.applied_tables import require_applied
from lakehouse.steps.ingest.parquet_files import unsupported
from lakehouse.steps.ingest.plan import IngestPlan
from lakehouse.steps.ingest.position import stored_position
from lakehouse.steps.ingest.received import TOMBSTONE
from lakehouse.steps.ingest.repair.refused_records import (
    RecordOffsets,
    Spans,
    places_of,
    refused_after,
    refused_places,
    refused_records,
)
from lakehouse.steps.ingest.report import WriteResult
from lakehouse.steps.ingest.staged_audit import StagedRowsDiffer, require_staged
from lakehouse.steps.ingest.step import IngestStep, seal_all, verdicts
from lakehouse.steps.ingest.workers.work import IngestWork, add_up, make_task
from lakehouse.steps.ingest.workers.worker import IngestTask, read_report
from lakehouse.steps.ingest.write_result import stage_tables

MOST_RECORDS = 100_000
"""So many are taken at a time: their places are in the seal."""


class NothingToReprocess(LakehouseError):
    """No record that is asked for is in the quarantine."""


class CannotReprocess(LakehouseError):
    """Records cannot be taken up again without a proof losing something."""


@dataclass(frozen=True)
class Reprocess:
    """What reprocessing means, seen from one load of the stream's tables.

    Args:
        places: of the records that are acceptable now.
        tombstones: how many of them were refused as records without a value.
        refused: error class → records that are still refused; they stay.
        left: records that this run does not look at, since it takes only so many at a time.
        shared: rows of the quarantine whose place another one shares; they stay.
        previous: what the tables say.
        reason: why a person does this.
        refused_last: partition → how many of its last records are refused still, see `KafkaStatement`.
    """

    places: RecordOffsets
    tombstones: int
    refused: Mapping[str, int]
    left: int
    shared: int
    previous: KafkaStatement
    reason: str = ""
    refused_last: dict[int, int] | None = None

    @property
    def count(self) -> int:
        """How many records are taken."""
        return self.places.count


def find_reprocess(
    step: IngestStep, bases: Mapping[str, Base], wanted: Spans | None = None, *, reason: str = ""
) -> Reprocess:
    """Look which records of the quarantine are acceptable by now; nothing is written.

    Args:
        step: of the stream.
        bases: all of its tables, loaded together.
        wanted: partition → ranges of offsets; None: every record of the quarantine.
        reason: for the seal.

    Raises:
        NotApplied: a table is not as declared.
        IngestRefused: the stream's tables do not agree.
        NothingToReprocess: the stream has not begun, or the quarantine has none of these records.
    """
    require_applied(step.declarations, bases)
    previous = stored_position(step.stream.name, bases)
    quarantine = bases[step.stream.quarantine_table]
    refused_offsets, shared = refused_places(quarantine, wanted)
    if previous is None or not (refused_offsets.count or shared):
        raise NothingToReprocess(
            f"{quarantine.name} holds none of the records that are asked for.",
            remedy="look at its columns _kafka_partition and _kafka_offset, and at the stream's declaration",
        )
    chosen = refused_offsets.first(MOST_RECORDS)
    task = _task(step, bases, previous)
    refused: Counter[str] = Counter()
    accepted: list[tuple[int, int, str]] = []
    for batch in refused_records(quarantine, chosen):
        errors = task.judge(batch)
        refused.update(error.error_class for error in errors.values())
        rows = zip(*(batch.column(name).to_pylist() for name in ("partition", "offset", "error_class")), strict=True)
        accepted += [record for row, record in enumerate(rows) if row not in errors]
    return Reprocess(
        places=places_of([partition for partition, _, _ in accepted], [offset for _, offset, _ in accepted]),
        tombstones=sum(error_class == TOMBSTONE for _, _, error_class in accepted),
        refused=dict(refused),
        left=refused_offsets.count - chosen.count,
        shared=shared,
        previous=previous,
        reason=reason,
        refused_last=_refused_last(quarantine, previous, accepted),
    )


def _refused_last(
    quarantine: Base, previous: KafkaStatement, taken: Sequence[tuple[int, int, str]]
) -> dict[int, int] | None:
    """What is refused after the last record that is taken: that one is among the last refused, or else all of them."""
    before = previous.refused_last
    if before is None:
        return None
    newest: dict[int, int] = {}
    for partition, offset, error_class in taken:
        if partition in before and error_class != TOMBSTONE:
            newest[partition] = max(offset, newest.get(partition, offset))
    after = refused_after(quarantine, newest)
    remaining = {
        partition: min(times, after.get(partition, 0)) if partition in newest else times
        for partition, times in before.items()
    }
    return {partition: times for partition, times in remaining.items() if times}


def reprocess(step: IngestStep, bases: Mapping[str, Base], selected: Reprocess) -> Published:
    """Land what was found acceptable, and take it out of the quarantine: all in one publish.

    Args:
        step: of the stream; its session is opened only where a layout is beyond the workers' writer.
        bases: those that it was found from.
        selected: what is taken; there must be something.

    Raises:
        CommitError: the publish did not go through, for example `Superseded` because an ingest or another reprocess
            came first; nothing was changed.
        StagedRowsDiffer: what was staged is not what was found; nothing was published.
    """
    landed = _write(step, bases, selected)
    _require_landed(step, selected, landed)
    _stage(step, bases, landed)
    quarantine = bases[step.stream.quarantine_table]
    open_branch(step.catalog, quarantine, step.attempt)
    commit_on_branch(
        step.catalog,
        quarantine,
        step.attempt.branch,
        lambda transaction: transaction.delete(
            selected.places.where, snapshot_properties=step.attempt.marks, branch=step.attempt.branch
        ),
    )
    failpoint("reprocess.staged")
    statement = state(step.stream.quarantine_table, selected, landed)
    reprocess_keys = {
        seal_keys.REPROCESS_OFFSETS: msgspec.json.encode(
            {str(partition): spans for partition, spans in selected.places.spans.items()}
        ).decode(),
        seal_keys.REPROCESS_REASON: selected.reason,
    }
    extra_keys = {name: {**keys, **reprocess_keys} for name, keys in verdicts(step, landed).items()}
    staged = seal_all(step, bases, statement, extra_keys, kind=KIND_REPROCESS)
    require_staged(step.catalog, staged, replace(statement, tallies=landed.tallies))
    _require_left(step, quarantine, staged, selected)
    return publish(step.catalog, staged)


def state(quarantine: str, selected: Reprocess, landed: WriteResult) -> KafkaStatement:
    """What every table will say: the position as it was, and which offsets have moved from the quarantine to where."""
    leaving = {partition: -tally for partition, tally in selected.places.tallies.items()}
    previous = selected.previous
    return KafkaStatement(
        cluster_id=previous.cluster_id,
        topic=previous.topic,
        topic_id=previous.topic_id,
        start=dict(previous.end),
        end=dict(previous.end),
        tallies={**landed.tallies, quarantine: leaving},
        counts=Counts(written=selected.count, quarantined=-selected.count, tombstones=-selected.tombstones),
        valid_through_ms=previous.valid_through_ms,
        reprocessed=landed.tallies,
        refused_last=selected.refused_last,
    ).after(previous)


def _plan(previous: KafkaStatement) -> IngestPlan:
    """Of no offset: what is worked on does not come from Kafka."""
    topic = TopicState(previous.topic, previous.cluster_id, previous.topic_id, {})
    return IngestPlan(topic, dict(previous.end), dict(previous.end), previous)


def _work(step: IngestStep, bases: Mapping[str, Base], previous: KafkaStatement) -> tuple[IngestWork, set[str]]:
    beyond = {name for name, base in bases.items() if unsupported(base.table.metadata) is not None}
    return IngestWork(_plan(previous), step.stream, step.declarations, bases, step.attempt), beyond


def _task(step: IngestStep, bases: Mapping[str, Base], previous: KafkaStatement) -> IngestTask:
    work, beyond = _work(step, bases, previous)
    return make_task(work, beyond)


def _write(step: IngestStep, bases: Mapping[str, Base], selected: Reprocess) -> WriteResult:
    """In this process, by what the workers run."""
    work, beyond = _work(step, bases, selected.previous)
    batches = refused_records(bases[step.stream.quarantine_table], selected.places)
    reports = [
        read_report(report)
        for batch in make_task(work, beyond).run(batches)
        for report in batch.column("report").to_pylist()
    ]
    return add_up(work, beyond, reports)


def _require_landed(step: IngestStep, selected: Reprocess, landed: WriteResult) -> None:
    """Each record that was found acceptable was written to one table, once."""
    expected, written = selected.places.tallies, dict[int, Tally]()
    for name, by_partition in landed.tallies.items():
        for partition, tally in by_partition.items():
            written[partition] = written.get(partition, Tally()) + tally
        if name == step.stream.quarantine_table:
            written = {}
            break
    if written != expected:
        raise StagedRowsDiffer(
            f"Stream {step.stream.name}: {selected.count} records were acceptable, and others were written.",
            remedy="run the command again, and report this: it must not happen",
        )


def _stage(step: IngestStep, bases: Mapping[str, Base], landed: WriteResult) -> None:
    if any(landed.spooled.values()):
        with step.session() as spark:
            stage_tables(spark, step.catalog, bases, step.attempt, landed)
        return
    for name, files in landed.files.items():
        if files:
            stage_files(step.catalog, bases[name], step.attempt, files)


def _require_left(step: IngestStep, quarantine: Base, staged: Sequence[Staged], selected: Reprocess) -> None:
    """What is on the branch is what was in the quarantine less what is taken, and nothing else."""
    head = next(item.head for item in staged if item.base.name == quarantine.name)
    table = step.catalog.load_table(quarantine.identifier)
    before = coordinates(quarantine.table, list(quarantine.table.scan(snapshot_id=quarantine.snapshot_id).plan_files()))
    after = coordinates(table, list(table.scan(snapshot_id=head).plan_files()))
    for partition, offsets in before.items():
        stays = offsets[~np.isin(offsets, selected.places.offsets.get(partition, np.array([], np.int64)))]
        if not np.array_equal(np.sort(stays), np.sort(after.get(partition, np.array([], np.int64)))):
            raise StagedRowsDiffer(
                f"{quarantine.name}: of partition {partition} other rows than the reprocessed ones left the branch.",
                remedy="run the command again, and report this: it must not happen",
            )
