"""Rewrites data files, and publishes the result only when it is proven to hold the same rows.

Spark writes to the attempt's branch. What is published is the set of files that went and came, on top of whatever
`main` is by then; a table of version 3 alone is published as Spark left it.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from pyiceberg.table import Table
from pyspark.sql import SparkSession

from lakehouse.declarations.own_tables.action_effect import ActionEffect
from lakehouse.protocol.cleanup.vain_attempt import drop_branches_of
from lakehouse.protocol.commit import Replacement, Staged, open_branch, publish, stage_as_written, stage_replacement
from lakehouse.protocol.errors import ContentChanged, FilesTouched, MainMoved, SchemaChanged, TableReplaced
from lakehouse.protocol.failpoints import failpoint
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.history import head_of
from lakehouse.steps.maintenance.model.action import Action, ActionOutcome, MaintenanceWork
from lakehouse.steps.maintenance.model.partitions import partition_named
from lakehouse.steps.maintenance.rewrite.before_after import of_files
from lakehouse.steps.maintenance.rewrite.procedure import PROCEDURE, RewriteFailed, calls, files_to_rewrite, run_calls
from lakehouse.steps.maintenance.verify.proof import Prover, RewriteProof

OVERTAKEN = (FilesTouched, MainMoved, SchemaChanged, TableReplaced)
"""How a publish can end when somebody else was quicker: nothing is lost but the work."""
_BY_SPARK_SINCE = 3


def run(work: MaintenanceWork, action: Action) -> ActionOutcome:
    """Rewrite the data files of an action's partitions.

    Raises:
        RewriteFailed: Spark could not.
        NotNameable: Spark cannot be told of a partition.
        CommitError: the publish ended in another way than well or overtaken.
    """
    rewrite, began, before = work.policy.rewrite, time.monotonic(), of_files(work.base.table)
    if rewrite is None:
        raise ValueError(f"{work.base.name} is never rewritten: its policy says so.")
    statements = calls(work, action, rewrite, files_to_rewrite(work, action))
    if not statements:
        return ActionOutcome(action=action, result="nothing", before=before, message="the files are not there any more")
    try:
        with work.session() as spark:
            _write(work, statements, spark)
            written = _load_written(work)
            if written is None:
                drop_branches_of(work.catalog, work.base, work.attempt)
                return ActionOutcome(
                    action=action, result="nothing", before=before, message="Spark found nothing to rewrite"
                )
            proof = _prover(work, written, spark).prove(written.replacement)
            failpoint("rewrite.proven")
            staged = _stage(work, written, proof, spark)
        published = publish(work.catalog, [staged])
    except ContentChanged as refused:
        # The branch stays, for whoever wants to know how that could be.
        return ActionOutcome(action=action, result="proof_failed", before=before, message=refused.message)
    except OVERTAKEN as overtaken:
        drop_branches_of(work.catalog, work.base, work.attempt)
        return ActionOutcome(action=action, result="overtaken", before=before, message=overtaken.message)
    files_out, files_in = written.replacement.files_out, written.replacement.files_in
    seconds, rewritten = time.monotonic() - began, sum(file.file_size_in_bytes for file in files_in)
    return ActionOutcome(
        action=action,
        result="done",
        before=before,
        after=of_files(work.catalog.load_table(work.base.identifier), rewritten=rewritten, seconds=seconds),
        snapshot_id=published.snapshots[work.base.name],
        message=f"{len(files_out)} data files are now {len(files_in)}",
        effect=ActionEffect(
            files_out=len(written.replacement.out),
            files_in=len(written.replacement.into),
            rows=proof.rows,
            proof_seconds=round(proof.seconds, 3),
            proof_engine=proof.engine,
            rebases=published.rebases,
        ),
    )


@dataclass(frozen=True)
class _Written:
    """What Spark has left on the branch."""

    table: Table
    head: int
    replacement: Replacement


def _write(work: MaintenanceWork, statements: Sequence[str], spark: SparkSession) -> None:
    """Let Spark rewrite files on the attempt's branch."""
    open_branch(work.catalog, work.base, work.attempt, by_spark_alone=True)
    try:
        run_calls(work.base.name, statements, spark)
    except RewriteFailed:
        # Expiry would wait for the branch, and there is nothing on it.
        drop_branches_of(work.catalog, work.base, work.attempt)
        raise
    failpoint("rewrite.written")


def _load_written(work: MaintenanceWork) -> _Written | None:
    table = work.catalog.load_table(work.base.identifier)
    head, source = head_of(table, work.attempt.branch), work.base.snapshot_id
    if head is None or source is None:
        raise MainMoved(
            f"{work.base.name}: branch {work.attempt.branch} was removed while files were rewritten.",
            remedy="nothing is lost: they are written again",
        )
    if head == source:
        return None
    return _Written(table, head, Replacement.between(table, source, head))


def _prover(work: MaintenanceWork, written: _Written, spark: SparkSession) -> Prover:
    return Prover(
        table=written.table,
        head=written.head,
        spark=spark,
        in_process=work.in_process_proof,
        named=lambda key: partition_named(written.table, work.declared, *key).name,
    )


def _stage(work: MaintenanceWork, written: _Written, proof: RewriteProof, spark: SparkSession) -> Staged:
    base = read_bases(work.catalog, [work.base.name])[work.base.name]
    if written.table.metadata.format_version >= _BY_SPARK_SINCE:
        return stage_as_written(work.catalog, spark, work.base, work.attempt, written.head)
    notes = {"operation": PROCEDURE, "proof": proof.digest, "rows": str(proof.rows)}
    return stage_replacement(work.catalog, base, work.attempt, written.replacement, notes)
