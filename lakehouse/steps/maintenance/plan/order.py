"""In which order operations are done in one run, and which of them wait for another run."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lakehouse.declarations import Maintenance
from lakehouse.steps.maintenance.expire.snapshot_selection import select_snapshots
from lakehouse.steps.maintenance.model.action import Action, Operation, Withheld
from lakehouse.steps.maintenance.model.state import MeasuredState

_RANK = {operation: rank for rank, operation in enumerate(Operation)}
# A table whose writers never rest always has something to rewrite: with so many times what stays, expiry is first.
_TOO_MANY = 1.5


@dataclass(frozen=True)
class Ordered:
    """What one run does, in order, and what waits."""

    actions: tuple[Action, ...]
    waiting: tuple[Withheld, ...]


def ordered(actions: Sequence[Action], state: MeasuredState, policy: Maintenance) -> Ordered:
    """Put actions in order: one rewrite of files at the most, and expiry never in the run of a rewrite.

    A rewrite stands on snapshots that expiry might let go; and what a run has written is not to be judged by that run.
    """
    expires = any(action.operation is Operation.EXPIRE for action in actions)
    expiry_first = _expiry_first(state, policy) if expires else ""
    rewriting: Operation | None = None
    kept: list[Action] = []
    waiting: list[Withheld] = []
    for action in sorted(actions, key=lambda action: (_RANK[action.operation], action.partitions)):
        if action.operation.rewrites and expiry_first:
            waiting.append(_after(action, expiry_first))
        elif action.operation.rewrites and rewriting is not None:
            waiting.append(_after(action, f"waits for a run of its own, after {rewriting}"))
        elif action.operation in (Operation.EXPIRE, Operation.ORPHANS) and rewriting is not None:
            waiting.append(_after(action, f"waits for a run without {rewriting}, which stands on older snapshots"))
        else:
            kept.append(action)
            if action.operation.rewrites:
                rewriting = action.operation
    return Ordered(tuple(kept), tuple(waiting))


def _expiry_first(state: MeasuredState, policy: Maintenance) -> str:
    """Why expiry comes before a rewrite; empty where it does not."""
    if policy.expire is None:
        return ""
    count, going = state.totals.snapshots, len(select_snapshots(state, policy.expire).snapshot_ids)
    if count <= _TOO_MANY * (count - going):
        return ""
    return f"waits: expiry comes first, as {going} of {count} snapshots may go"


def _after(action: Action, reason: str) -> Withheld:
    return Withheld(action=replace(action, reasons=(reason, *action.reasons)), why="after")
