"""Apply: a delta goes to the attempt's branches, and what Iceberg counts there must be what was planned."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from pyiceberg.expressions import LessThan
from pyiceberg.table import Table, Transaction
from pyiceberg.table.update import AssertTableUUID, SetPropertiesUpdate
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from lakehouse.declarations import Changelog
from lakehouse.declarations.mirror import TIME_COLUMN
from lakehouse.engines.spark import set_for
from lakehouse.engines.spark.naming import quoted_table
from lakehouse.protocol.catalog import LakeCatalog, TableChange
from lakehouse.protocol.commit import branch_table, open_branch
from lakehouse.protocol.commit.frames import stage_frame
from lakehouse.protocol.commit.stage import commit_on_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.history import ancestry, head_of, summary_of
from lakehouse.steps.cdc.merge.merge_plan import DeltaRows, MergePlan, Mode
from lakehouse.steps.cdc.plan.file_pruning import holding
from lakehouse.steps.cdc.refusals import MergeDiffers

_MODES = ("write.merge.mode", "write.update.mode", "write.delete.mode")
_PROPERTY = "spark.sql.iceberg.snapshot-property."
_COUNTER = "spark.merge-into.num-target-rows-"
# So few rows go to every worker; then the mirror is not shuffled for the join. Spark drops the hint of a MERGE's source
# and goes by its size, which a limit tells it.
_BROADCAST_ROWS = 200_000
_BROADCAST = {"spark.sql.autoBroadcastJoinThreshold": "1g"}
_ROWS_PER_TASK = 500_000
# Collected now and then: each time costs a commit, and what stays in the ledger costs every look-up.
_COLLECT_SHARE = 0.5
_COLLECT_LEAST = 1_000
_COLLECT_ROWS = 100_000


@dataclass(frozen=True)
class Target:
    """The mirror's table and who writes to it."""

    catalog: LakeCatalog
    base: Base
    attempt: Attempt
    log: Changelog


def apply_rows(spark: SparkSession, target: Target, rows: DataFrame, plan: MergePlan, *, before: int) -> MergePlan:
    """Write the delta to the mirror's branch; returns the plan with what came of it.

    Args:
        spark: the session.
        target: where to.
        rows: the mirror's columns and `_action`, materialized: a MERGE runs its source twice.
        plan: how.
        before: rows that the mirror held.

    Raises:
        MergeDiffers: Iceberg counted other rows than were planned; the branch is left for inspection.
    """
    if plan.strategy == "nothing":
        return plan
    if plan.mode is not None:
        set_mode(target.catalog, target.base, plan.mode)
    open_branch(target.catalog, target.base, target.attempt)
    with marked(spark, target.attempt):
        match plan.strategy:
            case "append":
                append(rows.drop("_action"), target.base, target.attempt, plan.predicted.inserted)
            case "overwrite":
                replace_all(rows.drop("_action"), target.base, target.attempt)
            case "merge":
                _merge(spark, target, rows, plan, inserting=plan.predicted.inserted > 0)
            case _:
                _merge(spark, target, rows.where("_action <> 'insert'"), plan, inserting=False)
                new = rows.where("_action = 'insert'").drop("_action")
                append(new, target.base, target.attempt, plan.predicted.inserted)
    return _verified(spark, target, plan, before=0 if plan.strategy == "overwrite" else before)


def append(rows: DataFrame, base: Base, attempt: Attempt, count: int) -> None:
    """Append rows to an attempt's branch, which must exist, in no more files than so many rows need."""
    stage_frame(rows.coalesce(1 + count // _ROWS_PER_TASK), base, attempt)


def replace_all(rows: DataFrame, base: Base, attempt: Attempt) -> None:
    """Put rows in the place of all others on an attempt's branch."""
    stage_frame(rows, base, attempt, replacing=f.lit(True))


@contextmanager
def marked(spark: SparkSession, attempt: Attempt) -> Generator[None]:
    """Every snapshot that Spark commits meanwhile carries the attempt's marks."""
    for key, value in attempt.marks.items():
        spark.conf.set(f"{_PROPERTY}{key}", value)
    try:
        yield
    finally:
        for key in attempt.marks:
            spark.conf.unset(f"{_PROPERTY}{key}")


def set_mode(catalog: LakeCatalog, base: Base, mode: Mode) -> None:
    """Let MERGE copy files or write delete files: Iceberg knows this as a property of the table alone.

    Isolation is ours: nothing of the attempt is published if anybody else has written meanwhile.
    """
    wanted = {**dict.fromkeys(_MODES, mode), "write.merge.isolation-level": "snapshot"}
    if all(base.table.properties.get(key) == value for key, value in wanted.items()):
        return
    uuid = AssertTableUUID(uuid=base.table.metadata.table_uuid)
    catalog.commit_tables([TableChange(base.identifier, (uuid,), (SetPropertiesUpdate(updates=wanted),))])


def collect_tombstones(catalog: LakeCatalog, base: Base, attempt: Attempt, low_watermark_us: int) -> int:
    """Remove tombstones that no late change can meet any more, when they are many; returns how many at least.

    Told by the bounds of files. What is removed is decided by time alone, so removing fewer is never wrong.
    """
    if base.snapshot_id is None or not low_watermark_us:
        return 0
    files = holding(base.table, base.snapshot_id, (TIME_COLUMN.name,)).files
    old = sum(
        file.rows - file.deleted
        for file in files
        if TIME_COLUMN.name in file.bounds and file.bounds[TIME_COLUMN.name][1] < low_watermark_us
    )
    total = sum(file.rows - file.deleted for file in files)
    if old < _COLLECT_ROWS and (old < _COLLECT_LEAST or old < _COLLECT_SHARE * total):
        return 0

    def forget(transaction: Transaction) -> None:
        condition = LessThan(TIME_COLUMN.name, _moment(low_watermark_us))  # pyright: ignore[reportCallIssue]
        transaction.delete(condition, snapshot_properties=attempt.marks, branch=attempt.branch)

    open_branch(catalog, base, attempt)
    commit_on_branch(catalog, base, attempt.branch, forget)
    return old


def _merge(spark: SparkSession, target: Target, rows: DataFrame, plan: MergePlan, *, inserting: bool) -> None:
    columns = [field.name for field in target.base.table.schema().fields]
    count = plan.predicted.changed + (plan.predicted.inserted if inserting else 0)
    source = f"lakehouse_delta_{target.attempt.id}"
    small = count <= _BROADCAST_ROWS
    # One more than there may be: if there were more, the counts would not be those planned.
    (rows.limit(count + 1) if small else rows).createOrReplaceTempView(source)
    same = [f"t.`{c.name}` {'=' if c.required else '<=>'} s.`{c.name}`" for c in target.log.key_columns]
    updated = ", ".join(f"t.`{name}` = s.`{name}`" for name in columns)
    clauses = []
    if plan.predicted.deleted:
        clauses.append("WHEN MATCHED AND s._action = 'delete' THEN DELETE")
    if plan.predicted.updated:
        clauses.append(f"WHEN MATCHED AND s._action = 'update' THEN UPDATE SET {updated}")
    if inserting:
        names, values = (", ".join(f"{prefix}`{name}`" for name in columns) for prefix in ("", "s."))
        clauses.append(f"WHEN NOT MATCHED AND s._action = 'insert' THEN INSERT ({names}) VALUES ({values})")
    condition = " AND ".join([*same, *plan.literals])
    branch = branch_table(target.base, target.attempt)
    try:
        with set_for(spark, _BROADCAST if small else {}):
            spark.sql(f"MERGE INTO {branch} t USING {source} s ON {condition} {' '.join(clauses)}")
    finally:
        spark.catalog.dropTempView(source)


def _verified(spark: SparkSession, target: Target, plan: MergePlan, *, before: int) -> MergePlan:
    """The plan with the counts of the branch's snapshots, if they are those that were planned."""
    table = target.catalog.load_table(target.base.identifier)
    actual = _counted(table, target)
    live = _live_rows(spark, table, target)
    inserted, deleted = plan.predicted.inserted, plan.predicted.deleted
    predicted = {**plan.predicted.as_dict(), "rows": before + inserted - deleted}
    outcome = {**actual, "rows": live}
    if any(outcome[name] != count for name, count in predicted.items()):
        raise MergeDiffers(target.base.name, predicted, outcome, target.attempt.branch)
    return replace(plan, actual=outcome)


def _counted(table: Table, target: Target) -> dict[str, int]:
    """Rows that the attempt's snapshots inserted, updated and deleted, by Iceberg's counters, and bytes written."""
    counts = dict.fromkeys((*DeltaRows().as_dict(), "bytes"), 0)
    for snapshot in ancestry(table, head_of(table, target.attempt.branch)):
        if snapshot.snapshot_id == target.base.snapshot_id:
            break
        summary = summary_of(snapshot)
        counts["bytes"] += int(summary.get("added-files-size", "0"))
        if any(key.startswith(_COUNTER) for key in summary):
            for name in DeltaRows().as_dict():
                counts[name] += int(summary.get(f"{_COUNTER}{name}", "0"))
            counts["copied"] = counts.get("copied", 0) + int(summary.get(f"{_COUNTER}copied", "0"))
        else:
            counts["inserted"] += int(summary.get("added-records", "0"))
    return counts


def _live_rows(spark: SparkSession, table: Table, target: Target) -> int:
    """Rows that the branch holds, from manifests where these can tell, otherwise by counting."""
    branch_files = holding(table, head_of(table, target.attempt.branch), ())
    if branch_files.exact:
        return branch_files.rows
    branch = spark.read.option("versionAsOf", target.attempt.branch).table(quoted_table(target.base.name))
    return branch.count()


def _moment(us: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)).isoformat()
