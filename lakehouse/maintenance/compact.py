"""Rewrites data files, and publishes the result only when it is proven to hold the same rows.

Spark writes to the attempt's branch. What is published is the set of files that went and came, on top of whatever
`main` is by then; a table of version 3 alone is published as Spark left it.
"""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyiceberg.manifest import ManifestContent
from pyiceberg.table import Table
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakehouse.commit import (
    ContentChanged,
    FilesTouched,
    MainMoved,
    Replacement,
    SchemaChanged,
    Staged,
    TableReplaced,
    failpoint,
    open_branch,
    publish,
    read_bases,
    stage_as_written,
    stage_replacement,
)
from lakehouse.commit.entries import PartitionKey, live_entries, partition_of
from lakehouse.commit.history import head_of
from lakehouse.commit.tidying import drop_branches_of
from lakehouse.errors import LakehouseError
from lakehouse.maintenance.action import Action, Outcome, Work
from lakehouse.maintenance.before_after import of_files
from lakehouse.maintenance.partitions import partition_named
from lakehouse.maintenance.proof import Proof, Prover
from lakehouse.maintenance.traps import require_safe
from lakehouse.maintenance.where import quoted, where
from lakehouse.tables import Rewrite

PROCEDURE = "rewrite_data_files"
OVERTAKEN = (FilesTouched, MainMoved, SchemaChanged, TableReplaced)
"""How a publish can end when somebody else was quicker: nothing is lost but the work."""
_BY_SPARK_SINCE = 3
_JAVA_CLASS = re.compile(r"\b[a-z][\w.]*\.\w+(Exception|Error)\b")


class RewriteFailed(LakehouseError):
    """Spark could not rewrite the files."""


def run(work: Work, action: Action) -> Outcome:
    """Rewrite the data files of an action's partitions.

    Raises:
        RewriteFailed: Spark could not.
        CommitError: the publish ended in another way than well or overtaken.
    """
    began, before = time.monotonic(), of_files(work.base.table)
    try:
        with work.session() as spark:
            _write(work, action, spark)
            found = _found(work)
            if found is None:
                drop_branches_of(work.catalog, work.base, work.attempt)
                return Outcome(action=action, result="nothing", before=before, message="Spark found nothing to rewrite")
            proof = _prover(work, found, spark).prove(found.replacement)
            failpoint("rewrite.proven")
            staged = _stage(work, found, proof, spark)
        published = publish(work.catalog, [staged])
    except ContentChanged as refused:
        # The branch stays, for whoever wants to know how that could be.
        return Outcome(action=action, result="proof_failed", before=before, message=refused.message)
    except OVERTAKEN as overtaken:
        drop_branches_of(work.catalog, work.base, work.attempt)
        return Outcome(action=action, result="overtaken", before=before, message=overtaken.message)
    out, into = found.replacement.files_out, found.replacement.files_in
    seconds, rewritten = time.monotonic() - began, sum(file.file_size_in_bytes for file in into)
    return Outcome(
        action=action,
        result="done",
        before=before,
        after=of_files(work.catalog.load_table(work.base.identifier), rewritten=rewritten, seconds=seconds),
        snapshot_id=published.snapshots[work.base.name],
        message=f"{len(out)} data files are now {len(into)}",
        facts={
            "files_out": len(found.replacement.out),
            "files_in": len(found.replacement.into),
            "rows": proof.rows,
            "proof_seconds": round(proof.seconds, 3),
            "proof_engine": proof.engine,
            "rebases": published.rebases,
        },
    )


@dataclass(frozen=True)
class _Found:
    """What Spark has left on the branch."""

    table: Table
    head: int
    replacement: Replacement


def _write(work: Work, action: Action, spark: SparkSession) -> None:
    """Let Spark rewrite the partitions on the attempt's branch."""
    rewrite, table = work.policy.rewrite, work.base.table
    if rewrite is None:
        raise ValueError(f"{work.base.name} is never rewritten: its policy says so.")
    places = _places(work, action)
    options = options_of(rewrite, foreign=_foreign(places, rewrite))
    require_safe(PROCEDURE, options)
    open_branch(work.catalog, work.base, work.attempt)
    arguments = {
        "table": quoted(".".join(f"`{part}`" for part in table.name())),
        "strategy": quoted("binpack" if _strategy(rewrite, table) == "binpack" else "sort"),
        "branch": quoted(work.attempt.branch),
        "options": "map({})".format(", ".join(quoted(word) for option in options.items() for word in option)),
    }
    if _strategy(rewrite, table) == "zorder":
        arguments["sort_order"] = quoted(f"zorder({','.join(rewrite.zorder_by)})")
    if condition := where(table, list(places)):
        arguments["where"] = quoted(condition)
    told = ", ".join(f"{name} => {value}" for name, value in arguments.items())
    try:
        spark.sql(f"CALL lake.system.{PROCEDURE}({told})").collect()
    except (PySparkException, Py4JJavaError) as error:
        # Its text shows the condition, and so values of partitions.
        raise RewriteFailed(
            f"{work.base.name}: Spark could not rewrite {len(places)} partitions ({_kind_of(error)}).",
            remedy="look at the log of the Spark session; the table is as it was",
        ) from None
    failpoint("rewrite.written")


def _kind_of(error: Exception) -> str:
    """What went wrong in one word: Spark's condition, or the class of Java's exception."""
    if isinstance(error, PySparkException) and (condition := error.getCondition()) is not None:
        return condition
    found = _JAVA_CLASS.search(str(error))
    return found[0] if found else type(error).__name__


def options_of(rewrite: Rewrite, *, foreign: bool) -> dict[str, str]:
    """The policy in the words of the procedure.

    Args:
        rewrite: the policy.
        foreign: whether there are files of another format, which are rewritten whatever their size.
    """
    return {
        "target-file-size-bytes": str(rewrite.target_file_size),
        "min-file-size-bytes": str(rewrite.min_file_size),
        "max-file-size-bytes": str(rewrite.max_file_size),
        "min-input-files": str(rewrite.min_input_files),
        "delete-file-threshold": str(rewrite.delete_file_threshold),
        "delete-ratio-threshold": str(rewrite.delete_ratio_threshold),
        "max-file-group-size-bytes": str(rewrite.max_group_bytes),
        # In parts, it would go on after a conflict that dooms it; and nothing is published by it anyway.
        "partial-progress.enabled": "false",
        "remove-dangling-deletes": "true",
        **({"rewrite-all": "true"} if foreign else {}),
    }


def _strategy(rewrite: Rewrite, table: Table) -> str:
    if rewrite.strategy != "auto":
        return rewrite.strategy
    return "binpack" if table.sort_order().is_unsorted else "sort"


def _places(work: Work, action: Action) -> dict[PartitionKey, set[str]]:
    """The partitions of the action, each with the formats of its data files; all of them if it names none."""
    table, wanted = work.base.table, {partition.key for partition in action.partitions}
    snapshot = table.metadata.snapshot_by_id(work.base.snapshot_id or 0)
    found: dict[PartitionKey, set[str]] = {}
    for manifest in snapshot.manifests(table.io) if snapshot else ():
        if manifest.content == ManifestContent.DATA:
            for entry in live_entries(table.io, manifest):
                found.setdefault(partition_of(entry.data_file), set()).add(str(entry.data_file.file_format.value))
    keys = {place: partition_named(table, work.declared, *place).key for place in found}
    return {place: formats for place, formats in found.items() if not wanted or keys[place] in wanted}


def _foreign(places: Mapping[PartitionKey, set[str]], rewrite: Rewrite) -> bool:
    return rewrite.to_format is not None and any(formats - {rewrite.to_format.upper()} for formats in places.values())


def _found(work: Work) -> _Found | None:
    table = work.catalog.load_table(work.base.identifier)
    head, source = head_of(table, work.attempt.branch), work.base.snapshot_id
    if head is None or source is None or head == source:
        return None
    return _Found(table, head, Replacement.between(table, source, head))


def _prover(work: Work, found: _Found, spark: SparkSession) -> Prover:
    return Prover(
        table=found.table,
        head=found.head,
        spark=spark,
        in_process=work.in_process_proof,
        named=lambda place: partition_named(found.table, work.declared, *place).name,
    )


def _stage(work: Work, found: _Found, proof: Proof, spark: SparkSession) -> Staged:
    base = read_bases(work.catalog, [work.base.name])[work.base.name]
    if found.table.metadata.format_version >= _BY_SPARK_SINCE:
        return stage_as_written(work.catalog, spark, work.base, work.attempt)
    notes = {"operation": PROCEDURE, "proof": proof.digest, "rows": str(proof.rows)}
    return stage_replacement(work.catalog, base, work.attempt, found.replacement, notes)
