"""Takes records up again that a stream has refused, after its declaration was widened or corrected.

They come from the quarantine, as Kafka gave them, through the same decoder, rules and writers as in an ingest. What is
acceptable now goes to its table and leaves the quarantine in one publish; the rest stays where it is. The seals count
what has moved, offset by offset, so that the audit goes on proving that each record is in one place.
"""

from collections.abc import Mapping
from dataclasses import replace

import msgspec

from lakehouse import seal_keys
from lakehouse.engines.kafka.statement import COPIES, Counts, KafkaStatement
from lakehouse.engines.kafka.tally import Tally
from lakehouse.proofs.audit.chain import KIND_REPROCESS
from lakehouse.protocol.commit import Published, publish, stage_files
from lakehouse.protocol.failpoints import failpoint
from lakehouse.protocol.seals.base import Base
from lakehouse.steps.ingest.ingest_step import IngestStep
from lakehouse.steps.ingest.repair.acceptable_records import Reprocess, work_of
from lakehouse.steps.ingest.repair.leaving_rows import delete_rows, require_left
from lakehouse.steps.ingest.repair.refused_records import refused_records
from lakehouse.steps.ingest.report import WriteResult
from lakehouse.steps.ingest.routes.stopping import stopped_before
from lakehouse.steps.ingest.sealing.seal_tables import seal_all
from lakehouse.steps.ingest.sealing.staged_audit import StagedRowsDiffer, require_staged
from lakehouse.steps.ingest.sealing.verdicts import verdicts
from lakehouse.steps.ingest.workers.added_reports import add_up
from lakehouse.steps.ingest.workers.task_report import read_report
from lakehouse.steps.ingest.workers.work import make_task
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
    delete_rows(step.catalog, quarantine, step.attempt, selected.places, selected.previous.numbers)
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
    require_left(step.catalog, quarantine, staged, selected.places)
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
