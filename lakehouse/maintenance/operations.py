"""The one list of operations: what of a plan is carried out by which module."""

from collections.abc import Callable, Mapping

from lakehouse.maintenance import branches, column_statistics, compact, deduplicate, expire, manifests, orphans, overdue
from lakehouse.maintenance.action import Action, Operation, Outcome, Work

Run = Callable[[Work, Action], Outcome]

OPERATIONS: Mapping[Operation, Run] = {
    Operation.BRANCHES: branches.run,
    Operation.LEASES: overdue.run,
    Operation.DEDUPLICATE: deduplicate.run,
    Operation.REWRITE: compact.run,
    Operation.MANIFESTS: manifests.run,
    Operation.STATISTICS: column_statistics.run,
    Operation.EXPIRE: expire.run,
    Operation.ORPHANS: orphans.run,
}
