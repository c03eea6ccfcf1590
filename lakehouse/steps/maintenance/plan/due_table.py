"""What is due for a table as a whole: branches, leases, manifests, statistics, snapshots, files that nobody knows."""

import math
from datetime import datetime, timedelta

from lakehouse.declarations import Expire
from lakehouse.protocol.cleanup.housekeeping import LONGEST_RUN
from lakehouse.protocol.seals.attempt import BRANCH_PREFIX
from lakehouse.steps.maintenance.expire.overdue import droppable, ending
from lakehouse.steps.maintenance.expire.snapshot_selection import SnapshotSelection, select_snapshots
from lakehouse.steps.maintenance.measure.history import MAINTAINS
from lakehouse.steps.maintenance.model.action import Action, Operation
from lakehouse.steps.maintenance.model.state import RefState, SnapshotHold
from lakehouse.steps.maintenance.plan.due_result import DueResult, RuleInput, moment, sized, withheld_action

_WORTH_REGROUPING = 2  # at least so many times fewer
_MOST_NAMED = 10
_UNUSUALLY_MANY = 500  # a metadata document of about a MiB
_DAY = timedelta(days=1)


def due_branches(rule_input: RuleInput) -> DueResult:
    """Branches of attempts that are dead."""
    times = {snapshot.snapshot_id: snapshot.timestamp for snapshot in rule_input.state.history}
    attempts = [ref for ref in rule_input.state.refs if ref.kind == "branch" and ref.name.startswith(BRANCH_PREFIX)]
    dies_at = {ref.name: _begun(ref, times, rule_input.now) + LONGEST_RUN for ref in attempts}
    dead = sorted(name for name, time in dies_at.items() if time <= rule_input.now)
    again_at = min((time for time in dies_at.values() if time > rule_input.now), default=None)
    if not dead:
        return DueResult(again_at=again_at)
    action = Action(
        operation=Operation.BRANCHES,
        reasons=tuple(f"{name} was left behind by a run that died" for name in dead[:_MOST_NAMED]),
    )
    return DueResult((action,), again_at=again_at)


def _begun(ref: RefState, times: dict[int, datetime], now: datetime) -> datetime:
    # A branch that was just opened names its base, which may be as old as the table.
    return max(time for time in (ref.begun, times.get(ref.snapshot_id, now)) if time is not None)


def due_leases(rule_input: RuleInput) -> DueResult:
    """Leases that are overdue for longer than the policy bears with."""
    grace = rule_input.policy.expire.lease_grace if rule_input.policy.expire is not None else None
    ends = ending(rule_input.state.holders)
    moments = [time for time, _ in ends] + ([time + grace for time, _ in ends] if grace is not None else [])
    again_at = min((time for time in moments if time > rule_input.now), default=None)
    dropped = droppable(rule_input.state.holders, rule_input.now, grace)
    if not dropped:
        return DueResult(again_at=again_at)
    reasons = tuple(f"{describe(hold)}, and {grace} of grace are over" for hold in dropped)
    return DueResult(
        (Action(operation=Operation.LEASES, reasons=reasons),),
        again_at=again_at,
    )


def describe(holder: SnapshotHold) -> str:
    """A holder in words, with what can be done about it."""
    text = f"{holder.kind} {holder.owner} needs snapshot {holder.snapshot_id}"
    text += " and all after it" if holder.since_on else ""
    text += f", until {moment(holder.until)}" if holder.until is not None else ""
    text += f" ({holder.reason})" if holder.reason else ""
    return f"{text}; to end it: {holder.command}" if holder.command else text


def due_manifests(rule_input: RuleInput) -> DueResult:
    """Manifests that are too many."""
    policy, totals = rule_input.policy.manifests, rule_input.state.totals
    if policy is None:
        return DueResult.nothing("manifests: the policy is never to regroup them")
    if totals.manifests is None:
        return DueResult.nothing(f"manifests: with {totals.files} files there are fewer than {policy.min_count}")
    # One of data and one of deletes for each spec at the least; a table of one spec without deletes needs one.
    specs = {partition_state.partition.spec_id for partition_state in rule_input.state.partitions or ()}
    kinds = max(len(specs), 1) * (2 if totals.delete_files else 1)
    needed = max(kinds, math.ceil(totals.manifest_bytes / policy.target_size))
    if totals.manifests < policy.min_count:
        return DueResult.nothing(f"manifests: {totals.manifests}; {policy.min_count} are worth regrouping")
    if needed * _WORTH_REGROUPING > totals.manifests:
        return DueResult.nothing(
            f"manifests: {totals.manifests} of {sized(totals.manifest_bytes)} together are few enough"
        )
    reason = f"{totals.manifests} manifests of {sized(totals.manifest_bytes)} together; {needed} would do"
    return DueResult((Action(operation=Operation.MANIFESTS, bytes=totals.manifest_bytes, reasons=(reason,)),))


def due_statistics(rule_input: RuleInput) -> DueResult:
    """Statistics of columns, where enough rows are new."""
    policy, totals = rule_input.policy.statistics, rule_input.state.totals
    if policy is None:
        return DueResult()
    if not totals.records:
        return DueResult.nothing("statistics: there are no rows yet")
    measured = rule_input.state.traits.statistics_rows
    if measured is not None:
        new = abs(totals.records - measured) / max(measured, 1)
        if new < policy.after_rows:
            change = f"statistics: {measured:,} rows when they were made, {totals.records:,} now"
            return DueResult.nothing(f"{change}; {policy.after_rows:.0%} more or fewer are worth it")
        reason = f"{measured:,} rows when the statistics were made, {totals.records:,} now"
    else:
        reason = "there are no statistics"
    return DueResult((Action(operation=Operation.STATISTICS, bytes=totals.bytes, reasons=(reason,)),))


def due_expire(rule_input: RuleInput) -> DueResult:
    """Snapshots that the policy and everybody who holds some let go."""
    policy = rule_input.policy.expire
    if policy is None:
        return DueResult.nothing("expire: the policy is to keep all snapshots")
    selection = select_snapshots(rule_input.state, policy)
    blocked = tuple(
        f"{count} snapshots: {describe(holder)}" for holder, count in sorted(selection.blocked.items(), key=_by_name)
    )
    again_at = _ages_at(rule_input, policy)
    if len(selection.snapshot_ids) >= policy.at_least or selection.ended:
        return _expiry(rule_input, selection, blocked, again_at)
    old_count = len(selection.snapshot_ids) + len(selection.kept)
    if blocked and old_count >= policy.at_least:
        action = Action(operation=Operation.EXPIRE, blocked_by=blocked)
        reasons = (f"{old_count} snapshots are old enough to go, and {len(selection.kept)} of them are needed",)
        return DueResult(withheld=(withheld_action(action, "blocked", reasons),), again_at=again_at)
    count = rule_input.state.totals.snapshots
    reason = f"expire: {len(selection.snapshot_ids)} of {count} snapshots may go; {policy.at_least} are worth it"
    if policy.max_snapshots is None and count > _UNUSUALLY_MANY:
        days = policy.max_snapshot_age / _DAY
        reason += f"; all of {days:g} days stay, and each commit writes their list: max_snapshots would bound it"
    return DueResult.nothing(reason, again_at)


def _expiry(
    rule_input: RuleInput, selection: SnapshotSelection, blocked: tuple[str, ...], again_at: datetime | None
) -> DueResult:
    reasons = [f"{len(selection.expired)} snapshots of main may go"] if selection.expired else []
    reasons += [f"{len(selection.left_behind)} are on no branch and no tag"] if selection.left_behind else []
    reasons += [f"{len(selection.ended)} pins of runs are over"] if selection.ended else []
    action = Action(
        operation=Operation.EXPIRE,
        reasons=tuple(reasons),
        blocked_by=blocked,
    )
    if rewrites := sorted(ref.name for ref in rule_input.state.refs if ref.name.startswith(MAINTAINS)):
        rewrite_reasons = (f"a rewrite is on its way, or has died, on {', '.join(rewrites)}",)
        return DueResult(withheld=(withheld_action(action, "blocked", rewrite_reasons),), again_at=again_at)
    return DueResult((action,), again_at=again_at)


def _by_name(item: tuple[SnapshotHold, int]) -> tuple[str, str, int]:
    return item[0].kind, item[0].owner, item[0].snapshot_id


def _ages_at(rule_input: RuleInput, policy: Expire) -> datetime | None:
    """When so many snapshots are old enough that letting them go is worth it."""
    main = rule_input.state.main
    free = main[: max(len(main) - policy.min_snapshots_to_keep, 0)]
    if len(free) < policy.at_least:
        return None
    time = free[policy.at_least - 1].timestamp + policy.max_snapshot_age
    return time if time > rule_input.now else None


def due_orphans(rule_input: RuleInput) -> DueResult:
    """A look at the table's files."""
    policy, state = rule_input.policy.orphans, rule_input.state
    if policy is None:
        return DueResult.nothing("orphans: the policy is never to look for them")
    last_look, candidates = state.remembered.orphans_looked_at, state.remembered.orphan_candidates
    if last_look is not None and not candidates and (state.updated_at is None or state.updated_at <= last_look):
        return DueResult.nothing(f"orphans: nothing was written since the last look at {moment(last_look)}")
    if last_look is not None and rule_input.now < (next_at := last_look + policy.every):
        return DueResult.nothing(f"orphans: the last look was at {moment(last_look)}", next_at)
    if (
        last_look is None
        and (oldest := _oldest(rule_input)) is not None
        and rule_input.now < oldest + policy.older_than
    ):
        until = oldest + policy.older_than
        return DueResult.nothing(
            f"orphans: no file is {policy.older_than / _DAY:g} days old before {moment(until)}", until
        )
    reasons = (
        "the files have never been listed" if last_look is None else f"the last look was at {moment(last_look)}",
        *([f"{candidates} candidates of earlier looks"] if candidates else ()),
    )
    return DueResult((Action(operation=Operation.ORPHANS, reasons=reasons),))


def _oldest(rule_input: RuleInput) -> datetime | None:
    """When the table was made, or else its first commit; None where its metadata have forgotten both."""
    main = rule_input.state.main
    if rule_input.state.created_at is not None:
        return rule_input.state.created_at
    if not main:
        return rule_input.state.updated_at
    return main[0].timestamp if main[0].parent_id is None else None
