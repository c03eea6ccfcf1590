"""What to do about a table: a pure function of its state, its policy and the budget.

There is no clock in it but the moment of the measurement, nothing random, and no order but that of names: the same
state gives the same plan. Doing nothing is a decision, and has reasons too.
"""

from collections.abc import Callable, Collection, Mapping
from datetime import timedelta

from lakehouse.declarations import Maintenance
from lakehouse.steps.maintenance.expire.overdue import late
from lakehouse.steps.maintenance.model.action import Action, MaintenancePlan, Operation, Why, Withheld
from lakehouse.steps.maintenance.model.state import MeasuredState
from lakehouse.steps.maintenance.plan.budget import Budget, within
from lakehouse.steps.maintenance.plan.due_deduplicate import due_deduplicate
from lakehouse.steps.maintenance.plan.due_result import DueResult, RuleInput, refused
from lakehouse.steps.maintenance.plan.due_rewrite import due_rewrite
from lakehouse.steps.maintenance.plan.due_table import (
    describe,
    due_branches,
    due_expire,
    due_leases,
    due_manifests,
    due_orphans,
    due_statistics,
)
from lakehouse.steps.maintenance.plan.layout import advise_layout
from lakehouse.steps.maintenance.plan.modes import advise_mode
from lakehouse.steps.maintenance.plan.order import ordered

_DUE: Mapping[Operation, Callable[[RuleInput], DueResult]] = {
    Operation.BRANCHES: due_branches,
    Operation.LEASES: due_leases,
    Operation.DEDUPLICATE: due_deduplicate,
    Operation.REWRITE: due_rewrite,
    Operation.MANIFESTS: due_manifests,
    Operation.STATISTICS: due_statistics,
    Operation.EXPIRE: due_expire,
    Operation.ORPHANS: due_orphans,
}
_WHY: Mapping[Why, str] = {
    "quiet": "not quiet",
    "few": "not worth it",
    "budget": "over the budget",
    "blocked": "blocked",
    "refused": "refused",
    "after": "after something else",
    "failed": "failed before",
    "excluded": "excluded",
    "unreadable": "unreadable",
}
# A decision on a table that nobody touches stands for so long, in case that what we know of it is not all.
LONGEST_VALID = timedelta(days=1)
OVERDUE = "OVERDUE"


def decide(
    state: MeasuredState,
    policy: Maintenance,
    budget: Budget,
    only: Collection[Operation] = tuple(Operation),
    *,
    cores: int = 1,
) -> MaintenancePlan:
    """Decide what to do.

    Args:
        state: the table, as it was measured.
        policy: what is declared.
        budget: what one run may spend.
        only: what is asked for; nothing else is looked at.
        cores: that write at once, for what is recommended.
    """
    if state.unreadable:
        return _not_at_all(state, "unreadable", state.unreadable)
    if policy.excluded:
        exclusion = f"excluded by its declaration: {policy.excluded}"
        return _not_at_all(state, "excluded", exclusion)
    rule_input = RuleInput(state, policy, budget)
    results = [refused(rule_input, due(rule_input)) for operation, due in _DUE.items() if operation in only]
    order = ordered([action for result in results for action in result.actions], state, policy)
    actions, over = within(order.actions, budget)
    withheld = (*(waiting for result in results for waiting in result.withheld), *order.waiting, *over)
    warnings = tuple(f"{OVERDUE}: {describe(holder)}" for holder in late(rule_input.state.holders, rule_input.now))
    because = (*(reason for result in results for reason in result.because), *map(_in_short, withheld))
    if not because:
        because = tuple(f"{operation}: the declaration has no policy for it" for operation in _DUE if operation in only)
    times = [
        *(result.again_at for result in results),
        *(waiting.until for waiting in withheld),
        state.measured_at + LONGEST_VALID,
    ]
    nothing = Action(operation=Operation.NOTHING, reasons=(*warnings, *because), blocked_by=_blockers(withheld))
    return MaintenancePlan(
        table=state.table,
        state_digest=state.digest,
        actions=actions or (nothing,),
        withheld=withheld,
        look_again_at=min(time for time in times if time is not None and time > state.measured_at),
        recommendations=(*advise_layout(state, policy, cores), *advise_mode(state)),
    )


def _not_at_all(state: MeasuredState, why: Why, reason: str) -> MaintenancePlan:
    nothing = Action(operation=Operation.NOTHING, reasons=(reason,))
    return MaintenancePlan(
        table=state.table,
        state_digest=state.digest,
        actions=(nothing,),
        withheld=(Withheld(action=nothing, why=why),),
        look_again_at=state.measured_at + LONGEST_VALID,
    )


def _in_short(withheld: Withheld) -> str:
    first, *others = withheld.action.reasons
    suffix = f" (and {len(others)} reasons more)" if others else ""
    return f"{withheld.action.operation}, {_WHY[withheld.why]}: {first}{suffix}"


def _blockers(withheld: tuple[Withheld, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(blocker for postponed in withheld for blocker in postponed.action.blocked_by))
