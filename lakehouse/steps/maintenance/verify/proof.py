"""The proof of a rewrite: what goes and what comes hold the same rows, partition by partition.

Only the files that a rewrite touches are read; all others are listed as they were, which the commit itself checks, and
no delete file has gone that they still need.
"""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import msgspec
from pyiceberg.manifest import DataFileContent, FileFormat, ManifestContent
from pyiceberg.table import Table
from pyspark.sql import SparkSession

from lakehouse.iceberg.content_hash.row_hash import Contents, Digest, content
from lakehouse.iceberg.delete_files import Applying
from lakehouse.iceberg.entries import PartitionKey, is_data, live_entries
from lakehouse.iceberg.names import table_name
from lakehouse.protocol.commit import Replacement
from lakehouse.protocol.errors import ContentChanged, SchemaChanged
from lakehouse.steps.maintenance.verify import spark_hash

_ROW_IDS_SINCE = 3
_SHOWN = 5


class RowsDiffer(ContentChanged):
    """What goes and what comes do not hold the same rows.

    Attributes:
        what: differs, in words.
    """

    def __init__(self, table: str, what: str) -> None:
        super().__init__(
            f"{table}: the rewrite changed rows, and was not published. {what}.",
            remedy="the table is as it was; the attempt's branch is kept: compare it with main, and report it",
        )
        self.what = what


@dataclass(frozen=True)
class RewriteProof:
    """That it holds.

    Args:
        rows: that were compared.
        digest: of all sums; the commit carries it.
        engine: what read and hashed.
        seconds: it took.
    """

    rows: int
    digest: str
    engine: Literal["polars", "spark"]
    seconds: float


@dataclass(frozen=True)
class Prover:
    """How a rewrite is proven.

    Args:
        table: loaded after the rewrite.
        head: the snapshot that the rewrite left on its branch.
        spark: reads what this process cannot; None where there is none.
        in_process: up to so many bytes, deletes and both sides together, are read in this process.
        named: says which partition it is, without the value of a sensitive column.
    """

    table: Table
    head: int
    spark: SparkSession | None
    in_process: int
    named: Callable[[PartitionKey], str]

    def prove(self, replacement: Replacement) -> RewriteProof:
        """Compare the rows of the files that go with those of the files that come.

        Raises:
            RowsDiffer: they are not the same.
            SchemaChanged: it has to be Spark, and the two snapshots have other columns.
        """
        began = time.monotonic()
        self._require_deletes(replacement)
        # The same for both sides; Spark where PyIceberg cannot read a file, or does not know row ids.
        engine: Literal["polars", "spark"] = "spark" if self.needs_spark(replacement) else "polars"
        if engine == "polars":
            before = content(self.table, replacement.files_out, replacement.deletes)
            after = content(self.table, replacement.files_in)
        else:
            before, after = self._by_spark(replacement)
        before, after = _comparable(before, after)
        self._require_equal(before, after)
        rows = sum(digest.rows for digest in after.values())
        if rows != (expected := sum(file.record_count for file in replacement.files_in)):
            raise self._changed(f"{rows} rows were found in files that should hold {expected}")
        return RewriteProof(rows, _digest(after), engine, time.monotonic() - began)

    @property
    def _table(self) -> str:
        return table_name(self.table)

    def needs_spark(self, replacement: Replacement) -> str:
        """Why this process cannot compare the rows by itself; empty if it can."""
        files = (*replacement.files_out, *replacement.files_in, *replacement.deletes)
        size = sum(file.file_size_in_bytes for file in files)
        if self.table.metadata.format_version >= _ROW_IDS_SINCE:
            return "its rows have ids"
        if size > self.in_process:
            return f"{size:,} bytes would have to be read, and {self.in_process:,} may be"
        if any(file.file_format == FileFormat.AVRO for file in files):
            return "some files are Avro"
        if any(file.content != DataFileContent.POSITION_DELETES for file in replacement.deletes):
            return "some rows were deleted by value"
        return ""

    def _by_spark(self, replacement: Replacement) -> tuple[Contents, Contents]:
        sides = ((replacement.source, replacement.files_out), (self.head, replacement.files_in))
        row_ids = self.table.metadata.format_version >= _ROW_IDS_SINCE
        source = self.table.metadata.snapshot_by_id(replacement.source)
        if source is None or source.schema_id != self.table.metadata.current_schema_id:
            # Spark shows a snapshot with the columns of its time, and the other one with those of today.
            raise SchemaChanged(
                f"{self._table}: the columns changed after the last commit, so its rows cannot be compared by Spark.",
                remedy="nothing to do: it is rewritten after the next commit",
            )
        if self.spark is None:
            raise ValueError(f"{self._table}: this rewrite can be proven by Spark alone.")
        before, after = (
            spark_hash.content(self.spark, self.table, snapshot_id, files, row_ids=row_ids)
            for snapshot_id, files in sides
        )
        return before, after

    def _require_equal(self, before: Contents, after: Contents) -> None:
        differing = sorted((key for key in {*before, *after} if before.get(key) != after.get(key)), key=str)
        if not differing:
            return
        shown = [
            f"{self.named(key) if key[0] >= 0 else 'all partitions together'}: "
            f"{before.get(key, Digest()).rows} rows before, {after.get(key, Digest()).rows} after"
            for key in differing[:_SHOWN]
        ]
        suffix = f" and {len(differing) - _SHOWN} more" if len(differing) > _SHOWN else ""
        raise self._changed("; ".join(shown) + suffix)

    def _require_deletes(self, replacement: Replacement) -> None:
        """Refuse that a delete file goes which applies to a data file that stays: its rows would be back."""
        removed = [entry for entry in replacement.out if not is_data(entry.data_file)]
        source = self.table.metadata.snapshot_by_id(replacement.source)
        if not removed or source is None:
            return
        removed_paths = {file.file_path for file in replacement.files_out}
        deletes = Applying.of(removed, self.table.specs())
        for manifest in source.manifests(self.table.io):
            if manifest.content == ManifestContent.DATA:
                for entry in live_entries(self.table.io, manifest):
                    if entry.data_file.file_path not in removed_paths and deletes.to(entry):
                        raise self._changed("delete files went that apply to data files that stay")

    def _changed(self, what: str) -> "RowsDiffer":
        return RowsDiffer(self._table, what)


def _comparable(before: Contents, after: Contents) -> tuple[Contents, Contents]:
    """Partition by partition; all in one if the files were partitioned in another way, and so have gone elsewhere."""
    if {spec_id for spec_id, _ in before} != {spec_id for spec_id, _ in after}:
        before, after = _together(before), _together(after)
    return {key: digest for key, digest in before.items() if digest.rows}, {
        key: digest for key, digest in after.items() if digest.rows
    }


def _together(contents: Contents) -> Contents:
    return {(-1, ()): sum(contents.values(), Digest())}


def _digest(contents: Contents) -> str:
    sums = sorted((str(key), digest.rows, *digest.sums) for key, digest in contents.items())
    return hashlib.sha256(msgspec.json.encode(sums)).hexdigest()[:32]
