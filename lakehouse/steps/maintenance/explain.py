"""A plan in words, and as JSON: the same for whoever asks on the command line."""

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec

from lakehouse.steps.maintenance.model.action import Action, MaintenancePlan, Operation, Withheld
from lakehouse.steps.maintenance.plan.decide import OVERDUE
from lakehouse.steps.maintenance.plan.due import sized
from lakehouse.steps.maintenance.survey import Surveyed

_MOST_PARTITIONS = 3
_INDENT = "    "
_WRITTEN = (Operation.REWRITE, Operation.MANIFESTS)  # others read so many bytes

Standing = Literal["needs something", "waits", "nothing"]


def in_words(found: Surveyed) -> list[str]:
    """A table's plan, a line for each thing to know; the first names the table."""
    state, plan = found.state, found.plan
    totals = state.totals
    lines = [
        f"{plan.table}: {totals.files} files of {sized(totals.bytes)}, "
        f"{totals.snapshots} snapshots, measured by {state.depth.name.lower()}"
    ]
    # What was withheld is told below, with all that is known of it.
    again = tuple(f"{one.action.operation}, " for one in plan.withheld)
    for action in plan.actions:
        lines += _action(action, again)
    for one in plan.withheld:
        lines += _withheld(one)
    lines += _recommended(plan)
    if plan.look_again_at is not None:
        lines.append(f"  another decision at the earliest at {plan.look_again_at:%Y-%m-%d %H:%M:%S} UTC")
    return lines


def standing(plan: MaintenancePlan) -> Standing:
    """Whether a table needs something now, or would, if it did not wait for something or somebody."""
    if not plan.nothing:
        return "needs something"
    overdue = any(reason.startswith(OVERDUE) for action in plan.actions for reason in action.reasons)
    waits = any(one.why not in ("few", "excluded") for one in plan.withheld)
    return "waits" if waits or overdue else "nothing"


def in_short(found: Surveyed) -> list[str]:
    """The same in one line, of a table that needs nothing."""
    plan = found.plan
    if standing(plan) != "nothing":
        return in_words(found)
    excluded = [reason for one in plan.withheld if one.why == "excluded" for reason in one.action.reasons]
    told = "".join(f": {reason}" for reason in excluded)
    return [f"{plan.table}: nothing to do{told}", *_recommended(plan)]


def summary(found: Iterable[Surveyed]) -> str:
    """How many tables there are, and how they are."""
    standings = [standing(one.plan) for one in found]
    need, wait, rest = (standings.count(one) for one in ("needs something", "waits", "nothing"))
    tables = f"{len(standings)} table{'s' * (len(standings) != 1)}"
    return f"{tables}: {need} need{'s' * (need == 1)} something, {wait} wait{'s' * (wait == 1)}, {rest} nothing"


def as_json(found: Surveyed) -> dict[str, Any]:
    """The same with every number; values of partitions by sensitive columns are not in it."""
    plan = msgspec.to_builtins(found.plan)
    totals = {"totals": msgspec.to_builtins(found.state.totals), "depth": found.state.depth.name.lower()}
    return {**plan, **totals, "holders": msgspec.to_builtins(found.state.holders)}


def because(reasons: Iterable[str], blocked_by: Iterable[str]) -> Iterator[str]:
    """Lines that say why, and who is in the way."""
    yield from (f"{_INDENT}{reason}" for reason in reasons)
    yield from (f"{_INDENT}held up by {who}" for who in blocked_by)


def _action(action: Action, again: tuple[str, ...]) -> Iterator[str]:
    if action.operation is not Operation.NOTHING:
        yield f"  {action.operation}{_places(action)}{_size(action)}"
        yield from because(action.reasons, action.blocked_by)
    elif reasons := [reason for reason in action.reasons if not reason.startswith(again)]:
        yield "  nothing, because"
        yield from because(reasons, ())


def _withheld(one: Withheld) -> Iterator[str]:
    if one.action.operation is Operation.NOTHING:  # the whole table is left alone, and that is told already
        return
    until = f" until {one.until:%Y-%m-%d %H:%M:%S} UTC" if one.until is not None else ""
    yield f"  not now: {one.action.operation}{_places(one.action)} ({one.why}{until})"
    yield from because(one.action.reasons, one.action.blocked_by)


def _recommended(plan: MaintenancePlan) -> list[str]:
    return [f"  recommended: {one.setting}={one.value}: {one.because}" for one in plan.recommendations]


def _places(action: Action) -> str:
    names = [one.name for one in action.partitions]
    more = f" and {len(names) - _MOST_PARTITIONS} more" if len(names) > _MOST_PARTITIONS else ""
    return f" of {', '.join(names[:_MOST_PARTITIONS])}{more}" if names else ""


def _size(action: Action) -> str:
    if not action.bytes:
        return ""
    return f": {sized(action.bytes)} {'written anew' if action.operation in _WRITTEN else 'to read'}"
