"""Which snapshots may go: from what the policy asks for, the seals that have to stay, and everybody who holds some.

A pure function. What is left of `main` is whole from its head back to one place; before that only what somebody holds
by name is left. So a range that is read from a snapshot within can never have a hole.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from lakehouse.declarations import Expire
from lakehouse.protocol.seals.history import MAIN
from lakehouse.steps.maintenance.expire.holds import pin_ends
from lakehouse.steps.maintenance.measure.history import OWN_KINDS
from lakehouse.steps.maintenance.model.state import MeasuredState, SnapshotHold, SnapshotState

LEFT_BEHIND_FOR = timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class SnapshotSelection:
    """What may go, and why more may not.

    Attributes:
        expired: snapshots of `main`, oldest first.
        left_behind: those on no reference: of branches that a publish retired, or that somebody rolled back.
        ended: tags of pins whose time is over; they go in the same commit.
        kept: snapshots that the policy would let go → why they stay, in words.
        blocked: who keeps some of them → how many.
    """

    expired: tuple[int, ...] = ()
    left_behind: tuple[int, ...] = ()
    ended: tuple[str, ...] = ()
    kept: Mapping[int, str]
    blocked: Mapping[SnapshotHold, int]

    @property
    def snapshot_ids(self) -> tuple[int, ...]:
        """Every snapshot that may go."""
        return (*self.expired, *self.left_behind)


def select_snapshots(state: MeasuredState, policy: Expire) -> SnapshotSelection:
    """Decide which snapshots of a table may go.

    Args:
        state: the table, with its history, references and holders.
        policy: what is asked for.
    """
    main = _main(state)
    line = [snapshot.snapshot_id for snapshot in main]
    index_of = {snapshot_id: index for index, snapshot_id in enumerate(line)}
    kept_count = _by_policy(main, state.measured_at, policy)
    ended = tuple(ref.name for ref in state.refs if _is_over(ref.name, state.measured_at))
    reasons: dict[int, str] = {}
    blocked: dict[SnapshotHold, int] = {}
    single: set[int] = set()
    boundary = max(kept_count, *_seals(main, kept_count, reasons))
    parent_of, pins_over = {snapshot.snapshot_id: snapshot.parent_id for snapshot in state.history}, set(ended)
    roots = _roots(parent_of, index_of, [holder.snapshot_id for holder in state.holders])
    for holder in sorted(state.holders, key=_name):
        if holder.kind == "pin" and holder.owner in pins_over:
            continue
        root = roots[holder.snapshot_id]
        indexes = (
            range(kept_count, root + 1) if holder.since_on else [index for index in (root,) if index >= kept_count]
        )
        for index in indexes:
            reasons.setdefault(line[index], f"{_name(holder)} holds it")
        if indexes or (holder.kind == "evidence" and root < 0):  # publishing has left it apart from the history
            blocked[holder] = len(indexes) or 1
        if holder.since_on:
            boundary = max(boundary, root + 1)
        else:
            single.add(holder.snapshot_id)
    # A mirror's seal alone names what it began with; no reference does.
    referenced = set(_referenced(state, pins_over, index_of, parent_of)) | single
    expired = {snapshot_id: None for snapshot_id in reversed(line[boundary:]) if snapshot_id not in referenced}
    for snapshot_id in line[boundary:]:
        if snapshot_id in referenced:
            reasons.setdefault(snapshot_id, "a branch or tag holds it")
    return SnapshotSelection(
        expired=tuple(expired),
        left_behind=tuple(
            _left_behind(state, policy, referenced, main[:boundary][-1].timestamp if main else state.measured_at)
        ),
        ended=ended,
        kept={snapshot_id: reason for snapshot_id, reason in reasons.items() if snapshot_id not in expired},
        blocked=blocked,
    )


def _name(holder: SnapshotHold) -> str:
    until = f" until {holder.until:%Y-%m-%d %H:%M} UTC" if holder.until else ""
    return f"{holder.kind} {holder.owner}{until}"


def _is_over(ref: str, now: datetime) -> bool:
    ends = pin_ends(ref)
    return ends is not None and ends <= now


def _main(state: MeasuredState) -> list[SnapshotState]:
    """The history of main, newest first, by parents: clocks may differ between writers."""
    by_id = {snapshot.snapshot_id: snapshot for snapshot in state.history}
    ancestors: list[SnapshotState] = []
    snapshot_id = state.snapshot_id
    while snapshot_id is not None and (snapshot := by_id.get(snapshot_id)) is not None:
        ancestors.append(snapshot)
        snapshot_id = snapshot.parent_id
    return ancestors


def _by_policy(main: Sequence[SnapshotState], now: datetime, policy: Expire) -> int:
    """How many of the newest snapshots of main the policy keeps."""
    for index, snapshot in enumerate(main):
        too_many = policy.max_snapshots is not None and index >= policy.max_snapshots
        if index >= policy.min_snapshots_to_keep and (too_many or snapshot.timestamp < now - policy.max_snapshot_age):
            return index
    return len(main)


def _seals(newest_first: Sequence[SnapshotState], kept_count: int, reasons: dict[int, str]) -> Iterator[int]:
    """How many of the newest snapshots have to stay for a seal's sake: who writes the table goes on from it."""
    for label, kinds in (("the newest seal", ()), ("the newest seal that is not of maintenance", OWN_KINDS)):
        index = next(
            (index for index, snapshot in enumerate(newest_first) if snapshot.kind and snapshot.kind not in kinds), None
        )
        if index is not None:
            for newer in range(kept_count, index + 1):
                reasons.setdefault(newest_first[newer].snapshot_id, f"{label} is not older")
            yield index + 1
    yield 1  # the head of main


def _roots(
    parent_of: Mapping[int, int | None], index_of: Mapping[int, int], snapshot_ids: Iterable[int]
) -> dict[int, int]:
    """Where in the history of main each snapshot stands, or branches off; -1 where it never met it."""
    roots: dict[int, int] = dict(index_of)
    for snapshot_id in snapshot_ids:
        path: dict[int, None] = {}
        current: int | None = snapshot_id
        # An edited history may be a circle.
        while current is not None and current in parent_of and current not in roots and current not in path:
            path[current] = None
            current = parent_of[current]
        root = -1 if current is None else roots.get(current, -1)
        roots |= dict.fromkeys((*path, snapshot_id), root)
    return roots


def _referenced(
    state: MeasuredState, ended: Collection[str], index_of: Mapping[int, int], parent_of: Mapping[int, int | None]
) -> Iterator[int]:
    """What references need: what they name, and of a branch all that it stands on as far as main."""
    unvisited = dict(parent_of)
    for ref in state.refs:
        current = ref.snapshot_id if ref.name != MAIN and ref.name not in ended else None
        while current is not None and current in unvisited:
            yield current
            # From a snapshot that another reference stands on, that one was followed.
            current = None if current in index_of else unvisited.pop(current)


def _left_behind(
    state: MeasuredState, policy: Expire, referenced: Collection[int], oldest_kept: datetime
) -> Iterator[int]:
    """Entries on no reference. What may yet be wanted, as it was rolled back, stays as long as any other of its age.

    A rebase leaves its first branch behind, and what it published is on main; and a rewrite that was not published has
    no rows of its own. Nobody will want those again. A day is for whoever is about to give one of them a name.
    """
    published = {snapshot.attempt for snapshot in state.main} - {""}
    for snapshot in state.history:
        if (
            snapshot.on_main
            or snapshot.snapshot_id in referenced
            or snapshot.timestamp >= state.measured_at - LEFT_BEHIND_FOR
        ):
            continue
        spare = snapshot.attempt in published or (snapshot.operation == "replace" and not snapshot.attempt)
        if (
            spare
            or snapshot.timestamp < oldest_kept
            or snapshot.timestamp < state.measured_at - policy.max_snapshot_age
        ):
            yield snapshot.snapshot_id
