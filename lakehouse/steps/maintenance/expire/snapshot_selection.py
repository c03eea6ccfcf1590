"""Which snapshots may go: from what the policy asks for, the seals that have to stay, and everybody who holds some.

A pure function. What is left of `main` is whole from its head back to one place; before that only what somebody holds
by name is left. So a range that is read from a snapshot within can never have a hole.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from lakehouse.declarations import Expire
from lakehouse.protocol.seals.history import MAIN
from lakehouse.steps.maintenance.expire.holds import pin_ends
from lakehouse.steps.maintenance.measure.history import OWN_KINDS
from lakehouse.steps.maintenance.model.state import MeasuredState, SnapshotHold, SnapshotState

LEFT_BEHIND_FOR = timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class Cut:
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
    def gone(self) -> tuple[int, ...]:
        """Every snapshot that may go."""
        return (*self.expired, *self.left_behind)


def cut(state: MeasuredState, policy: Expire) -> Cut:
    """Decide which snapshots of a table may go.

    Args:
        state: the table, with its history, references and holders.
        policy: what is asked for.
    """
    main = _main(state)
    line = [snapshot.snapshot_id for snapshot in main]
    place = {snapshot_id: at for at, snapshot_id in enumerate(line)}
    asked = _by_policy(main, state.measured_at, policy)
    ended = tuple(ref.name for ref in state.refs if _is_over(ref.name, state.measured_at))
    reasons: dict[int, str] = {}
    blocked: dict[SnapshotHold, int] = {}
    boundary = max(asked, *_seals(main, asked, reasons))
    for holder in sorted(state.holders, key=_name):
        if holder.kind == "pin" and holder.owner in ended:
            continue
        own = _way_to_main(state, holder.snapshot_id, place)
        root = next((place[at] for at in own if at in place), -1)
        wanted = range(asked, root + 1) if holder.since_on else [at for at in (root,) if at >= asked]
        for at in wanted:
            reasons.setdefault(line[at], f"{_name(holder)} holds it")
        if wanted:
            blocked[holder] = len(wanted)
        if holder.since_on:
            boundary = max(boundary, root + 1)
    held = _held(state, ended, place)
    expired = [at for at in reversed(line[boundary:]) if at not in held]
    for at in line[boundary:]:
        if at in held:
            reasons.setdefault(at, "a branch or tag holds it")
    return Cut(
        expired=tuple(expired),
        left_behind=tuple(_left_behind(state, policy, held, main[:boundary][-1].at if main else state.measured_at)),
        ended=ended,
        kept={at: why for at, why in reasons.items() if at not in expired},
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
    found: list[SnapshotState] = []
    at = state.snapshot_id
    while at is not None and (snapshot := by_id.get(at)) is not None:
        found.append(snapshot)
        at = snapshot.parent_id
    return found


def _by_policy(main: Sequence[SnapshotState], now: datetime, policy: Expire) -> int:
    """How many of the newest snapshots of main the policy keeps."""
    for at, snapshot in enumerate(main):
        if at >= policy.min_snapshots_to_keep and (
            at >= policy.max_snapshots or snapshot.at < now - policy.max_snapshot_age
        ):
            return at
    return len(main)


def _seals(newest_first: Sequence[SnapshotState], asked: int, reasons: dict[int, str]) -> Iterator[int]:
    """How many of the newest snapshots have to stay for a seal's sake: who writes the table goes on from it."""
    for what, kinds in (("the newest seal", ()), ("the newest seal that is not of maintenance", OWN_KINDS)):
        at = next((at for at, one in enumerate(newest_first) if one.kind and one.kind not in kinds), None)
        if at is not None:
            for newer in range(asked, at + 1):
                reasons.setdefault(newest_first[newer].snapshot_id, f"{what} is not older")
            yield at + 1
    yield 1  # the head of main


def _way_to_main(state: MeasuredState, snapshot_id: int, place: Mapping[int, int]) -> list[int]:
    """A snapshot and its ancestors, as far as the first that is in the history of main."""
    parents = {snapshot.snapshot_id: snapshot.parent_id for snapshot in state.history}
    way: list[int] = []
    at: int | None = snapshot_id
    while at is not None and at in parents:
        way.append(at)
        if at in place:
            break
        at = parents.pop(at)  # once only: an edited history may be a circle
    return way


def _held(state: MeasuredState, ended: Collection[str], place: Mapping[int, int]) -> set[int]:
    """What references need: what they name, and of a branch all that it stands on as far as main."""
    held: set[int] = set()
    for ref in state.refs:
        if ref.name not in ended and ref.name != MAIN:
            held.update(_way_to_main(state, ref.snapshot_id, place))
    return held


def _left_behind(state: MeasuredState, policy: Expire, held: Collection[int], oldest_kept: datetime) -> Iterator[int]:
    """Entries on no reference. What may yet be wanted, as it was rolled back, stays as long as any other of its age.

    A rebase leaves its first branch behind, and what it published is on main; and a rewrite that was not published has
    no rows of its own. Nobody will want those again. A day is for whoever is about to give one of them a name.
    """
    published = {one.attempt for one in state.main} - {""}
    for one in state.history:
        if one.on_main or one.snapshot_id in held or one.at >= state.measured_at - LEFT_BEHIND_FOR:
            continue
        spare = one.attempt in published or (one.operation == "replace" and not one.attempt)
        if spare or one.at < oldest_kept or one.at < state.measured_at - policy.max_snapshot_age:
            yield one.snapshot_id
