"""What all of maintenance shares: an operation, and what came of it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal

from pyspark.sql import SparkSession

from lakehouse.declarations import Declarations, Maintenance, Table
from lakehouse.declarations.own_tables.action_effect import ActionEffect, TableMeasure
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.steps.maintenance.model.state import MeasuredState, Partition

Why = Literal["quiet", "few", "budget", "blocked", "refused", "after", "failed", "excluded", "unreadable"]
Result = Literal["done", "proof_failed", "overtaken", "failed", "dry_run", "nothing", "withheld"]


class Operation(StrEnum):
    """What can be done, in the order in which it is done."""

    BRANCHES = "branches"
    LEASES = "leases"
    DEDUPLICATE = "deduplicate"
    REWRITE = "rewrite"
    MANIFESTS = "manifests"
    STATISTICS = "statistics"
    EXPIRE = "expire"
    ORPHANS = "orphans"
    NOTHING = "nothing"

    @property
    def rewrites(self) -> bool:
        """Whether it publishes other files for rows that are there: one such a run."""
        return self in (Operation.DEDUPLICATE, Operation.REWRITE, Operation.MANIFESTS)

    @property
    def deletes(self) -> bool:
        """Whether it takes away what cannot be brought back, so that a person has to allow it."""
        return self in (
            Operation.BRANCHES,
            Operation.LEASES,
            Operation.DEDUPLICATE,
            Operation.EXPIRE,
            Operation.ORPHANS,
        )


@dataclass(frozen=True, kw_only=True)
class Action:
    """One thing to do, and why.

    Attributes:
        operation: what.
        partitions: where; none for what concerns the whole table.
        max_bytes: at most so much is read, where there is more than the policy or the budget allows at once; None
            where all of it is meant.
        bytes: that it reads, and of files writes anew: what the budget is spent on.
        reasons: in words, without the value of any row.
        blocked_by: who stands in the way, and until when.
    """

    operation: Operation
    partitions: tuple[Partition, ...] = ()
    max_bytes: int | None = None
    bytes: int = 0
    reasons: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Withheld:
    """What was not done, and why not.

    Attributes:
        action: that was not taken; its reasons say why not.
        why: in one word.
        until: when to ask again; None where time alone changes nothing.
    """

    action: Action
    why: Why
    until: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What a person may want to set; nothing follows of itself.

    Attributes:
        setting: the table property.
        value: that would be better.
        because: why.
    """

    setting: str
    value: str
    because: str


@dataclass(frozen=True, kw_only=True)
class MaintenancePlan:
    """What to do about one table, in order.

    Attributes:
        table: `namespace.table`.
        state_digest: of the state that it was decided from.
        actions: to be done; the one `NOTHING` where there are no others.
        withheld: what was not taken.
        look_again_at: when a decision on the same table could be another one.
        recommendations: what a person may want to set.
    """

    table: str
    state_digest: str
    actions: tuple[Action, ...]
    withheld: tuple[Withheld, ...] = ()
    look_again_at: datetime | None = None
    recommendations: tuple[Advice, ...] = ()

    @property
    def nothing(self) -> bool:
        """Whether there is nothing to do."""
        return all(action.operation is Operation.NOTHING for action in self.actions)


@dataclass(frozen=True, kw_only=True)
class ActionOutcome:
    """What came of an action.

    Attributes:
        action: that was taken.
        result: in one word.
        before: the table before it.
        after: and after it; None where it is as before.
        snapshot_id: that it published; None for none.
        message: in words.
        effect: what it counted: rows removed, seconds of proof, files deleted.
    """

    action: Action
    result: Result
    before: TableMeasure = field(default_factory=TableMeasure)
    after: TableMeasure | None = None
    snapshot_id: int | None = None
    message: str = ""
    effect: ActionEffect = field(default_factory=ActionEffect)


@dataclass(frozen=True, kw_only=True)
class MaintenanceWork:
    """What every operation is given: `run(work: Work, action: Action) -> Outcome`.

    Attributes:
        catalog: where the table lives.
        declarations: of everything: who reads the table is in there.
        declared: the table.
        base: the table as it was loaded for this action.
        state: what the plan was decided from.
        policy: of the table.
        attempt: who works; its step is `maintain:<table>`.
        session: opens Spark; most operations never do.
        inform: told of progress.
        allow: whether what cannot be brought back may be deleted; otherwise it is only shown.
        longest_run: the longest run that Dagster remembers.
        in_process_proof: up to so many bytes are proven in this process, more by Spark.
    """

    catalog: LakeCatalog
    declarations: Declarations
    declared: Table
    base: Base
    state: MeasuredState
    policy: Maintenance
    attempt: Attempt
    session: Callable[[], AbstractContextManager[SparkSession]]
    inform: Callable[[str], None]
    allow: bool = False
    longest_run: timedelta = timedelta(0)
    in_process_proof: int = 8 * 1024**3
