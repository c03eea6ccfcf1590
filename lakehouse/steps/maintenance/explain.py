"""A plan in words, and as JSON: the same for whoever asks on the command line."""

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec

from lakehouse.quantities import quantity
from lakehouse.steps.maintenance.model.action import Action, MaintenancePlan, Operation, Withheld
from lakehouse.steps.maintenance.plan.decide import OVERDUE
from lakehouse.steps.maintenance.plan.due_result import sized
from lakehouse.steps.maintenance.survey import Surveyed

_MOST_PARTITIONS = 3
_INDENT = "    "
_WRITTEN = (Operation.REWRITE, Operation.MANIFESTS)  # others read so many bytes

Standing = Literal["needs something", "waits", "nothing"]


def in_words(surveyed: Surveyed) -> list[str]:
    """A table's plan, a line for each thing to know; the first names the table."""
    state, plan = surveyed.state, surveyed.plan
    totals = state.totals
    lines = [
        f"{plan.table}: {totals.files} files of {sized(totals.bytes)}, "
        f"{totals.snapshots} snapshots, measured by {state.depth.name.lower()}"
    ]
    # What was withheld is told below, with all that is known of it.
    prefixes = tuple(f"{withheld.action.operation}, " for withheld in plan.withheld)
    for action in plan.actions:
        lines += _action(action, prefixes)
    for withheld in plan.withheld:
        lines += _withheld(withheld)
    lines += _recommended(plan)
    if plan.look_again_at is not None:
        lines.append(f"  another decision at the earliest at {plan.look_again_at:%Y-%m-%d %H:%M:%S} UTC")
    return lines


def standing(plan: MaintenancePlan) -> Standing:
    """Whether a table needs something now, or would, if it did not wait for something or somebody."""
    if not plan.nothing:
        return "needs something"
    overdue = any(reason.startswith(OVERDUE) for action in plan.actions for reason in action.reasons)
    waits = any(withheld.why not in ("few", "excluded") for withheld in plan.withheld)
    return "waits" if waits or overdue else "nothing"


def in_short(surveyed: Surveyed) -> list[str]:
    """The same in one line, of a table that needs nothing."""
    plan = surveyed.plan
    if standing(plan) != "nothing":
        return in_words(surveyed)
    excluded = [
        reason for withheld in plan.withheld if withheld.why == "excluded" for reason in withheld.action.reasons
    ]
    suffix = "".join(f": {reason}" for reason in excluded)
    return [f"{plan.table}: nothing to do{suffix}", *_recommended(plan)]


def summary(surveys: Iterable[Surveyed]) -> str:
    """How many tables there are, and how they are."""
    standings = [standing(surveyed.plan) for surveyed in surveys]
    need, wait, idle = (standings.count(kind) for kind in ("needs something", "waits", "nothing"))
    tables = quantity(len(standings), "table")
    return f"{tables}: {need} need{'s' * (need == 1)} something, {wait} wait{'s' * (wait == 1)}, {idle} nothing"


def as_json(surveyed: Surveyed) -> dict[str, Any]:
    """The same with every number; values of partitions by sensitive columns are not in it."""
    plan = msgspec.to_builtins(surveyed.plan)
    totals = {"totals": msgspec.to_builtins(surveyed.state.totals), "depth": surveyed.state.depth.name.lower()}
    return {**plan, **totals, "holders": msgspec.to_builtins(surveyed.state.holders)}


def because(reasons: Iterable[str], blocked_by: Iterable[str]) -> Iterator[str]:
    """Lines that say why, and who is in the way."""
    yield from (f"{_INDENT}{reason}" for reason in reasons)
    yield from (f"{_INDENT}held up by {blocker}" for blocker in blocked_by)


def _action(action: Action, prefixes: tuple[str, ...]) -> Iterator[str]:
    if action.operation is not Operation.NOTHING:
        yield f"  {action.operation}{_partition_list(action)}{_size(action)}"
        yield from because(action.reasons, action.blocked_by)
    elif reasons := [reason for reason in action.reasons if not reason.startswith(prefixes)]:
        yield "  nothing, because"
        yield from because(reasons, ())


def _withheld(withheld: Withheld) -> Iterator[str]:
    if withheld.action.operation is Operation.NOTHING:  # the whole table is left alone, and that is told already
        return
    until = f" until {withheld.until:%Y-%m-%d %H:%M:%S} UTC" if withheld.until is not None else ""
    yield f"  not now: {withheld.action.operation}{_partition_list(withheld.action)} ({withheld.why}{until})"
    yield from because(withheld.action.reasons, withheld.action.blocked_by)


def _recommended(plan: MaintenancePlan) -> list[str]:
    return [f"  recommended: {advice.setting}={advice.value}: {advice.because}" for advice in plan.recommendations]


def _partition_list(action: Action) -> str:
    names = [partition.name for partition in action.partitions]
    suffix = f" and {len(names) - _MOST_PARTITIONS} more" if len(names) > _MOST_PARTITIONS else ""
    return f" of {', '.join(names[:_MOST_PARTITIONS])}{suffix}" if names else ""


def _size(action: Action) -> str:
    if not action.bytes:
        return ""
    return f": {sized(action.bytes)} {'written anew' if action.operation in _WRITTEN else 'to read'}"
