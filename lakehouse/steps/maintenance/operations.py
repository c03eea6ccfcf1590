"""The one list of operations: what of a plan is carried out by which module."""

from collections.abc import Callable, Mapping

from lakehouse.steps.maintenance.deduplicate import deduplicate
from lakehouse.steps.maintenance.expire import branches, expire, overdue
from lakehouse.steps.maintenance.model.action import Action, ActionOutcome, MaintenanceWork, Operation
from lakehouse.steps.maintenance.orphans import removal
from lakehouse.steps.maintenance.rewrite import column_statistics, compact, manifests

Run = Callable[[MaintenanceWork, Action], ActionOutcome]

OPERATIONS: Mapping[Operation, Run] = {
    Operation.BRANCHES: branches.run,
    Operation.LEASES: overdue.run,
    Operation.DEDUPLICATE: deduplicate.run,
    Operation.REWRITE: compact.run,
    Operation.MANIFESTS: manifests.run,
    Operation.STATISTICS: column_statistics.run,
    Operation.EXPIRE: expire.run,
    Operation.ORPHANS: removal.run,
}
