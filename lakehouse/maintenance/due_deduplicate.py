"""Which partitions are closed, and have not been deduplicated since they last changed."""

from dataclasses import replace
from datetime import UTC, datetime

from lakehouse.maintenance.action import Action, Operation, Withheld
from lakehouse.maintenance.due import Asked, Found, mib, moment, withheld_action
from lakehouse.maintenance.predict import reading, undisturbed
from lakehouse.maintenance.state import PartitionState, State
from lakehouse.tables import Deduplicate

_TOLD = 10
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


def due_deduplicate(asked: Asked) -> Found:
    """Rows with the same key, of closed partitions."""
    policy = asked.policy.deduplicate
    if policy is None or asked.state.partitions is None:
        return Found()
    by_name = sorted(asked.state.partitions, key=lambda one: (one.partition.name, one.partition.key))
    waiting = [one for one in by_name if one.records and not _is_done(asked, one)]
    if not waiting:
        return Found.nothing("deduplicate: every closed partition holds each key once")
    times = [(one, closes_at(last_known(one, asked.state), policy)) for one in waiting]
    closed = [one for one, at in times if at <= asked.now]
    open_ = [(one, at) for one, at in times if at > asked.now]
    withheld = (_open(open_),) if open_ else ()
    if not closed:
        return Found((), withheld)
    chosen: list[PartitionState] = []
    for one in sorted(closed, key=lambda one: (one.bytes, one.partition.name)):
        if not chosen or sum(other.bytes for other in (*chosen, one)) <= asked.budget.bytes:
            chosen.append(one)
    predicted = reading(sum(one.bytes for one in chosen), Operation.DEDUPLICATE, asked.known)
    action = Action(
        operation=Operation.DEDUPLICATE,
        partitions=tuple(one.partition for one in chosen),
        predicted=replace(predicted, survives=undisturbed(chosen, predicted.seconds)),
        reasons=tuple(f"{one.partition.name}: closed, {mib(one.bytes)} to look through" for one in chosen[:_TOLD]),
    )
    return Found((action,), withheld)


def closes_at(one: PartitionState, policy: Deduplicate) -> datetime:
    """When a partition is closed: long enough after its last change, and after the end of the time it stands for."""
    beginnings = [at for at in (one.last_change, one.ends) if at is not None]
    return max(beginnings, default=_LONG_AGO) + policy.closed_after


def last_known(one: PartitionState, state: State) -> PartitionState:
    """The same; where its last change is older than the history, it is at the latest when the history begins."""
    forgotten = bool(state.main) and state.main[0].parent_id is not None
    return replace(one, last_change=state.main[0].at) if one.last_change is None and forgotten else one


def _is_done(asked: Asked, one: PartitionState) -> bool:
    done = asked.state.remembered.deduplicated.get(one.partition.key)
    return done is not None and (one.last_change is None or one.last_change <= done)


def _open(open_: list[tuple[PartitionState, datetime]]) -> Withheld:
    told = [f"{one.partition.name}: open until {moment(at)}" for one, at in open_[:_TOLD]]
    action = Action(operation=Operation.DEDUPLICATE, partitions=tuple(one.partition for one, _ in open_))
    return withheld_action(action, "quiet", told, until=min(at for _, at in open_))
