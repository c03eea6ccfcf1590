"""A plan in words, and as JSON: the same for whoever asks on the command line."""

from collections.abc import Iterator
from typing import Any

import msgspec

from lakehouse.maintenance.action import Action, Operation, Predicted, Withheld
from lakehouse.maintenance.due import mib
from lakehouse.maintenance.survey import Surveyed

_MOST_PARTITIONS = 3
_INDENT = "    "


def in_words(found: Surveyed) -> list[str]:
    """A table's plan, a line for each thing to know; the first names the table."""
    state, plan = found.state, found.plan
    totals = state.totals
    lines = [
        f"{plan.table}: health {plan.health:.0f}, {totals.files} files of {mib(totals.bytes)}, "
        f"{totals.snapshots} snapshots, measured by {state.depth.name.lower()}"
    ]
    # What was withheld is told below, with all that is known of it.
    again = tuple(f"{one.action.operation}, " for one in plan.withheld)
    for action in plan.actions:
        lines += _action(action, again)
    for one in plan.withheld:
        lines += _withheld(one)
    for advice in plan.recommendations:
        lines.append(f"  recommended: {advice.setting}={advice.value}: {advice.because}")
    if plan.look_again_at is not None:
        lines.append(f"  another decision at the earliest at {plan.look_again_at:%Y-%m-%d %H:%M:%S} UTC")
    return lines


def as_json(found: Surveyed) -> dict[str, Any]:
    """The same with every number; values of partitions by sensitive columns are not in it."""
    plan = msgspec.to_builtins(found.plan)
    totals = {"totals": msgspec.to_builtins(found.state.totals), "depth": found.state.depth.name.lower()}
    return {**plan, **totals, "holders": msgspec.to_builtins(found.state.holders)}


def _action(action: Action, again: tuple[str, ...]) -> Iterator[str]:
    if action.operation is Operation.NOTHING:
        yield "  nothing, because"
        yield from (f"{_INDENT}{reason}" for reason in action.reasons if not reason.startswith(again))
        return
    yield f"  {action.operation}{_places(action)}: {_expected(action.predicted)}"
    yield from (f"{_INDENT}{reason}" for reason in action.reasons)
    yield from (f"{_INDENT}held up by {who}" for who in action.blocked_by)


def _withheld(one: Withheld) -> Iterator[str]:
    until = f" until {one.until:%Y-%m-%d %H:%M:%S} UTC" if one.until is not None else ""
    yield f"  not now: {one.action.operation}{_places(one.action)} ({one.why}{until})"
    yield from (f"{_INDENT}{reason}" for reason in one.action.reasons)
    yield from (f"{_INDENT}held up by {who}" for who in one.action.blocked_by)


def _places(action: Action) -> str:
    names = [one.name for one in action.partitions]
    more = f" and {len(names) - _MOST_PARTITIONS} more" if len(names) > _MOST_PARTITIONS else ""
    return f" of {', '.join(names[:_MOST_PARTITIONS])}{more}" if names else ""


def _expected(predicted: Predicted) -> str:
    told = [f"{predicted.files_removed:,} files fewer", f"{predicted.seconds:,.0f} s"]
    if predicted.bytes:
        told.append(f"{mib(predicted.bytes)} written anew")
    if predicted.plan_ms >= 1:
        told.append(f"{predicted.plan_ms:,.0f} ms off planning")
    if predicted.commit_ms >= 1:
        told.append(f"{predicted.commit_ms:,.0f} ms off each commit")
    if predicted.survives < 1:
        told.append(f"survives with {predicted.survives:.0%}")
    return ", ".join(told)
