"""How much may be done at one look over all tables: the best gain for its cost first, and the rest is told so."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from lakehouse.settings import MaintenanceSettings
from lakehouse.steps.maintenance.model.action import Action, MaintenancePlan, Operation, Withheld
from lakehouse.steps.maintenance.model.partitions import NEVER

_NOBODY: Mapping[str, datetime] = {}


@dataclass(frozen=True)
class Budget:
    """What may be spent.

    Attributes:
        bytes: that are read and written anew.
        seconds: of work, as predicted.
        runs: tables at once.
    """

    bytes: int = 2 * 1024**3
    seconds: float = 600.0
    runs: int = 1

    @classmethod
    def of(cls, settings: MaintenanceSettings) -> "Budget":
        """Of one look of the sensor."""
        return cls(int(settings.bytes_per_tick), float(settings.seconds_per_tick), settings.runs_per_tick)

    def left(self, plan: MaintenancePlan) -> "Budget":
        """What is left when a plan is paid for."""
        return Budget(
            self.bytes - sum(action.predicted.bytes for action in plan.actions),
            self.seconds - sum(action.predicted.seconds for action in plan.actions),
            self.runs - 1,
        )

    def covers(self, plan: MaintenancePlan) -> bool:
        """Whether a plan can be paid for."""
        left = self.left(plan)
        return left.bytes >= 0 and left.seconds >= 0 and left.runs >= 0


@dataclass(frozen=True)
class Allotment:
    """Plans of all tables, in the order in which they were given.

    Attributes:
        chosen: that are carried out now, best first.
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
    size, seconds = 0, 0.0
    for action in actions:
        more, longer = size + action.predicted.bytes, seconds + action.predicted.seconds
        if more <= budget.bytes and longer <= budget.seconds:
            kept.append(action)
            size, seconds = more, longer
        else:
            told = (
                f"reads {action.predicted.bytes:,} bytes in {action.predicted.seconds:,.0f} s; a run may "
                f"{budget.bytes:,} in {budget.seconds:,.0f} s, all its actions together"
            )
            over.append(Withheld(action=replace(action, reasons=(told, *action.reasons)), why="budget"))
    return tuple(kept), tuple(over)


def worth(plan: MaintenancePlan) -> float:
    """Gain for cost: milliseconds that every reader and writer saves, and files fewer, for each second of work."""
    gained = sum(a.predicted.plan_ms + a.predicted.commit_ms + a.predicted.files_removed for a in plan.actions)
    spent = sum(a.predicted.seconds for a in plan.actions)
    likely = min((a.predicted.survives for a in plan.actions), default=1.0)
    return gained * likely / (1 + spent)


def allot(plans: Iterable[MaintenancePlan], budget: Budget, turns: Mapping[str, datetime] = _NOBODY) -> Allotment:
    """Choose greedily by gain for cost; of equals the first by name. What costs too much alone waits for no turn.

    Args:
        plans: of all tables.
        budget: for all of them together.
        turns: table → since when it waits, of those that have waited too long: they are first, the longest of all.
            Much of what is due makes no file fewer, and in a lake that never rests something else always does.
    """
    given = sorted(plans, key=lambda plan: (turns.get(plan.table, NEVER), -worth(plan), plan.table))
    chosen: list[MaintenancePlan] = []
    postponed: list[MaintenancePlan] = []
    left = budget
    for plan in given:
        if plan.nothing:
            continue
        if left.covers(plan):
            chosen.append(plan)
            left = left.left(plan)
        else:
            postponed.append(_postponed(plan, chosen))
    idle = tuple(plan for plan in given if plan.nothing)
    return Allotment(tuple(chosen), tuple(postponed), idle)


def _postponed(plan: MaintenancePlan, chosen: list[MaintenancePlan]) -> MaintenancePlan:
    first = ", ".join(one.table for one in chosen) or "nothing: it costs more than a whole look may"
    told = f"the budget of this look went to {first}"
    waiting = tuple(
        Withheld(action=replace(action, reasons=(told, *action.reasons)), why="budget") for action in plan.actions
    )
    return replace(
        plan,
        actions=(Action(operation=Operation.NOTHING, reasons=(told,)),),
        withheld=(*waiting, *plan.withheld),
    )
