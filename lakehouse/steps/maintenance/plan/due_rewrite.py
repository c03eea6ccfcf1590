"""Which partitions are rewritten now: those that pass a threshold and that nobody is changing, the oldest first.

Nobody foresees whether a writer will come in between: a rewrite that was overtaken waits longer each time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lakehouse.declarations import Rewrite
from lakehouse.quantities import quantity
from lakehouse.steps.maintenance.model.action import Action, Operation, Why, Withheld
from lakehouse.steps.maintenance.model.partitions import EPOCH
from lakehouse.steps.maintenance.model.preconditions import refused_partition
from lakehouse.steps.maintenance.model.state import PartitionState
from lakehouse.steps.maintenance.plan.due_result import DueResult, RuleInput, moment, sized, withheld_action
from lakehouse.steps.maintenance.plan.file_group import FileGroup, file_group, first_files

# One file comes out of so many at the most: a rewrite that leaves about as many as it takes would be due again.
_FEWER = 2
_HOUR = timedelta(hours=1)
_AGAIN_AND_AGAIN = 2
_MOST_NAMED = 10
# A mirror that changes every minute is never quiet, and each of its runs leaves a file or two: every reader opens them.
_MOST_PILED_UP = 100


@dataclass(frozen=True)
class _Candidate:
    """A partition that is worth a rewrite.

    Attributes:
        reasons: why.
        unconditional: so many rows are deleted, or files are of such a kind, that their number is no question.
    """

    state: PartitionState
    group: FileGroup
    reasons: tuple[str, ...]
    unconditional: bool

    @property
    def rank(self) -> tuple[datetime, str, str]:
        return (self.state.last_change or EPOCH, self.state.partition.name, self.state.partition.key)


@dataclass(frozen=True)
class _Rejection:
    """A candidate that is not taken, and why not."""

    candidate: _Candidate
    why: Why
    reason: str
    until: datetime | None = None


def due_rewrite(rule_input: RuleInput) -> DueResult:
    """Data files and delete files."""
    rewrite = rule_input.policy.rewrite
    if rewrite is None:
        return DueResult.nothing("rewrite: the policy is never to rewrite")
    if rule_input.state.partitions is None:
        return DueResult.nothing(f"rewrite: {_sound(rule_input)}")
    candidates = [
        candidate
        for partition in rule_input.state.partitions
        if (candidate := _candidate(partition, rewrite)) is not None
    ]
    if not candidates:
        return DueResult.nothing(f"rewrite: {_sound(rule_input)}")
    rejections: list[_Rejection] = []
    ready: list[_Candidate] = []
    for candidate in sorted(candidates, key=lambda candidate: candidate.rank):
        rejection = _rejection(rule_input, candidate, rewrite)
        if rejection is None:
            ready.append(candidate)
        else:
            rejections.append(rejection)
    chosen, max_bytes = _affordable(rule_input, ready, rewrite)
    affordable = [candidate.state for candidate in chosen]
    rejections += [
        _Rejection(candidate, "budget", _over(rule_input, candidate, rewrite))
        for candidate in ready
        if candidate.state not in affordable
    ]
    actions = (_action(chosen, max_bytes),) if chosen else ()
    return DueResult(actions, tuple(_grouped(rejections)))


def worth_it(partition: PartitionState, rewrite: Rewrite) -> tuple[str, ...]:
    """Why a partition is worth a rewrite, whatever it costs; empty where it is not."""
    reasons: list[str] = []
    small = f"below {sized(rewrite.min_file_size)}"
    if partition.undersized >= rewrite.min_input_files:
        reasons.append(
            f"{partition.undersized} of {partition.files} files are {small}, {partition.fragments} of them fragments"
        )
    elif partition.undersized > 1 and partition.undersized_bytes >= rewrite.target_file_size:
        reasons.append(f"{partition.undersized} files {small} make {sized(partition.undersized_bytes)} together")
    if partition.oversized:
        reasons.append(f"{partition.oversized} files are above {sized(rewrite.max_file_size)}")
    if partition.foreign:
        reasons.append(f"{partition.foreign} files are not {rewrite.to_format}")
    if partition.delete_files >= rewrite.delete_file_threshold:
        deleted_rows = partition.position_deletes + partition.equality_deletes
        reasons.append(f"{partition.delete_files} delete files apply, with {deleted_rows} rows")
    if _deleted_share(partition) >= rewrite.delete_ratio_threshold:
        reasons.append(f"{_deleted_share(partition):.0%} of its rows are deleted")
    return tuple(reasons)


def _candidate(partition: PartitionState, rewrite: Rewrite) -> _Candidate | None:
    reasons = worth_it(partition, rewrite)
    if not reasons:
        return None
    many_deleted = _deleted_share(partition) >= rewrite.delete_ratio_threshold
    unconditional = many_deleted or bool(partition.foreign or partition.oversized)
    return _Candidate(partition, file_group(partition, rewrite), reasons, unconditional)


def _deleted_share(partition: PartitionState) -> float:
    return min(partition.position_deletes / partition.records, 1.0) if partition.records else 0.0


def _rejection(rule_input: RuleInput, candidate: _Candidate, rewrite: Rewrite) -> _Rejection | None:
    """Why a partition that is worth a rewrite is not rewritten now."""
    partition = candidate.state
    if (trap := refused_partition(partition, rule_input.policy)) is not None:
        return _Rejection(candidate, "refused", f"{type(trap).__name__}: {trap}")
    file_count = candidate.group.files + candidate.group.deletes
    if not candidate.unconditional and file_count < max(_FEWER * candidate.group.written, 1):
        reason = f"of {file_count} files {candidate.group.written} would be left; half of them have to go"
        return _Rejection(candidate, "few", reason)
    if _piled_up(partition):
        return None
    if partition.last_change is not None and (quiet_at := partition.last_change + rewrite.quiet_for) > rule_input.now:
        reason = f"changed by a writer at {moment(partition.last_change)}, so not quiet until {moment(quiet_at)}"
        return _Rejection(candidate, "quiet", reason + _perhaps_never(rule_input, partition, rewrite), quiet_at)
    return None


def _piled_up(partition: PartitionState) -> bool:
    """Whether a writer that deletes rows has left so many files that nobody waits until it is quiet."""
    return partition.delete_files > 0 and partition.delete_files + partition.undersized >= _MOST_PILED_UP


def _perhaps_never(rule_input: RuleInput, partition: PartitionState, rewrite: Rewrite) -> str:
    """What to do where waiting may not help: a partition that time does not close changes again and again."""
    main = rule_input.state.main
    if main and main[0].parent_id is None and rule_input.now - main[0].timestamp < rewrite.quiet_for:
        return ""  # all of its history: a table is often filled by several commits, and then left alone
    if partition.ends is not None or partition.changes_per_hour * (rewrite.quiet_for / _HOUR) < _AGAIN_AND_AGAIN:
        return ""
    return f"; it changes {partition.changes_per_hour:.0f} times an hour and may never be: declare a shorter quiet_for"


def _affordable(
    rule_input: RuleInput, ready: Sequence[_Candidate], rewrite: Rewrite
) -> tuple[list[_Candidate], int | None]:
    """The first that fit into one action; one that is too large alone is begun, with as much as fits."""
    max_bytes = min(rewrite.max_group_bytes, rule_input.budget.bytes)
    begins = max_bytes >= rewrite.target_file_size
    chosen: list[_Candidate] = []
    for candidate in ready:
        if sum(member.group.bytes for member in (*chosen, candidate)) <= max_bytes:
            chosen.append(candidate)
        elif begins and not chosen and (group := first_files(candidate.state, rewrite, max_bytes)) is not None:
            return [replace(candidate, group=group)], max_bytes
    return chosen, None


def _over(rule_input: RuleInput, candidate: _Candidate, rewrite: Rewrite) -> str:
    max_bytes = min(rewrite.max_group_bytes, rule_input.budget.bytes)
    limit = f"one takes at most {sized(max_bytes)}"
    if candidate.state.foreign and candidate.group.bytes > max_bytes:
        return f"{limit}, but all {sized(candidate.group.bytes)} have to be written in the new format at once"
    return f"waits for a later run: {limit}"


def _action(chosen: Sequence[_Candidate], max_bytes: int | None) -> Action:
    reasons = [
        f"{candidate.state.partition.name}: {', '.join(candidate.reasons)}" for candidate in chosen[:_MOST_NAMED]
    ]
    if len(chosen) > _MOST_NAMED:
        reasons.append(f"and {len(chosen) - _MOST_NAMED} partitions more")
    if max_bytes is not None:
        reasons.append(f"the first {sized(chosen[0].group.bytes)} of {sized(chosen[0].state.bytes)}")
    return Action(
        operation=Operation.REWRITE,
        partitions=tuple(candidate.state.partition for candidate in chosen),
        max_bytes=max_bytes,
        bytes=sum(candidate.group.bytes for candidate in chosen),
        reasons=tuple(reasons),
    )


def _grouped(rejections: Sequence[_Rejection]) -> Iterator[Withheld]:
    """One for each reason in one word, with all partitions and the words for some."""
    causes: dict[Why, None] = {rejection.why: None for rejection in rejections}
    for why in causes:
        group = [rejection for rejection in rejections if rejection.why == why]
        reasons = [
            f"{rejection.candidate.state.partition.name}: {rejection.reason}" for rejection in group[:_MOST_NAMED]
        ]
        if len(group) > _MOST_NAMED:
            reasons.append(f"and {len(group) - _MOST_NAMED} partitions more")
        action = Action(
            operation=Operation.REWRITE, partitions=tuple(rejection.candidate.state.partition for rejection in group)
        )
        until = min((rejection.until for rejection in group if rejection.until is not None), default=None)
        yield withheld_action(action, why, reasons, until=until)


def _too_few(rule_input: RuleInput) -> str:
    rewrite = rule_input.policy.rewrite or Rewrite()
    small = f"min_input_files={rewrite.min_input_files} files below {sized(rewrite.min_file_size)}"
    if rule_input.state.partitions is not None:
        return f"no partition has {small}"
    # Without a look at the partitions, all that is known is that there are few of them, or that they are large.
    few = rule_input.state.totals.files < rewrite.min_input_files
    return f"fewer than {small}" if few else "of the right size when they were last counted by partition"


def _sound(rule_input: RuleInput) -> str:
    """What is good about the files."""
    totals = rule_input.state.totals
    if not totals.files:
        return "there are no files"
    deletes = f", {totals.delete_files} delete files" if totals.delete_files else ""
    mean = sized(totals.bytes / totals.files)
    partitions = rule_input.state.partitions
    where = "" if partitions is None else f" in {quantity(len(partitions), 'partition')}"
    return f"{totals.files} files{where} of {mean} on average{deletes}: {_too_few(rule_input)}"
