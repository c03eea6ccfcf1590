"""The checks of maintenance: did it keep what it must not change, and can everybody go on? One op a table, no Spark.

They read what was written down and what the table itself says, never a data file.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import dagster as dg
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table as IcebergTable

from lakehouse.declarations import Declarations, Table
from lakehouse.declarations.own_tables.decision_row import DecisionRow
from lakehouse.orchestration.checks.maintenance.orphans import deleted_too_early
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.resources import Lake
from lakehouse.orchestration.resources.maintenance_metadata import maintenance_key
from lakehouse.orchestration.resources.materialization import rows_shown
from lakehouse.steps.maintenance.expire.consumers import can_plan
from lakehouse.steps.maintenance.expire.holds import holders_of
from lakehouse.steps.maintenance.expire.overdue import late, warning
from lakehouse.steps.maintenance.log.history import rows_about

CONTENT = "content_kept"
CONSUMERS = "consumers_can_plan"
LEASES = "leases_in_time"
ORPHANS = "orphans_remembered"
_NOTHING_YET = "The table does not exist yet, so there is nothing to prove."


@dataclass(frozen=True)
class MaintenanceCheck:
    """What the checks of one table share."""

    lake: Lake
    table: Table
    now: datetime

    @cached_property
    def loaded(self) -> IcebergTable | None:
        """The table, loaded once; None where it does not exist."""
        try:
            return self.lake.catalog.load_table(self.table.identifier)
        except NoSuchTableError:
            return None

    @cached_property
    def rows(self) -> Sequence[DecisionRow]:
        """What was written down about it, newest first."""
        if self.loaded is None:
            return ()
        return rows_about(self.lake.catalog, str(self.loaded.metadata.table_uuid), self.now)

    @property
    def finished(self) -> list[DecisionRow]:
        """What came of operations, newest first."""
        return [row for row in self.rows if row.finished]

    def answer(
        self, name: str, broken: Sequence[tuple[str, str]], *, otherwise: str, warn: bool = False
    ) -> dg.AssetCheckResult:
        """A result: good where nothing is broken.

        Args:
            name: of the check.
            broken: what is not as it should be, and what to do.
            otherwise: what to say where all is well.
            warn: whether it is no more than a warning.
        """
        snapshot = self.loaded.metadata.current_snapshot_id if self.loaded is not None else None
        metadata: dict[str, Any] = {"snapshot id": str(snapshot or "none")}
        if broken:
            metadata["findings"] = rows_shown({"what is wrong": "string", "to repair": "string"}, list(broken))
        more = f" And {len(broken) - 1} more, see the findings." if len(broken) > 1 else ""
        return dg.AssetCheckResult(
            asset_key=maintenance_key(self.table.name, self.lake.names),
            check_name=name,
            passed=not broken,
            severity=dg.AssetCheckSeverity.WARN if warn else dg.AssetCheckSeverity.ERROR,
            description=f"{broken[0][0]}{more}" if broken else otherwise if self.loaded is not None else _NOTHING_YET,
            metadata=metadata,
        )


def _content(check: MaintenanceCheck) -> dg.AssetCheckResult:
    """The newest of each operation that rewrites counts: what was refused once and done well since is history."""
    newest: dict[str, DecisionRow] = {}
    for row in check.finished:
        if row.operation in ("rewrite", "manifests", "deduplicate"):
            newest.setdefault(row.operation, row)
    broken = [
        (
            f"{name} was refused by its proof, and nothing was published: {row.message}",
            f"see branch of {row.attempt}",
        )
        for name, row in newest.items()
        if row.result == "proof_failed"
    ]
    rows = sum((row.effect.rows or 0) for row in newest.values())
    sentence = f"Everything that was written anew was proven before it was published: {rows:,} rows by the newest runs."
    return check.answer(
        CONTENT, broken, otherwise=sentence if newest else "Nothing was written anew in the last 30 days."
    )


def _consumers(check: MaintenanceCheck) -> dg.AssetCheckResult:
    stuck = can_plan(check.lake.catalog, check.lake.declarations, check.table.name) if check.loaded is not None else ()
    broken = [
        (f"{consumer.kind} {consumer.name} cannot read on: {consumer.message}", consumer.remedy) for consumer in stuck
    ]
    return check.answer(CONSUMERS, broken, otherwise="Everybody who reads the table in ranges can plan the next one.")


def _leases(check: MaintenanceCheck) -> dg.AssetCheckResult:
    table = check.loaded
    overdue = (
        late(holders_of(check.lake.catalog, check.lake.declarations, table), check.now) if table is not None else ()
    )
    broken = [(warning(holder, check.now), holder.command) for holder in overdue]
    return check.answer(LEASES, broken, otherwise="No lease is overdue.", warn=True)


def _orphans(check: MaintenanceCheck) -> dg.AssetCheckResult:
    uuid = str(check.loaded.metadata.table_uuid) if check.loaded is not None else ""
    messages = deleted_too_early(check.lake.catalog, uuid) if uuid else []
    broken = [
        (message, "declare Orphans(delete=False), and tell whoever looks after this house") for message in messages
    ]
    return check.answer(
        ORPHANS, broken, otherwise="No orphan was deleted that was not one in an earlier look, long enough ago."
    )


_CHECKS: Mapping[str, tuple[str, Callable[[MaintenanceCheck], dg.AssetCheckResult]]] = {
    CONTENT: (
        "Was everything that was written anew proven to hold the same rows before it was published? A rewrite whose "
        "proof fails is dropped, and stands here until a later one is proven.",
        _content,
    ),
    CONSUMERS: (
        "Lets every mirror and every incremental table plan its next range, and opens every release: can all of them "
        "go on after what was expired?",
        _consumers,
    ),
    LEASES: ("Is a lease on old snapshots overdue? They stay, and nothing behind them can be expired.", _leases),
    ORPHANS: ("Was every file that was deleted an orphan in an earlier look, longer ago than any run takes?", _orphans),
}


def maintenance_checks(
    table: Table, declarations: Declarations, names: DagsterNames = DEFAULT_NAMES
) -> dg.AssetChecksDefinition:
    """Make the checks of the maintenance of one table."""
    assert table.name in declarations.tables
    key = maintenance_key(table.name, names)

    @dg.multi_asset_check(
        name=f"keeps_{'__'.join(table.identifier)}",
        description=f"Proves that maintenance of {table.name} keeps what it must not change.",
        specs=[
            dg.AssetCheckSpec(name, asset=key, description=description) for name, (description, _) in _CHECKS.items()
        ],
        can_subset=True,
    )
    @names.resources
    def prove_maintenance(
        context: dg.AssetCheckExecutionContext, lake: dg.ResourceParam[Lake]
    ) -> Iterator[dg.AssetCheckResult]:
        question = MaintenanceCheck(lake, table, datetime.now(UTC))
        wanted = {check.name for check in context.selected_asset_check_keys}
        yield from (answer(question) for name, (_, answer) in _CHECKS.items() if name in wanted)

    return prove_maintenance
