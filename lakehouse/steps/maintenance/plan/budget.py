"""How much may be done at one look over all tables: who was looked after longest ago first, and the rest is told so."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from lakehouse.settings import MaintenanceSettings
from lakehouse.steps.maintenance.model.action import Action, MaintenancePlan, Operation, Withheld
from lakehouse.steps.maintenance.model.partitions import EPOCH

_NOBODY: Mapping[str, datetime] = {}


@dataclass(frozen=True)
class Budget:
    """What may be spent.

    Attributes:
        bytes: that are read and written anew.
        runs: tables at once.
    """

    bytes: int = 2 * 1024**3
    runs: int = 1

    @classmethod
    def of(cls, settings: MaintenanceSettings) -> "Budget":
        """Of one look of the sensor."""
        return cls(int(settings.bytes_per_tick), settings.runs_per_tick)

    def left(self, plan: MaintenancePlan) -> "Budget":
        """What is left when a plan is paid for."""
        return Budget(self.bytes - sum(action.bytes for action in plan.actions), self.runs - 1)

    def covers(self, plan: MaintenancePlan) -> bool:
        """Whether a plan can be paid for."""
        remaining = self.left(plan)
        return remaining.bytes >= 0 and remaining.runs >= 0


@dataclass(frozen=True)
class Allotment:
    """Plans of all tables, in the order in which they were given.

    Attributes:
        chosen: that are carried out now, in their order.
        postponed: that have to wait for a later look, each with its actions withheld and why.
        idle: that had nothing to do.
    """

    chosen: tuple[MaintenancePlan, ...]
    postponed: tuple[MaintenancePlan, ...]
    idle: tuple[MaintenancePlan, ...]

    @property
    def plans(self) -> tuple[MaintenancePlan, ...]:
        """All of them."""
        return (*self.chosen, *self.postponed, *self.idle)


def within(actions: Sequence[Action], budget: Budget) -> tuple[tuple[Action, ...], tuple[Withheld, ...]]:
    """Those of a table's actions that its run can pay for, in their order, and the others.

    One that costs too much must not keep the table from the others: no look will ever pay for it.
    """
    kept: list[Action] = []
    over: list[Withheld] = []
    size = 0
    for action in actions:
        if size + action.bytes <= budget.bytes:
            kept.append(action)
            size += action.bytes
        else:
            reason = f"reads {action.bytes:,} bytes; a run may {budget.bytes:,}, all its actions together"
            over.append(Withheld(action=replace(action, reasons=(reason, *action.reasons)), why="budget"))
    return tuple(kept), tuple(over)


def allot(plans: Iterable[MaintenancePlan], budget: Budget, attended: Mapping[str, datetime] = _NOBODY) -> Allotment:
    """Choose those that wait longest, as far as the budget goes; of equals the first by name.

    Args:
        plans: of all tables.
        budget: for all of them together.
        attended: table → when something that it needs now was last done or tried; who is not in it never was.
    """
    longest_waiting = sorted(plans, key=lambda plan: (attended.get(plan.table, EPOCH), plan.table))
    chosen: list[MaintenancePlan] = []
    postponed: list[MaintenancePlan] = []
    remaining = budget
    for plan in longest_waiting:
        if plan.nothing:
            continue
        if remaining.covers(plan):
            chosen.append(plan)
            remaining = remaining.left(plan)
        else:
            postponed.append(_postponed(plan, chosen))
    idle = tuple(plan for plan in longest_waiting if plan.nothing)
    return Allotment(tuple(chosen), tuple(postponed), idle)


def _postponed(plan: MaintenancePlan, chosen: list[MaintenancePlan]) -> MaintenancePlan:
    first = ", ".join(other.table for other in chosen) or "nothing: it costs more than a whole look may"
    reason = f"the budget of this look went to {first}"
    waiting = tuple(
        Withheld(action=replace(action, reasons=(reason, *action.reasons)), why="budget") for action in plan.actions
    )
    return replace(
        plan,
        actions=(Action(operation=Operation.NOTHING, reasons=(reason,)),),
        withheld=(*waiting, *plan.withheld),
    )
