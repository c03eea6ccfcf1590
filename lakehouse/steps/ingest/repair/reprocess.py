"""Takes records up again that a stream has refused, after its declaration was widened or corrected.

They come from the quarantine, as Kafka gave them, through the same decoder, rules and writers as in an ingest. What is
acceptable now goes to its table and leaves the quarantine in one publish; the rest stays where it is. The seals count
what has moved, offset by offset, so that the audit goes on proving that each record is in one place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec
import numpy as np

from lakehouse import seal_keys
from lakehouse.engines.kafka.statement import COPIES, Counts, KafkaStatement
from lakehouse.engines.kafka.tally import Tally
from lakehouse.proofs.audit.chain import KIND_REPROCESS
from lakehouse.proofs.audit.coordinates import coordinates
from lakehouse.protocol.commit import Published, Staged, open_branch, publish, stage_files
from lakehouse.protocol.commit.stage import commit_on_branch
from lakehouse.protocol.failpoints import failpoint
from lakehouse.protocol.seals.base import Base
from lakehouse.steps.ingest.repair.acceptable_records import Reprocess, work_of
from lakehouse.steps.ingest.repair.refused_records import refused_records
from lakehouse.steps.ingest.report import WriteResult
from lakehouse.steps.ingest.routes.stopping import stopped_before
from lakehouse.steps.ingest.staged_audit import StagedRowsDiffer, require_staged
from lakehouse.steps.ingest.step import IngestStep, seal_all, verdicts
from lakehouse.steps.ingest.workers.task_report import read_report
from lakehouse.steps.ingest.workers.work import add_up, make_task
from lakehouse.steps.ingest.write_result import stage_tables


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
            selected.places.where(selected.previous.numbers),
            snapshot_properties=step.attempt.marks,
            branch=step.attempt.branch,
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
    before = stopped_before(step.stream, step.declarations, bases)
    # What the gate has stopped goes on from here: a person has looked at its records.
    stopped = replace(step, stopped={name: stop for name, stop in before.items() if stop.until == "declared"})
    extra_keys = {name: {**keys, **reprocess_keys} for name, keys in verdicts(stopped, landed, bases).items()}
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
        topics=previous.topics,
        leader_epochs=previous.leader_epochs,
        start=dict(previous.end),
        end=dict(previous.end),
        tallies={**landed.tallies, quarantine: leaving},
        counts=Counts(
            written=selected.count - landed.counts.filtered,
            filtered=landed.counts.filtered,
            quarantined=-selected.count,
            tombstones=-selected.tombstones,
        ),
        valid_through_ms=previous.valid_through_ms,
        reprocessed={name: by_p for name, by_p in landed.tallies.items() if name != COPIES},
        refused_last=selected.refused_last,
    ).after(previous)


def _write(step: IngestStep, bases: Mapping[str, Base], selected: Reprocess) -> WriteResult:
    """In this process, by what the workers run."""
    work, beyond = work_of(step, bases, selected.previous, selected.places)
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
