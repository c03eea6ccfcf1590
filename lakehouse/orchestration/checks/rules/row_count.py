"""The number of rows: within what the declaration expects?"""

import dagster as dg

from lakehouse.contracts.rules.stored.count import RowCount
from lakehouse.contracts.rules.stored.questions import describe_limits, row_limits
from lakehouse.contracts.rules.stored.scan import count_broken
from lakehouse.contracts.rules.stored.scope import RowScope
from lakehouse.declarations import Table
from lakehouse.engines.spark import single_job
from lakehouse.orchestration.checks.table_question import Judge, TableCheckRun

NAME = "row_count"


def count_judges(table: Table) -> list[Judge]:
    """One check for all that a table expects of its number of rows."""
    expected = row_limits(table)
    if not expected:
        return []
    description = (
        f"The table has {', '.join(map(describe_limits, expected))}. From the snapshot's summary; rows are counted "
        "only where delete files leave their number open."
    )
    return [Judge(NAME, description, _answer, blocking=any(limits.severity == "blocking" for limits in expected))]


def _answer(check_run: TableCheckRun) -> dg.AssetCheckResult:
    count, source = _count(check_run)
    outside = [limits for limits in row_limits(check_run.table) if count.outside(limits)]
    severe = any(limits.severity == "blocking" for limits in outside)
    expected = ", ".join(map(describe_limits, outside or row_limits(check_run.table)))
    rows = f"{count.least:,}" if count.exact is not None else f"{count.least:,} to {count.most:,}"
    return dg.AssetCheckResult(
        asset_key=check_run.key,
        check_name=NAME,
        passed=not outside,
        severity=dg.AssetCheckSeverity.ERROR if severe or not outside else dg.AssetCheckSeverity.WARN,
        description=f"{rows} rows; {expected} {'are expected' if outside else 'were expected'}.",
        metadata={
            "snapshot id": str(check_run.pinned.snapshot_id or "none"),
            "rows": count.least,
            "answered from": source,
        },
    )


def _count(check_run: TableCheckRun) -> tuple[RowCount, str]:
    """How many rows there are, as exactly as the expectations need it."""
    if check_run.pinned.snapshot_id is None:
        return RowCount(0, 0), "no snapshot yet"
    scope = RowScope.of(check_run.pinned.table, check_run.pinned.snapshot_id, None)
    count = RowCount.by_summary(scope.snapshot)
    if count.most is not None and all(count.outside(limits) is not None for limits in row_limits(check_run.table)):
        return count, "summary"
    with check_run.session() as spark, single_job(spark):
        rows, _ = count_broken(scope.frame(spark), check_run.table, [])
    return RowCount(rows, rows), "scan"
