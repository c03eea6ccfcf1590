"""Stages a Spark frame on an attempt's branch, and counts what a branch has received."""

from pyiceberg.table import Table
from pyspark.sql import Column, DataFrame, DataFrameWriterV2

from lakehouse.protocol.commit.stage import branch_table
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.history import ancestry, head_of, summary_of


def stage_frame(data: DataFrame, base: Base, attempt: Attempt, *, replacing: Column | None = None) -> None:
    """Let Spark write to the attempt's branch, which must exist.

    Args:
        data: rows with the table's columns.
        base: the table as the step found it.
        attempt: who writes.
        replacing: the rows that go, as a condition that holds for all rows of a file or for none; no row if None.
    """
    writer = _writer(data, base, attempt)
    if replacing is None:
        writer.append()
    else:
        writer.overwrite(replacing)


def stage_partitions(data: DataFrame, base: Base, attempt: Attempt) -> None:
    """Let Spark write to the attempt's branch in place of every partition that there are rows of, and of no other.

    Args:
        data: rows with the table's columns, at least one.
        base: the table as the step found it.
        attempt: who writes.
    """
    _writer(data, base, attempt).overwritePartitions()


def _writer(data: DataFrame, base: Base, attempt: Attempt) -> DataFrameWriterV2:
    writer = data.writeTo(branch_table(base, attempt))
    for key, value in attempt.marks.items():
        writer = writer.option(f"snapshot-property.{key}", value)
    return writer


def staged_rows(table: Table, base: Base, attempt: Attempt) -> tuple[int, int]:
    """Rows that the attempt's commits added to its branch, and rows that the branch holds in all."""
    head = table.metadata.snapshot_by_id(head_id) if (head_id := head_of(table, attempt.branch)) is not None else None
    if head is None:  # nothing to add, and nothing to remove
        return 0, 0
    added = 0
    for commit in ancestry(table, head.snapshot_id):
        if commit.snapshot_id == base.snapshot_id:
            break
        added += int(summary_of(commit).get("added-records", "0"))
    return added, int(summary_of(head).get("total-records", "0"))
