"""Increment: which rows of the followed input are new since the snapshot that the table's last seal says it has read.

The position is in the seal and nowhere else, so a run that was killed at any place is followed by one that reads the
same range again, or one that finds nothing left. Only appends can be followed; where a range holds anything else, what
was read before may have changed, and that is refused by name. Retention of a changelog is passed over where all that
went had been read.
"""

from dataclasses import dataclass, field

from pyiceberg.table.snapshots import Operation
from pyspark.sql import DataFrame, SparkSession

from lakehouse.declarations import Maintenance
from lakehouse.engines.spark.naming import quoted_table, rows_at
from lakehouse.proofs.audit.retirement import is_read_before, statement_then
from lakehouse.proofs.lineage.sealed import read_before
from lakehouse.proofs.lineage.spark_plan.ranges import marked
from lakehouse.protocol.leases.lease import Lease, lease_until
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.history import ancestry, is_rewrite, is_seal_only
from lakehouse.steps.derived.inputs.inputs import Input
from lakehouse.steps.derived.refusals import HistoryLost

_REBUILD = "compute it anew from all rows, by `lakehouse derive {table} --rebuild` (run tag lakehouse/rebuild=true)"


@dataclass(frozen=True)
class Increment:
    """The rows of an input from one snapshot to another.

    Args:
        followed: the input, at the end of the range.
        start: the snapshot after which the range begins; None: with the input's first row.
        appends: how many commits of the range added rows.
        policy: of the input, which says how long a hold on it lasts.
    """

    followed: Input
    start: int | None
    appends: int
    policy: Maintenance = field(default_factory=Maintenance)

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows."""
        end = self.followed.snapshot_id
        if self.start is None:
            return rows_at(spark, self.followed.name, end)
        if not self.appends:  # Spark refuses a range without snapshots
            return rows_at(spark, self.followed.name, end).where("false")
        between = {"start-snapshot-id": str(self.start), "end-snapshot-id": str(end)}
        return marked(spark.read.options(**between).table(quoted_table(self.followed.name)), end)

    def lease(self, table: str, *, at_start: bool = False) -> Lease:
        """The lease that keeps the input's snapshots for the next range; before this one is read, from its start on."""
        followed = self.followed
        snapshot_id = self.start if at_start and self.start is not None else followed.snapshot_id
        uuid, until = str(followed.table.metadata.table_uuid), lease_until(self.policy)
        return Lease(followed.table.name(), uuid, table, snapshot_id, until, f"{table} is to read on here")


def next_increment(
    name: str, base: Base, followed: Input, *, rebuild: bool, policy: Maintenance | None = None
) -> Increment:
    """Find what is new for an incremental table.

    Args:
        name: the derived table.
        base: as it is now.
        followed: the input that it follows.
        rebuild: begin with the input's first row, whatever was read before.
        policy: how the input is maintained.

    Raises:
        HistoryLost: the input no longer continues what was read, or did more than append; or nobody can say what was
            read.
    """
    read_up_to, policy = None if rebuild else read_before(base, followed.name), policy or Maintenance()
    if read_up_to is None:
        if base.has_rows and not rebuild:
            raise HistoryLost(
                f"{name} holds rows, and its newest seal does not say up to where {followed.name} was read for them: "
                "it followed another table, or the seal of the run that computed them has expired.",
                remedy=_REBUILD.format(table=name),
            )
        return Increment(followed, None, 1, policy)
    appends = 0
    for snapshot in ancestry(followed.table, followed.snapshot_id):
        if snapshot.snapshot_id == read_up_to:
            return Increment(followed, read_up_to, appends, policy)
        if is_rewrite(snapshot) or is_seal_only(snapshot):
            continue
        if snapshot.summary is None or snapshot.summary.operation != Operation.APPEND:
            if is_read_before(followed.table, snapshot, read_up_to):
                continue
            raise HistoryLost(
                f"{name} follows {followed.name}, whose snapshot {snapshot.snapshot_id} did more than append: rows "
                "that were read before may have changed.",
                remedy=_rebuild(name, followed),
            )
        appends += 1
    raise _lost(name, followed, read_up_to)


def _lost(name: str, followed: Input, read_up_to: int) -> HistoryLost:
    where = f"{name} has read {followed.name} up to snapshot {read_up_to}"
    if any(snapshot.snapshot_id == followed.snapshot_id for snapshot in ancestry(followed.table, read_up_to)):
        return HistoryLost(
            f"{where}, and this run has pinned the older snapshot {followed.snapshot_id}.",
            remedy="nothing to do; a new run reads on from there.",
        )
    return HistoryLost(
        f"{where}, which is not in the history of snapshot {followed.snapshot_id}: it was rolled back, replaced or "
        "expired.",
        remedy=_rebuild(name, followed),
    )


def _rebuild(name: str, followed: Input) -> str:
    """How to compute it anew, and of how much."""
    remedy = _REBUILD.format(table=name)
    statement = statement_then(followed.table, followed.snapshot_id)
    retired = statement.retired.get(followed.name, {}) if statement else {}
    rows = sum(tally.count for tally in retired.values())
    return f"{remedy}; the {rows} changes that retention removed will not be in it" if rows else remedy
