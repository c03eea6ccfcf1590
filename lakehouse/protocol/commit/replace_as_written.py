"""A rewrite published as Spark wrote it: for tables of version 3, whose manifests PyIceberg cannot write.

Its snapshots cannot carry the attempt's marks, so they are claimed: by their ids, and only if they are rewrites that
lead from the base to the head without a gap. They are of this base alone: when `main` moves, the work is lost.
"""

from pyspark.sql import SparkSession

from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit.replacement import rewrites_between
from lakehouse.protocol.commit.stage import branch_table
from lakehouse.protocol.commit.staged import Staged
from lakehouse.protocol.errors import ForeignCommit, MainMoved
from lakehouse.protocol.failpoints import failpoint
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.carried import carry_on
from lakehouse.protocol.seals.history import head_of, is_seal_only
from lakehouse.protocol.seals.seal import Seal


def stage_as_written(catalog: LakeCatalog, spark: SparkSession, base: Base, attempt: Attempt, head: int) -> Staged:
    """Seal what Spark has rewritten on the attempt's branch.

    Args:
        catalog: where the table lives.
        spark: writes the seal, an append without rows.
        base: what was rewritten.
        attempt: whose branch it is.
        head: the snapshot on it that was proven.

    Raises:
        ForeignCommit: on the branch is something else than rewrites, or there are commits that nobody sealed.
        MainMoved: there is nothing to maintain, or the branch is not there any more as it was proven.
    """
    table = catalog.load_table(base.identifier)
    if head_of(table, attempt.branch) != head:
        raise MainMoved(
            f"{base.name}: branch {attempt.branch} was removed or written to after it was proven.",
            remedy="nothing is lost: the files are written again",
        )
    if base.sealed is None or base.snapshot_id is None:
        raise MainMoved(f"{base.name}: there is no sealed snapshot to maintain.", remedy="run the table's step first")
    if base.unsealed:
        raise ForeignCommit(
            f"{base.name}: snapshot {base.unsealed[0].snapshot_id} was written to main outside the protocol.",
            remedy="run the table's step, which says what to do about it",
        )
    claimed = frozenset(snapshot.snapshot_id for snapshot in rewrites_between(table, base.snapshot_id, head))
    seal = carry_on(Seal.repeated(base.sealed.seal, attempt, claimed=claimed), base)
    failpoint("seal.before")
    no_rows = spark.table(branch_table(base, attempt)).limit(0)
    writer = no_rows.writeTo(branch_table(base, attempt))
    for key, value in seal.to_summary().items():
        writer = writer.option(f"snapshot-property.{key}", value)
    writer.append()
    failpoint("seal.after")
    table = catalog.load_table(base.identifier)
    sealed = table.metadata.snapshot_by_id(head_of(table, attempt.branch) or 0)
    if sealed is None or sealed.parent_snapshot_id != head or not is_seal_only(sealed):
        raise ForeignCommit(
            f"{base.name}: somebody wrote to branch {attempt.branch}.",
            remedy="find out who writes to attempt branches, then run the step again",
        )
    return Staged(base, attempt, attempt.branch, sealed.snapshot_id, seal, claimed=claimed)
