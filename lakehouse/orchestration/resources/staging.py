"""Puts a user's Arrow rows on an attempt's branch by our own file writer, and reads back what a branch received."""

from collections.abc import Iterator

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import DataFile
from pyiceberg.table import Transaction

from lakehouse.errors import LakehouseError
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.catalog.rest_catalog.lent_storage import current_properties
from lakehouse.protocol.commit import open_branch, stage_files
from lakehouse.protocol.commit.rebase import added_files
from lakehouse.protocol.commit.stage import commit_on_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.history import ancestry
from lakehouse.steps.ingest.parquet_files import ParquetFiles, WriteTarget, data_files_from_rows, unsupported


class NeedsSpark(LakehouseError):
    """The table's layout is one that only Spark's own writer lays out."""


def stage_arrow(catalog: LakeCatalog, data: pa.Table, base: Base, attempt: Attempt, *, replacing: bool) -> None:
    """Write rows as data files and add them to the attempt's branch.

    Raises:
        NeedsSpark: the table's layout is beyond our file writer.
    """
    if (why := unsupported(base.table.metadata)) is not None:
        raise NeedsSpark(f"{base.name}: {why}.", remedy="write a Spark frame, which Spark lays out itself")
    files = _written(data, base, attempt)
    open_branch(catalog, base, attempt)
    if replacing and base.has_rows:

        def clear(transaction: Transaction) -> None:
            transaction.delete(AlwaysTrue(), snapshot_properties=attempt.marks, branch=attempt.branch)

        commit_on_branch(catalog, base, attempt.branch, clear)
    if files:
        stage_files(catalog, base, attempt, files)


def _written(data: pa.Table, base: Base, attempt: Attempt) -> list[DataFile]:
    target = WriteTarget.of(base.table.metadata, current_properties(base.table.io))
    files = ParquetFiles(target, prefix=attempt.id)
    try:
        for batch in data.to_batches():
            files.write(batch)
        return data_files_from_rows(base.table.metadata, files.finish().to_pylist())
    except BaseException:
        files.discard()  # nobody knows of them yet
        raise


def staged_batches(catalog: LakeCatalog, base: Base, attempt: Attempt) -> Iterator[pa.RecordBatch]:
    """The rows that an attempt has added to its branch, a batch at a time."""
    table = catalog.load_table(base.identifier)
    head = table.metadata.snapshot_by_name(attempt.branch)
    if head is None:
        return
    ours: set[str] = set()
    for snapshot in ancestry(table, head.snapshot_id):
        if snapshot.snapshot_id == base.snapshot_id:
            break
        ours |= {file.file_path for file in added_files(table, snapshot)}
    tasks = [task for task in table.scan(snapshot_id=head.snapshot_id).plan_files() if task.file.file_path in ours]
    yield from ArrowScan(table.metadata, table.io, table.schema(), AlwaysTrue()).to_record_batches(tasks)
