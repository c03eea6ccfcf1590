"""What is due for a table as a whole: branches, leases, manifests, statistics, snapshots, files that nobody knows."""

import math
from datetime import datetime, timedelta

from lakehouse.declarations import Expire
from lakehouse.protocol.cleanup.housekeeping import LONGEST_RUN
from lakehouse.protocol.seals.attempt import BRANCH_PREFIX
from lakehouse.steps.maintenance.expire.overdue import droppable, ending
from lakehouse.steps.maintenance.expire.snapshot_selection import Cut, cut
from lakehouse.steps.maintenance.measure.history import MAINTAINS
from lakehouse.steps.maintenance.model.action import Action, Operation
from lakehouse.steps.maintenance.model.state import RefState, SnapshotHold
from lakehouse.steps.maintenance.plan.due import DueResult, RuleInput, moment, sized, withheld_action

_WORTH_REGROUPING = 2  # at least so many times fewer
_TOLD = 10
_DAY = timedelta(days=1)


def due_branches(asked: RuleInput) -> DueResult:
    """Branches of attempts that are dead."""
    times = {snapshot.snapshot_id: snapshot.at for snapshot in asked.state.history}
    attempts = [ref for ref in asked.state.refs if ref.kind == "branch" and ref.name.startswith(BRANCH_PREFIX)]
    dies_at = {ref.name: _begun(ref, times, asked.now) + LONGEST_RUN for ref in attempts}
    dead = sorted(name for name, at in dies_at.items() if at <= asked.now)
    again_at = min((at for at in dies_at.values() if at > asked.now), default=None)
    if not dead:
        return DueResult(again_at=again_at)
    action = Action(
        operation=Operation.BRANCHES,
        reasons=tuple(f"{name} was left behind by a run that died" for name in dead[:_TOLD]),
    )
    return DueResult((action,), again_at=again_at)


def _begun(ref: RefState, times: dict[int, datetime], now: datetime) -> datetime:
    # A branch that was just opened names its base, which may be as old as the table.
    return max(at for at in (ref.begun, times.get(ref.snapshot_id, now)) if at is not None)


def due_leases(asked: RuleInput) -> DueResult:
    """Leases that are overdue for longer than the policy bears with."""
    grace = asked.policy.expire.lease_grace if asked.policy.expire is not None else None
    ends = ending(asked.state.holders)
    moments = [at for at, _ in ends] + ([at + grace for at, _ in ends] if grace is not None else [])
    again_at = min((at for at in moments if at > asked.now), default=None)
    dropped = droppable(asked.state.holders, asked.now, grace)
    if not dropped:
        return DueResult(again_at=again_at)
    told = tuple(f"{describe(one)}, and {grace} of grace are over" for one in dropped)
    return DueResult(
        (Action(operation=Operation.LEASES, reasons=told),),
        again_at=again_at,
    )


def describe(holder: SnapshotHold) -> str:
    """A holder in words, with what can be done about it."""
    told = f"{holder.kind} {holder.owner} needs snapshot {holder.snapshot_id}"
    told += " and all after it" if holder.since_on else ""
    told += f", until {moment(holder.until)}" if holder.until is not None else ""
    told += f" ({holder.reason})" if holder.reason else ""
    return f"{told}; to end it: {holder.command}" if holder.command else told


def due_manifests(asked: RuleInput) -> DueResult:
    """Manifests that are too many."""
    policy, totals = asked.policy.manifests, asked.state.totals
    if policy is None:
        return DueResult.nothing("manifests: the policy is never to regroup them")
    if totals.manifests is None:
        return DueResult.nothing(f"manifests: with {totals.files} files there are fewer than {policy.min_count}")
    # One of data and one of deletes for each spec at the least; a table of one spec without deletes needs one.
    specs = {one.partition.spec_id for one in asked.state.partitions or ()}
    kinds = max(len(specs), 1) * (2 if totals.delete_files else 1)
    left = max(kinds, math.ceil(totals.manifest_bytes / policy.target_size))
    if totals.manifests < policy.min_count:
        return DueResult.nothing(f"manifests: {totals.manifests}; {policy.min_count} are worth regrouping")
    if left * _WORTH_REGROUPING > totals.manifests:
        return DueResult.nothing(
            f"manifests: {totals.manifests} of {sized(totals.manifest_bytes)} together are few enough"
        )
    reason = f"{totals.manifests} manifests of {sized(totals.manifest_bytes)} together; {left} would do"
    return DueResult((Action(operation=Operation.MANIFESTS, bytes=totals.manifest_bytes, reasons=(reason,)),))


def due_statistics(asked: RuleInput) -> DueResult:
    """Statistics of columns, where enough rows are new."""
    policy, totals = asked.policy.statistics, asked.state.totals
    if policy is None:
        return DueResult()
    if not totals.records:
        return DueResult.nothing("statistics: there are no rows yet")
    measured = asked.state.traits.statistics_rows
    if measured is not None:
        new = abs(totals.records - measured) / max(measured, 1)
        if new < policy.after_rows:
            told = f"statistics: {measured:,} rows when they were made, {totals.records:,} now"
            return DueResult.nothing(f"{told}; {policy.after_rows:.0%} more or fewer are worth it")
        reason = f"{measured:,} rows when the statistics were made, {totals.records:,} now"
    else:
        reason = "there are no statistics"
    return DueResult((Action(operation=Operation.STATISTICS, bytes=totals.bytes, reasons=(reason,)),))


def due_expire(asked: RuleInput) -> DueResult:
    """Snapshots that the policy and everybody who holds some let go."""
    policy = asked.policy.expire
    if policy is None:
        return DueResult.nothing("expire: the policy is to keep all snapshots")
    found = cut(asked.state, policy)
    blocked = tuple(
        f"{count} snapshots: {describe(holder)}" for holder, count in sorted(found.blocked.items(), key=_by_name)
    )
    again_at = _ages_at(asked, policy)
    if len(found.gone) >= policy.at_least or found.ended:
        return _expiry(asked, found, blocked, again_at)
    wanted = len(found.gone) + len(found.kept)
    if blocked and wanted >= policy.at_least:
        action = Action(operation=Operation.EXPIRE, blocked_by=blocked)
        told = (f"{wanted} snapshots are old enough to go, and {len(found.kept)} of them are needed",)
        return DueResult(withheld=(withheld_action(action, "blocked", told),), again_at=again_at)
    told = (
        f"expire: {len(found.gone)} of {asked.state.totals.snapshots} snapshots may go; {policy.at_least} are worth it"
    )
    return DueResult.nothing(told, again_at)


def _expiry(asked: RuleInput, found: Cut, blocked: tuple[str, ...], again_at: datetime | None) -> DueResult:
    reasons = [f"{len(found.expired)} snapshots of main may go"] if found.expired else []
    reasons += [f"{len(found.left_behind)} are on no branch and no tag"] if found.left_behind else []
    reasons += [f"{len(found.ended)} pins of runs are over"] if found.ended else []
    action = Action(
        operation=Operation.EXPIRE,
        reasons=tuple(reasons),
        blocked_by=blocked,
    )
    if rewrites := sorted(ref.name for ref in asked.state.refs if ref.name.startswith(MAINTAINS)):
        told = (f"a rewrite is on its way, or has died, on {', '.join(rewrites)}",)
        return DueResult(withheld=(withheld_action(action, "blocked", told),), again_at=again_at)
    return DueResult((action,), again_at=again_at)


def _by_name(item: tuple[SnapshotHold, int]) -> tuple[str, str, int]:
    return item[0].kind, item[0].owner, item[0].snapshot_id


def _ages_at(asked: RuleInput, policy: Expire) -> datetime | None:
    """When so many snapshots are old enough that letting them go is worth it."""
    main = asked.state.main
    free = main[: max(len(main) - policy.min_snapshots_to_keep, 0)]
    if len(free) < policy.at_least:
        return None
    at = free[policy.at_least - 1].at + policy.max_snapshot_age
    return at if at > asked.now else None


def due_orphans(asked: RuleInput) -> DueResult:
    """A look at the table's files."""
    policy, state = asked.policy.orphans, asked.state
    if policy is None:
        return DueResult.nothing("orphans: the policy is never to look for them")
    looked, candidates = state.remembered.orphans_looked_at, state.remembered.orphan_candidates
    if looked is not None and not candidates and (state.updated_at is None or state.updated_at <= looked):
        return DueResult.nothing(f"orphans: nothing was written since the last look at {moment(looked)}")
    if looked is not None and asked.now < (next_at := looked + policy.every):
        return DueResult.nothing(f"orphans: the last look was at {moment(looked)}", next_at)
    if looked is None and (oldest := _oldest(asked)) is not None and asked.now < oldest + policy.older_than:
        until = oldest + policy.older_than
        return DueResult.nothing(
            f"orphans: no file is {policy.older_than / _DAY:g} days old before {moment(until)}", until
        )
    reasons = (
        "the files have never been listed" if looked is None else f"the last look was at {moment(looked)}",
        *([f"{candidates} candidates of earlier looks"] if candidates else ()),
    )
    return DueResult((Action(operation=Operation.ORPHANS, reasons=reasons),))


def _oldest(asked: RuleInput) -> datetime | None:
    """When the table was made, or else its first commit; None where its metadata have forgotten both."""
    main = asked.state.main
    if asked.state.created_at is not None:
        return asked.state.created_at
    if not main:
        return asked.state.updated_at
    return main[0].at if main[0].parent_id is None else None
