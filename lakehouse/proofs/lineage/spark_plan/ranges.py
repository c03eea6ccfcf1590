"""Marks rows of a range of snapshots, so that Spark's analysed plan tells where the range ends.

Spark prints such a read as one by name alone. Its physical plan would tell more, but not always: there, nothing is left
of a read that was counted from metadata or whose rows cannot matter, and a cache hides which read is whose. So the mark
is a condition that is always true: the analysed plan keeps it wherever the rows go, and the optimizer drops it.
"""

import re

from pyspark.sql import DataFrame

from lakehouse.proofs.lineage.spark_plan.tree import Node

_MARK = "rows up to snapshot {end}"
_MARKED = re.compile(rf"Filter isnotnull\({_MARK.format(end='(?P<end>[0-9]+)')}\)")


def marked(rows: DataFrame, end: int) -> DataFrame:
    """The same rows, marked as those of a range.

    Args:
        rows: as read from the table.
        end: the snapshot that the range ends at.
    """
    return rows.where(f"'{_MARK.format(end=end)}' IS NOT NULL")


def range_end(node: Node) -> int | None:
    """The snapshot that a mark names; None of any other operator."""
    match = _MARKED.fullmatch(node.text)
    return int(match["end"]) if match else None
