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

_MOST_NAMED = 10


def due_deduplicate(rule_input: RuleInput) -> DueResult:
    """Rows with the same key, of closed partitions."""
    policy = rule_input.policy.deduplicate
    if policy is None:
        return DueResult()
    if rule_input.state.partitions is None:
        return DueResult.nothing("deduplicate: there are no rows yet")
    by_name = sorted(
        rule_input.state.partitions,
        key=lambda partition_state: (partition_state.partition.name, partition_state.partition.key),
    )
    pending = [
        partition_state
        for partition_state in by_name
        if partition_state.records and not _is_done(rule_input, partition_state)
    ]
    if not pending:
        return DueResult.nothing("deduplicate: every closed partition holds each key once")
    nameable = [partition_state for partition_state in pending if not partition_state.unnameable]
    times = [
        (partition_state, closes_at(last_known(partition_state, rule_input.state), policy))
        for partition_state in nameable
    ]
    closed = [partition_state for partition_state, closing_time in times if closing_time <= rule_input.now]
    still_open = [
        (partition_state, closing_time) for partition_state, closing_time in times if closing_time > rule_input.now
    ]
    withheld = (
        *_open(still_open),
        *_refused([partition_state for partition_state in pending if partition_state.unnameable]),
    )
    if not closed:
        return DueResult((), withheld)
    chosen: list[PartitionState] = []
    for partition_state in sorted(
        closed, key=lambda partition_state: (partition_state.bytes, partition_state.partition.name)
    ):
        if not chosen or sum(other.bytes for other in (*chosen, partition_state)) <= rule_input.budget.bytes:
            chosen.append(partition_state)
    action = Action(
        operation=Operation.DEDUPLICATE,
        partitions=tuple(partition_state.partition for partition_state in chosen),
        bytes=sum(partition_state.bytes for partition_state in chosen),
        reasons=tuple(
            f"{partition_state.partition.name}: closed, {sized(partition_state.bytes)} to look through"
            for partition_state in chosen[:_MOST_NAMED]
        ),
    )
    return DueResult((action,), withheld)


def closes_at(partition: PartitionState, policy: Deduplicate) -> datetime:
    """When a partition is closed: long enough after its last change, and after the end of the time it stands for."""
    latest = max(
        (timestamp for timestamp in (partition.last_change, partition.ends) if timestamp is not None),
        default=EPOCH,
    )
    return latest + min(policy.closed_after, NEVER - latest)


def last_known(partition: PartitionState, state: MeasuredState) -> PartitionState:
    """The same, with the latest time at which it can have changed last: by the history, and where that is forgotten."""
    timestamps = _changes(partition)
    if not timestamps and state.main and state.main[0].parent_id is not None:
        timestamps = [state.main[0].timestamp]
    return replace(partition, last_change=max(timestamps, default=None))


def _is_done(rule_input: RuleInput, partition_state: PartitionState) -> bool:
    done = rule_input.state.remembered.deduplicated.get(partition_state.partition.key)
    return done is not None and all(timestamp <= done for timestamp in _changes(partition_state))


def _changes(partition: PartitionState) -> list[datetime]:
    return [timestamp for timestamp in (partition.last_change, partition.rewritten) if timestamp is not None]


def _refused(unnameable: list[PartitionState]) -> Iterator[Withheld]:
    if unnameable:
        reasons = [
            f"{partition_state.partition.name}: NotNameable: {NotNameable(partition_state.unnameable)}"
            for partition_state in unnameable[:_MOST_NAMED]
        ]
        action = Action(
            operation=Operation.DEDUPLICATE,
            partitions=tuple(partition_state.partition for partition_state in unnameable),
        )
        yield withheld_action(action, "refused", reasons)


def _open(still_open: list[tuple[PartitionState, datetime]]) -> Iterator[Withheld]:
    if not still_open:
        return
    reasons = [
        f"{partition_state.partition.name}: open until {moment(closing_time)}"
        for partition_state, closing_time in still_open[:_MOST_NAMED]
    ]
    action = Action(
        operation=Operation.DEDUPLICATE,
        partitions=tuple(partition_state.partition for partition_state, _ in still_open),
    )
    yield withheld_action(action, "quiet", reasons, until=min(closing_time for _, closing_time in still_open))
