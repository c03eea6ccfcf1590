"""Which partitions are rewritten now: those that pass a threshold and that nobody is changing, the oldest first.

Nobody foresees whether a writer will come in between: a rewrite that was overtaken waits longer each time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lakehouse.declarations import Rewrite
from lakehouse.steps.maintenance.model.action import Action, Operation, Why, Withheld
from lakehouse.steps.maintenance.model.partitions import EPOCH
from lakehouse.steps.maintenance.model.preconditions import refused_partition
from lakehouse.steps.maintenance.model.state import PartitionState
from lakehouse.steps.maintenance.plan.due import DueResult, RuleInput, moment, sized, withheld_action
from lakehouse.steps.maintenance.plan.file_group import FileGroup, file_group, first_files

# One file comes out of so many at the most: a rewrite that leaves about as many as it takes would be due again.
_FEWER = 2
_HOUR = timedelta(hours=1)
_AGAIN_AND_AGAIN = 2
_TOLD = 10


@dataclass(frozen=True)
class _Candidate:
    """A partition that is worth a rewrite.

    Attributes:
        reasons: why.
        unconditional: so many rows are deleted, or files are of such a kind, that their number is no question.
    """

    one: PartitionState
    group: FileGroup
    reasons: tuple[str, ...]
    unconditional: bool

    @property
    def rank(self) -> tuple[datetime, str, str]:
        return (self.one.last_change or EPOCH, self.one.partition.name, self.one.partition.key)


@dataclass(frozen=True)
class _Rejection:
    """A candidate that is not taken, and why not."""

    candidate: _Candidate
    why: Why
    reason: str
    until: datetime | None = None


def due_rewrite(asked: RuleInput) -> DueResult:
    """Data files and delete files."""
    rewrite = asked.policy.rewrite
    if rewrite is None:
        return DueResult.nothing("rewrite: the policy is never to rewrite")
    if asked.state.partitions is None:
        return DueResult.nothing(f"rewrite: {_sound(asked)}")
    candidates = [found for one in asked.state.partitions if (found := _candidate(one, rewrite)) is not None]
    if not candidates:
        return DueResult.nothing(f"rewrite: {_sound(asked)}")
    noes: list[_Rejection] = []
    ready: list[_Candidate] = []
    for candidate in sorted(candidates, key=lambda found: found.rank):
        no = _no(asked, candidate, rewrite)
        if no is None:
            ready.append(candidate)
        else:
            noes.append(no)
    chosen, most = _affordable(asked, ready, rewrite)
    places = [found.one for found in chosen]
    noes += [_Rejection(found, "budget", _over(asked, found, rewrite)) for found in ready if found.one not in places]
    actions = (_action(chosen, most),) if chosen else ()
    return DueResult(actions, tuple(_grouped(noes)))


def worth_it(one: PartitionState, rewrite: Rewrite) -> tuple[str, ...]:
    """Why a partition is worth a rewrite, whatever it costs; empty where it is not."""
    reasons: list[str] = []
    small = f"below {sized(rewrite.min_file_size)}"
    if one.undersized >= rewrite.min_input_files:
        reasons.append(f"{one.undersized} of {one.files} files are {small}, {one.fragments} of them fragments")
    elif one.undersized > 1 and one.undersized_bytes >= rewrite.target_file_size:
        reasons.append(f"{one.undersized} files {small} make {sized(one.undersized_bytes)} together")
    if one.oversized:
        reasons.append(f"{one.oversized} files are above {sized(rewrite.max_file_size)}")
    if one.foreign:
        reasons.append(f"{one.foreign} files are not {rewrite.to_format}")
    if one.delete_files >= rewrite.delete_file_threshold:
        reasons.append(
            f"{one.delete_files} delete files apply, with {one.position_deletes + one.equality_deletes} rows"
        )
    if _deleted_share(one) >= rewrite.delete_ratio_threshold:
        reasons.append(f"{_deleted_share(one):.0%} of its rows are deleted")
    return tuple(reasons)


def _candidate(one: PartitionState, rewrite: Rewrite) -> _Candidate | None:
    reasons = worth_it(one, rewrite)
    if not reasons:
        return None
    many_deleted = _deleted_share(one) >= rewrite.delete_ratio_threshold
    unconditional = many_deleted or bool(one.foreign or one.oversized)
    return _Candidate(one, file_group(one, rewrite), reasons, unconditional)


def _deleted_share(one: PartitionState) -> float:
    return min(one.position_deletes / one.records, 1.0) if one.records else 0.0


def _no(asked: RuleInput, candidate: _Candidate, rewrite: Rewrite) -> _Rejection | None:
    """Why a partition that is worth a rewrite is not rewritten now."""
    one = candidate.one
    if (trap := refused_partition(one, asked.policy)) is not None:
        return _Rejection(candidate, "refused", f"{type(trap).__name__}: {trap}")
    given = candidate.group.files + candidate.group.deletes
    if not candidate.unconditional and given < max(_FEWER * candidate.group.written, 1):
        told = f"of {given} files {candidate.group.written} would be left; half of them have to go"
        return _Rejection(candidate, "few", told)
    if one.last_change is not None and (quiet_at := one.last_change + rewrite.quiet_for) > asked.now:
        told = f"changed by a writer at {moment(one.last_change)}, so not quiet until {moment(quiet_at)}"
        return _Rejection(candidate, "quiet", told + _perhaps_never(asked, one, rewrite), quiet_at)
    return None


def _perhaps_never(asked: RuleInput, one: PartitionState, rewrite: Rewrite) -> str:
    """What to do where waiting may not help: a partition that time does not close changes again and again."""
    main = asked.state.main
    if main and main[0].parent_id is None and asked.now - main[0].at < rewrite.quiet_for:
        return ""  # all of its history: a table is often filled by several commits, and then left alone
    if one.ends is not None or one.changes_per_hour * (rewrite.quiet_for / _HOUR) < _AGAIN_AND_AGAIN:
        return ""
    return f"; it changes {one.changes_per_hour:.0f} times an hour and may never be: declare a shorter quiet_for"


def _affordable(asked: RuleInput, ready: Sequence[_Candidate], rewrite: Rewrite) -> tuple[list[_Candidate], int | None]:
    """The first that fit into one action; one that is too large alone is begun, with as much as fits."""
    most = min(rewrite.max_group_bytes, asked.budget.bytes)
    begins = most >= rewrite.target_file_size
    chosen: list[_Candidate] = []
    for candidate in ready:
        if sum(found.group.bytes for found in (*chosen, candidate)) <= most:
            chosen.append(candidate)
        elif begins and not chosen and (part := first_files(candidate.one, rewrite, most)) is not None:
            return [replace(candidate, group=part)], most
    return chosen, None


def _over(asked: RuleInput, candidate: _Candidate, rewrite: Rewrite) -> str:
    most = min(rewrite.max_group_bytes, asked.budget.bytes)
    told = f"one takes at most {sized(most)}"
    if candidate.one.foreign and candidate.group.bytes > most:
        return f"{told}, but all {sized(candidate.group.bytes)} have to be written in the new format at once"
    return f"waits for a later run: {told}"


def _action(chosen: Sequence[_Candidate], most: int | None) -> Action:
    reasons = [f"{candidate.one.partition.name}: {', '.join(candidate.reasons)}" for candidate in chosen[:_TOLD]]
    if len(chosen) > _TOLD:
        reasons.append(f"and {len(chosen) - _TOLD} partitions more")
    if most is not None:
        reasons.append(f"the first {sized(chosen[0].group.bytes)} of {sized(chosen[0].one.bytes)}")
    return Action(
        operation=Operation.REWRITE,
        partitions=tuple(candidate.one.partition for candidate in chosen),
        max_bytes=most,
        bytes=sum(found.group.bytes for found in chosen),
        reasons=tuple(reasons),
    )


def _grouped(noes: Sequence[_Rejection]) -> Iterator[Withheld]:
    """One for each reason in one word, with all partitions and the words for some."""
    whys: dict[Why, None] = {no.why: None for no in noes}
    for why in whys:
        group = [no for no in noes if no.why == why]
        reasons = [f"{no.candidate.one.partition.name}: {no.reason}" for no in group[:_TOLD]]
        if len(group) > _TOLD:
            reasons.append(f"and {len(group) - _TOLD} partitions more")
        action = Action(operation=Operation.REWRITE, partitions=tuple(no.candidate.one.partition for no in group))
        until = min((no.until for no in group if no.until is not None), default=None)
        yield withheld_action(action, why, reasons, until=until)


def _too_few(asked: RuleInput) -> str:
    rewrite = asked.policy.rewrite or Rewrite()
    small = f"min_input_files={rewrite.min_input_files} files below {sized(rewrite.min_file_size)}"
    if asked.state.partitions is not None:
        return f"no partition has {small}"
    # Without a look at the partitions, all that is known is that there are few of them, or that they are large.
    few = asked.state.totals.files < rewrite.min_input_files
    return f"fewer than {small}" if few else "of the right size when they were last counted by partition"


def _sound(asked: RuleInput) -> str:
    """What is good about the files."""
    totals = asked.state.totals
    if not totals.files:
        return "there are no files"
    deletes = f", {totals.delete_files} delete files" if totals.delete_files else ""
    mean = sized(totals.bytes / totals.files)
    where = "" if asked.state.partitions is None else f" in {len(asked.state.partitions)} partitions"
    return f"{totals.files} files{where} of {mean} on average{deletes}: {_too_few(asked)}"
