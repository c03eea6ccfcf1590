"""Which rows are judged: all of a snapshot, or only those that were added since an earlier one."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot
from pyspark.sql import DataFrame, SparkSession

from lakehouse.engines.spark.naming import quoted_name
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.manifests.entry_reader import SnapshotManifests
from lakehouse.iceberg.names import table_name
from lakehouse.protocol.commit.rebase import added_files
from lakehouse.protocol.seals.history import ancestry, is_rewrite, is_seal_only


class SnapshotGone(LakehouseError):
    """The snapshot that should be judged is not in the table's metadata."""


@dataclass(frozen=True)
class RowScope:
    """Rows of a table.

    Attributes:
        table: a loaded table.
        snapshot: where they are.
        since: only those that were added after this snapshot; None for all.
        whole_because: why they are all, although only new ones were asked for.
    """

    table: Table
    snapshot: Snapshot
    since: int | None = None
    whole_because: str = ""

    @classmethod
    def of(cls, table: Table, snapshot_id: int, since: int | None) -> "RowScope":
        """The rows since a snapshot where only appends and rewrites came after it; all rows otherwise.

        Raises:
            SnapshotGone: the table does not know the snapshot that is to be judged.
        """
        snapshot = table.metadata.snapshot_by_id(snapshot_id)
        if snapshot is None:
            raise SnapshotGone(
                f"{table_name(table)}: there is no snapshot {snapshot_id}; it has expired or was never committed.",
                remedy="judge a snapshot that is there.",
            )
        if since is None:
            return cls(table, snapshot)
        for commit in ancestry(table, snapshot_id):
            if commit.snapshot_id == since:
                return cls(table, snapshot, since)
            if not is_rewrite(commit) and _operation(commit) is not Operation.APPEND:
                return cls(table, snapshot, None, f"snapshot {commit.snapshot_id} did more than append")
        return cls(table, snapshot, None, f"snapshot {since} is not among its ancestors any more")

    @property
    def schema(self) -> Schema:
        """The columns that the snapshot was written with."""
        schema_id = self.snapshot.schema_id
        return self.table.schema() if schema_id is None else self.table.schemas()[schema_id]

    @property
    def has_deletes(self) -> bool:
        """Whether some rows of the files may be deleted, so that what files say of their rows is an upper bound."""
        return self.since is None and self._manifests.with_deletes

    def files(self) -> Iterable[DataFile]:
        """The data files that hold them."""
        if self.since is None:
            yield from (file for _, file in self._manifests.live_files())
            return
        for commit in ancestry(self.table, self.snapshot.snapshot_id):
            if commit.snapshot_id == self.since:
                return
            if not is_rewrite(commit) and not is_seal_only(commit):
                yield from added_files(self.table, commit)

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows, for Spark: by snapshot id, since a name alone may mean another snapshot any moment."""
        name = quoted_name("lake", *self.table.name())
        if self.since is None:
            return spark.read.option("versionAsOf", str(self.snapshot.snapshot_id)).table(name)
        between = {"start-snapshot-id": str(self.since), "end-snapshot-id": str(self.snapshot.snapshot_id)}
        return spark.read.options(**between).table(name)

    @cached_property
    def _manifests(self) -> SnapshotManifests:
        return SnapshotManifests.of(self.table, self.snapshot)


def _operation(commit: Snapshot) -> Operation | None:
    return commit.summary.operation if commit.summary else None
