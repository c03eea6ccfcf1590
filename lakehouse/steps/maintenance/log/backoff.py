"""What came to nothing is tried again later and later: most reasons need a person, or a quieter hour.

The other operations of the table do not wait for it.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from lakehouse.steps.maintenance.log.history import History
from lakehouse.steps.maintenance.model.action import Action, MaintenancePlan, Operation, Withheld

FIRST_PAUSE = timedelta(minutes=5)
LONGEST_PAUSE = timedelta(hours=6)
# The same files would be read by the same engines: what did not fit will not fit, until somebody has looked at it.
AFTER_PROOF_FAILED = timedelta(days=1)


def pause(failures: int, result: str) -> timedelta:
    """How long to wait after so many failures in a row, the last of which ended so."""
    if result == "proof_failed":
        return AFTER_PROOF_FAILED
    return min(FIRST_PAUSE * 2 ** min(failures - 1, 16), LONGEST_PAUSE)


def patient(plan: MaintenancePlan, memory: History, uuid: str, now: datetime) -> MaintenancePlan:
    """The same plan, without what failed lately."""
    kept: list[Action] = []
    waiting: list[Withheld] = []
    for action in plan.actions:
        until = _until(action.operation, memory, uuid)
        if until is None or until <= now:
            kept.append(action)
        else:
            waiting.append(Withheld(action=_with_reason(action, memory, uuid, until), why="failed", until=until))
    if not waiting:
        return plan
    reasons = tuple(f"{withheld.action.operation}: {withheld.action.reasons[0]}" for withheld in waiting)
    times = [withheld.until for withheld in waiting if withheld.until is not None]
    return replace(
        plan,
        actions=tuple(kept) or (Action(operation=Operation.NOTHING, reasons=reasons),),
        withheld=(*waiting, *plan.withheld),
        look_again_at=min([*times, *([plan.look_again_at] if plan.look_again_at is not None else [])]),
    )


def _until(operation: Operation, memory: History, uuid: str) -> datetime | None:
    failures, last = memory.failures(uuid, operation), memory.last(uuid, operation)
    return last.timestamp + pause(failures, last.result) if failures and last is not None else None


def _with_reason(action: Action, memory: History, uuid: str, until: datetime) -> Action:
    failures, last = memory.failures(uuid, action.operation), memory.last(uuid, action.operation)
    assert last is not None
    ended = f"it ended as {last.result}" if failures == 1 else f"it came to nothing {failures} times, {last.result}"
    reason = f"{ended}: {last.message}; the next try is after {until:%Y-%m-%d %H:%M:%S} UTC"
    return replace(action, reasons=(reason, *action.reasons))
