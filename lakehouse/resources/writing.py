"""A user's own table, written through the same protocol as ours: stage, judge, seal, publish."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.table import Transaction
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from lakehouse.catalog import LakeCatalog
from lakehouse.commit import Attempt, Base, Seal, branch_table, open_branch, publish, read_bases, seal_branch
from lakehouse.commit.history import ancestry, summary_of
from lakehouse.commit.stage import commit_on_branch
from lakehouse.errors import LakehouseError
from lakehouse.resources.fitting import fitted
from lakehouse.tables import Table

if TYPE_CHECKING:
    import pandas as pd

WriteMode = Literal["append", "overwrite"]


class WrittenByStream(LakehouseError):
    """A stream writes this table, and a table has one writer."""


@dataclass(frozen=True)
class Written:
    """What became visible.

    Args:
        added: rows that the write added.
        total: rows that the table holds now.
    """

    table: str
    snapshot_id: int
    branch: str
    added: int
    total: int
    seconds: float


def write_table(
    catalog: LakeCatalog,
    table: Table,
    attempt: Attempt,
    data: "pa.Table | pd.DataFrame | DataFrame",
    *,
    mode: WriteMode,
    inputs: Mapping[str, int],
) -> Written:
    """Write an existing table and publish it.

    Args:
        catalog: where it lives.
        table: its declaration.
        attempt: who writes.
        data: an Arrow table, a pandas frame or a Spark frame.
        mode: `append` adds the rows, `overwrite` puts them in the place of all others.
        inputs: table → snapshot that the data were computed from.

    Raises:
        DoesNotFit: the data are not what is declared; nothing was published.
        CommitError: the publish did not go through, for example `Superseded`.
    """
    began = time.monotonic()
    base = read_bases(catalog, [table.name])[table.name]
    open_branch(catalog, base, attempt)
    if isinstance(data, DataFrame):
        _stage_spark(data, base, attempt, mode)
    else:
        _stage_arrow(catalog, fitted(table.name, data, schema_of(base)), base, attempt, mode)
    added, total = _staged_rows(catalog, base, attempt)
    seal = Seal.of(
        attempt,
        "write",
        statement={"write.mode": mode, "write.added": str(added), "write.total": str(total)},
        previous=base.sealed.seal if base.sealed else None,
        inputs=inputs,
    )
    staged = seal_branch(catalog, base, attempt, seal)
    published = publish(catalog, [staged])
    seconds = time.monotonic() - began
    return Written(table.name, published.snapshots[base.name], attempt.branch, added, total, seconds)


def schema_of(base: Base) -> pa.Schema:
    """The table's Arrow schema as it is, not as it is declared."""
    return schema_to_pyarrow(base.table.schema(), include_field_ids=False)


def _stage_arrow(catalog: LakeCatalog, data: pa.Table, base: Base, attempt: Attempt, mode: WriteMode) -> None:
    def build(transaction: Transaction) -> None:
        write = transaction.append if mode == "append" else transaction.overwrite
        write(data, snapshot_properties=attempt.marks, branch=attempt.branch)

    commit_on_branch(catalog, base, attempt.branch, build)


def _stage_spark(data: DataFrame, base: Base, attempt: Attempt, mode: WriteMode) -> None:
    writer = data.writeTo(branch_table(base, attempt))
    for key, value in attempt.marks.items():
        writer = writer.option(f"snapshot-property.{key}", value)
    if mode == "append":
        writer.append()
    else:
        writer.overwrite(sql.lit(True))  # the condition: every row


def _staged_rows(catalog: LakeCatalog, base: Base, attempt: Attempt) -> tuple[int, int]:
    """Rows that the branch's commits added, and rows that it holds in all."""
    table = catalog.load_table(base.identifier)
    snapshot = table.metadata.snapshot_by_name(attempt.branch)
    assert snapshot is not None
    added = 0
    for commit in ancestry(table, snapshot.snapshot_id):
        if commit.snapshot_id == base.snapshot_id:
            break
        added += int(summary_of(commit).get("added-records", "0"))
    return added, int(summary_of(snapshot).get("total-records", "0"))
