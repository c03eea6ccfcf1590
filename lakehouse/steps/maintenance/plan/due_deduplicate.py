"""Which partitions are closed, and have not been deduplicated since they last changed.

A rewrite of files hides who wrote them, and when: a partition counts as changed by it.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from lakehouse.declarations import Deduplicate
from lakehouse.steps.maintenance.model.action import Action, Operation, Withheld
from lakehouse.steps.maintenance.model.partitions import EPOCH, NEVER
from lakehouse.steps.maintenance.model.preconditions import NotNameable
from lakehouse.steps.maintenance.model.state import MeasuredState, PartitionState
from lakehouse.steps.maintenance.plan.due import DueResult, RuleInput, moment, sized, withheld_action

_TOLD = 10
COUNTED_UNTIL = "counted_until_ms"  # a fact of an outcome: the newest snapshot of `main` that was looked through


def due_deduplicate(asked: RuleInput) -> DueResult:
    """Rows with the same key, of closed partitions."""
    policy = asked.policy.deduplicate
    if policy is None:
        return DueResult()
    if asked.state.partitions is None:
        return DueResult.nothing("deduplicate: there are no rows yet")
    by_name = sorted(asked.state.partitions, key=lambda one: (one.partition.name, one.partition.key))
    there = [one for one in by_name if one.records and not _is_done(asked, one)]
    if not there:
        return DueResult.nothing("deduplicate: every closed partition holds each key once")
    waiting = [one for one in there if not one.unnameable]
    times = [(one, closes_at(last_known(one, asked.state), policy)) for one in waiting]
    closed = [one for one, at in times if at <= asked.now]
    open_ = [(one, at) for one, at in times if at > asked.now]
    withheld = (*_open(open_), *_refused([one for one in there if one.unnameable]))
    if not closed:
        return DueResult((), withheld)
    chosen: list[PartitionState] = []
    for one in sorted(closed, key=lambda one: (one.bytes, one.partition.name)):
        if not chosen or sum(other.bytes for other in (*chosen, one)) <= asked.budget.bytes:
            chosen.append(one)
    action = Action(
        operation=Operation.DEDUPLICATE,
        partitions=tuple(one.partition for one in chosen),
        bytes=sum(one.bytes for one in chosen),
        reasons=tuple(f"{one.partition.name}: closed, {sized(one.bytes)} to look through" for one in chosen[:_TOLD]),
    )
    return DueResult((action,), withheld)


def closes_at(one: PartitionState, policy: Deduplicate) -> datetime:
    """When a partition is closed: long enough after its last change, and after the end of the time it stands for."""
    latest = max((at for at in (one.last_change, one.ends) if at is not None), default=EPOCH)
    return latest + min(policy.closed_after, NEVER - latest)


def last_known(one: PartitionState, state: MeasuredState) -> PartitionState:
    """The same, with the latest time at which it can have changed last: by the history, and where that is forgotten."""
    known = _changed(one)
    if not known and state.main and state.main[0].parent_id is not None:
        known = [state.main[0].at]
    return replace(one, last_change=max(known, default=None))


def _is_done(asked: RuleInput, one: PartitionState) -> bool:
    done = asked.state.remembered.deduplicated.get(one.partition.key)
    return done is not None and all(at <= done for at in _changed(one))


def _changed(one: PartitionState) -> list[datetime]:
    return [at for at in (one.last_change, one.rewritten) if at is not None]


def _refused(unnameable: list[PartitionState]) -> Iterator[Withheld]:
    if unnameable:
        told = [f"{one.partition.name}: NotNameable: {NotNameable(one.unnameable)}" for one in unnameable[:_TOLD]]
        action = Action(operation=Operation.DEDUPLICATE, partitions=tuple(one.partition for one in unnameable))
        yield withheld_action(action, "refused", told)


def _open(open_: list[tuple[PartitionState, datetime]]) -> Iterator[Withheld]:
    if not open_:
        return
    told = [f"{one.partition.name}: open until {moment(at)}" for one, at in open_[:_TOLD]]
    action = Action(operation=Operation.DEDUPLICATE, partitions=tuple(one.partition for one, _ in open_))
    yield withheld_action(action, "quiet", told, until=min(at for _, at in open_))
