"""Leases whose time is over: loud first, and dropped only where the table's policy says after how long.

A lease is there so that nobody has to guess whether old snapshots are still needed. One that nobody renews makes a
table grow for ever, so it is named in every decision; but only a declared grace lets it go.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from pyiceberg.exceptions import CommitFailedException

from lakehouse.declarations.own_tables.action_effect import ActionEffect
from lakehouse.protocol.leases.lease import held_leases, release_lease
from lakehouse.steps.maintenance.expire.consumers import consumers_of
from lakehouse.steps.maintenance.expire.holds import holders
from lakehouse.steps.maintenance.model.action import Action, ActionOutcome, MaintenanceWork
from lakehouse.steps.maintenance.model.state import SnapshotHold

_LEASED = ("mirror", "incremental", "lease")


def ending(holds: Iterable[SnapshotHold]) -> list[tuple[datetime, SnapshotHold]]:
    """Leases that are to be renewed, or to end, with the time for it."""
    return [(hold.until, hold) for hold in holds if hold.kind in _LEASED and hold.until is not None]


def late(holds: Iterable[SnapshotHold], now: datetime) -> tuple[SnapshotHold, ...]:
    """Whose lease should have been renewed, or ended, by now."""
    return tuple(holder for until, holder in ending(holds) if until <= now)


def droppable(holds: Iterable[SnapshotHold], now: datetime, grace: timedelta | None) -> tuple[SnapshotHold, ...]:
    """Whose lease may be dropped: late for longer than the policy's grace; nobody's where it declares none."""
    return () if grace is None else late(holds, now - grace)


def warning(holder: SnapshotHold, now: datetime) -> str:
    """What to say of a late lease, as long as it is there."""
    assert holder.until is not None
    days = (now - holder.until) / timedelta(days=1)
    return (
        f"the lease of {holder.kind} {holder.owner} on snapshot {holder.snapshot_id} is {days:.1f} days overdue and "
        f"keeps all that follows; let {holder.owner} run, or end it: {holder.command}"
    )


def run(work: MaintenanceWork, action: Action, *, now: datetime | None = None) -> ActionOutcome:
    """Drop the leases that are late for longer than the policy's grace.

    What a mirror or an incremental table has still to read is given up with it: its next run asks for a rebuild.
    """
    moment, policy = now or datetime.now(UTC), work.policy.expire
    table = work.catalog.load_table(work.base.identifier)
    consumers = consumers_of(work.catalog, work.declarations, work.base.name)
    holds = holders(table, consumers)
    read = {consumer.name: consumer.read for consumer in consumers}
    leases = {lease.owner: lease for lease in held_leases(table)}
    messages: list[str] = []
    dropped = 0
    for holder in droppable(holds, moment, policy.lease_grace if policy is not None else None):
        work.inform(f"{work.base.name}: {warning(holder, moment)}")
        if not work.allow:
            messages.append(f"would drop the lease of {holder.owner}, overdue since {holder.until:%Y-%m-%d}")
            continue
        try:
            owner = holder.owner
            release_lease(work.catalog, work.base.identifier, owner, seen=leases[owner], give_up=read.get(owner))
        except CommitFailedException:
            messages.append(f"{holder.owner} is at work after all: its lease was moved while it was to be dropped")
            continue
        dropped += 1
        messages.append(f"dropped the lease of {holder.kind} {holder.owner}, overdue since {holder.until:%Y-%m-%d}")
    result = "dry_run" if messages and not work.allow else "done" if dropped else "nothing"
    return ActionOutcome(action=action, result=result, message="; ".join(messages), effect=ActionEffect(leases=dropped))
