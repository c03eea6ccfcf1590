"""Reads an Iceberg table piece by piece, without Spark, so that memory is bounded by a piece and not by the table."""

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import cast

import polars as pl
import pyarrow as pa
from pyiceberg.expressions import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    BooleanExpression,
    EqualTo,
    GreaterThanOrEqual,
    LessThan,
    NotIn,
    Or,
)
from pyiceberg.io.pyarrow import ArrowScan, _read_all_delete_files  # pyright: ignore[reportPrivateUsage]
from pyiceberg.table import Table

from lakehouse.proofs.audit.coordinates import OFFSET, PARTITION

_ROWS = 200_000
_BYTES = 64 << 20


def frames(
    table: Table,
    snapshot_id: int | None,
    columns: Sequence[str],
    where: BooleanExpression | None = None,
) -> Iterator[pl.DataFrame]:
    """Rows of a table at a snapshot, deletes applied, some hundred thousand at a time.

    Args:
        table: a loaded table; its present schema is used, so that a column which was added later is null before.
        snapshot_id: which snapshot; None for a table without any.
        columns: top-level columns to read.
        where: rows to keep; files that cannot hold any are not opened.
    """
    if snapshot_id is None:
        return
    condition = where or AlwaysTrue()
    tasks = list(table.scan(snapshot_id=snapshot_id, row_filter=condition).plan_files())
    scan = ArrowScan(table.metadata, table.io, table.schema().select(*columns), condition)
    batches: list[pa.RecordBatch] = []
    for task in tasks:
        deletes = _read_all_delete_files(table.io, [task])
        # Its public sibling keeps all batches of a file, and of as many files as there are threads, in memory.
        for batch in scan._record_batches_from_scan_tasks_and_deletes([task], deletes):  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
            batches.append(batch)
            if sum(len(b) for b in batches) >= _ROWS or sum(b.nbytes for b in batches) >= _BYTES:
                yield _frame(batches)
                batches = []
    if batches:
        yield _frame(batches)


def _frame(batches: Sequence[pa.RecordBatch]) -> pl.DataFrame:
    # Each on its own: files of several writers differ in large and small strings, which polars does not tell apart.
    return pl.concat([cast("pl.DataFrame", pl.from_arrow(batch)) for batch in batches], rechunk=True)


def equal(column: str, value: str | int) -> BooleanExpression:
    """Rows with this value."""
    return EqualTo(column, value)  # pyright: ignore[reportCallIssue] - its constructor is made by pydantic


def offsets_between(start: Mapping[int, int] | None, end: Mapping[int, int] | None) -> BooleanExpression:
    """Records at or after `start` and before `end`.

    Args:
        start: Kafka partition → first offset; of other partitions from their beginning. None: everything's beginning.
        end: Kafka partition → first offset beyond; of other partitions nothing. None: up to the end.
    """
    begins = start or {}
    parts: list[BooleanExpression] = []
    for partition in sorted(begins if end is None else end):
        condition = equal(PARTITION, partition)
        if partition in begins:
            condition = And(condition, GreaterThanOrEqual(OFFSET, begins[partition]))  # pyright: ignore[reportCallIssue]
        if end is not None:
            condition = And(condition, LessThan(OFFSET, end[partition]))  # pyright: ignore[reportCallIssue]
        parts.append(condition)
    if end is None:
        others = NotIn(PARTITION, set(begins)) if begins else AlwaysTrue()  # pyright: ignore[reportCallIssue]
        parts.append(others)
    return reduce(Or, parts) if parts else AlwaysFalse()
