"""What one look at a state gives: what is due, what is not and why, and when that could change."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from lakehouse.declarations import Maintenance
from lakehouse.steps.maintenance.model.action import Action, Why, Withheld
from lakehouse.steps.maintenance.model.preconditions import refusals
from lakehouse.steps.maintenance.model.state import MeasuredState
from lakehouse.steps.maintenance.plan.budget import Budget

MIB = 1024**2


@dataclass(frozen=True)
class RuleInput:
    """What a decision is made from.

    Attributes:
        state: the table.
        policy: what is declared.
        budget: what one run may spend.
    """

    state: MeasuredState
    policy: Maintenance
    budget: Budget

    @property
    def now(self) -> datetime:
        """The moment of the measurement: there is no other clock."""
        return self.state.measured_at


@dataclass(frozen=True)
class DueResult:
    """The answer for one operation.

    Attributes:
        actions: that are due.
        withheld: that would be, if nothing stood in the way.
        because: why nothing of it is due, in words.
        again_at: when time alone could make something due.
    """

    actions: tuple[Action, ...] = ()
    withheld: tuple[Withheld, ...] = ()
    because: tuple[str, ...] = ()
    again_at: datetime | None = None

    @classmethod
    def nothing(cls, because: str, again_at: datetime | None = None) -> "DueResult":
        """Nothing is due."""
        return cls(because=(because,), again_at=again_at)


def refused(rule_input: RuleInput, result: DueResult) -> DueResult:
    """The same, with what runs into a known trap withheld by the trap's name."""
    kept: list[Action] = []
    withheld = list(result.withheld)
    for action in result.actions:
        traps = refusals(rule_input.state, rule_input.policy, action.operation)
        if traps:
            reasons = tuple(f"{type(trap).__name__}: {trap}" for trap in traps)
            withheld.append(withheld_action(action, "refused", reasons))
        else:
            kept.append(action)
    return DueResult(tuple(kept), tuple(withheld), result.because, result.again_at)


def withheld_action(action: Action, why: Why, reasons: Iterable[str], *, until: datetime | None = None) -> Withheld:
    """What is not done, and why not."""
    return Withheld(action=replace(action, reasons=tuple(reasons)), why=why, until=until)


def sized(size: float) -> str:
    """A size as a person reads it."""
    if size < MIB:
        return f"{size / 1000:,.1f} kB"
    return f"{size / MIB:,.1f} MiB" if size < 1024 * MIB else f"{size / MIB / 1024:,.1f} GiB"


def moment(timestamp: datetime) -> str:
    """A moment as a person reads it."""
    return f"{timestamp:%Y-%m-%d %H:%M:%S} UTC"
