"""Calls Iceberg's procedure that rewrites data files, on a branch, and tells its errors without a value of a row."""

import re
from collections.abc import Mapping, Sequence

from py4j.protocol import Py4JJavaError
from pyiceberg.manifest import ManifestContent
from pyiceberg.table import Table
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakehouse.declarations import Rewrite
from lakehouse.engines.spark.naming import quoted_name, quoted_text
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.entries import PartitionKey
from lakehouse.iceberg.manifests.manifest_files import ManifestCache, MeasuredFile
from lakehouse.steps.maintenance.model.action import Action, MaintenanceWork
from lakehouse.steps.maintenance.model.partition_filter import where
from lakehouse.steps.maintenance.model.partitions import partition_named
from lakehouse.steps.maintenance.model.preconditions import require_safe
from lakehouse.steps.maintenance.rewrite.rewrite_size import portion

PROCEDURE = "rewrite_data_files"
_JAVA_CLASS = re.compile(r"\b[a-z][\w.]*\.\w+(Exception|Error)\b")

Files = Mapping[PartitionKey, Sequence[MeasuredFile]]
"""Data files by where they lie."""


class RewriteFailed(LakehouseError):
    """Spark could not rewrite the files."""


def files_to_rewrite(work: MaintenanceWork, action: Action) -> Files:
    """The data files in the partitions of an action, in all if it names none."""
    table, named_keys = work.base.table, {partition.key for partition in action.partitions}
    snapshot, cache = table.metadata.snapshot_by_id(work.base.snapshot_id or 0), ManifestCache(most_files=0)
    by_partition: dict[PartitionKey, list[MeasuredFile]] = {}
    for manifest in cache.manifests(table.io, snapshot) if snapshot else ():
        if manifest.content == ManifestContent.DATA:
            for file in cache.files(table.io, manifest):
                if file.live:
                    by_partition.setdefault((manifest.partition_spec_id, file.values), []).append(file)
    return {
        key: files
        for key, files in by_partition.items()
        if not named_keys or partition_named(table, work.declared, *key).key in named_keys
    }


def calls(work: MaintenanceWork, action: Action, rewrite: Rewrite, files: Files) -> list[str]:
    """The statements that rewrite these files on the attempt's branch.

    Partitions with files of another format are written anew as a whole, so they are told apart from the others.

    Raises:
        NotNameable: a partition cannot be told to Spark.
        Trap: the procedure is known to end badly.
    """
    if action.max_bytes is not None and files:
        sizes = [file.size for partition_files in files.values() for file in partition_files]
        return [_call(work, rewrite, list(files), portion(sizes, rewrite, action.max_bytes))]
    foreign = [key for key, partition_files in files.items() if _foreign(partition_files, rewrite)]
    others = [key for key in files if key not in foreign]
    statements = [_call(work, rewrite, others, {})] if others else []
    return [*statements, _call(work, rewrite, foreign, {"rewrite-all": "true"})] if foreign else statements


def run_calls(name: str, statements: Sequence[str], spark: SparkSession) -> None:
    """Let Spark do it.

    Raises:
        RewriteFailed: it could not.
    """
    try:
        for statement in statements:
            spark.sql(statement).collect()
    except (PySparkException, Py4JJavaError) as error:
        # Its text shows the condition, and so values of partitions.
        raise RewriteFailed(
            f"{name}: Spark could not rewrite its files ({_kind_of(error)}).",
            remedy="look at the log of the Spark session; the table is as it was",
        ) from None


def options_of(rewrite: Rewrite) -> dict[str, str]:
    """The policy in the words of the procedure."""
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
    }


def _call(
    work: MaintenanceWork, rewrite: Rewrite, keys: Sequence[PartitionKey], extra_options: Mapping[str, str]
) -> str:
    table, strategy = work.base.table, _strategy(rewrite, work.base.table)
    options = {**options_of(rewrite), **extra_options}
    require_safe(PROCEDURE, options)
    arguments = {
        "table": quoted_text(quoted_name(*table.name())),
        "strategy": quoted_text("binpack" if strategy == "binpack" else "sort"),
        "branch": quoted_text(work.attempt.branch),
        "options": "map({})".format(", ".join(quoted_text(word) for option in options.items() for word in option)),
    }
    if strategy == "zorder":
        arguments["sort_order"] = quoted_text(f"zorder({','.join(rewrite.zorder_by)})")
    if condition := where(table, keys):
        arguments["where"] = quoted_text(condition)
    named_arguments = ", ".join(f"{name} => {value}" for name, value in arguments.items())
    return f"CALL lake.system.{PROCEDURE}({named_arguments})"


def _strategy(rewrite: Rewrite, table: Table) -> str:
    if rewrite.strategy != "auto":
        return rewrite.strategy
    return "binpack" if table.sort_order().is_unsorted else "sort"


def _foreign(files: Sequence[MeasuredFile], rewrite: Rewrite) -> bool:
    return rewrite.to_format is not None and any(file.format.lower() != rewrite.to_format for file in files)


def _kind_of(error: Exception) -> str:
    """What went wrong in one word: Spark's condition, or the class of Java's exception."""
    if isinstance(error, PySparkException) and (condition := error.getCondition()) is not None:
        return condition
    match = _JAVA_CLASS.search(str(error))
    return match[0] if match else type(error).__name__
