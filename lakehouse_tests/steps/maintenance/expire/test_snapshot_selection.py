"""The cut over random histories: it lets go what the policy asks for, and nothing that anybody stands on.

Guarded mechanism: `cut`. Each property fails if its part of the function is taken away.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakehouse.declarations import Expire
from lakehouse.protocol.seals.history import MAIN
from lakehouse.steps.maintenance.expire.snapshot_selection import select_snapshots
from lakehouse.steps.maintenance.model.state import MeasuredState, RefState, SnapshotHold, SnapshotState
from lakehouse_tests.fixtures.work import operations

pytestmark = pytest.mark.slow

NOW = datetime(2031, 5, 1, tzinfo=UTC)
WHAT = ["publish", "publish", "publish", "upkeep", "foreign", "tag", "branch", "attempt", "lease", "rollback"]
EVENTS = st.lists(st.tuples(st.sampled_from(WHAT), st.integers(0, 12), st.integers(0, 20)), max_size=50)
POLICIES = st.builds(
    lambda keep, more, hours: Expire(
        min_snapshots_to_keep=keep,
        max_snapshots=None if more is None else keep + more,
        max_snapshot_age=timedelta(hours=hours),
    ),
    st.integers(2, 6),
    st.none() | st.integers(0, 8),
    st.integers(1, 300),
)


@dataclass
class History:
    """A table as maintenance sees it, growing from the past towards now."""

    timestamp: datetime = NOW - timedelta(days=12)
    snapshots: dict[int, SnapshotState] = field(default_factory=dict[int, SnapshotState])
    refs: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    holders: list[SnapshotHold] = field(default_factory=list[SnapshotHold])
    main: int | None = None

    def commit(self, parent: int | None, *, kind: str = "", attempt: str = "") -> int:
        number = len(self.snapshots) + 1
        self.snapshots[number] = SnapshotState(
            snapshot_id=number,
            parent_id=parent,
            timestamp=self.timestamp,
            operation="append",
            kind=kind,
            attempt=attempt,
        )
        return number

    def line(self, snapshot_id: int | None) -> list[int]:
        ids: list[int] = []
        while snapshot_id is not None:
            ids.append(snapshot_id)
            snapshot_id = self.snapshots[snapshot_id].parent_id
        return ids

    def happen(self, what: str, back: int, hours: int) -> None:
        self.timestamp = min(NOW, self.timestamp + timedelta(hours=hours))
        attempt, line = f"a{len(self.snapshots)}", self.line(self.main)
        snapshot_id = line[min(back, len(line) - 1)] if line else None
        if what == "publish":
            self.main = self.commit(self.commit(self.main, attempt=attempt), kind="write", attempt=attempt)
        elif what == "upkeep":
            self.main = self.commit(self.commit(self.main, attempt=attempt), kind="maintenance", attempt=attempt)
        elif what == "foreign":
            self.main = self.commit(self.main)
        elif snapshot_id is None:
            return
        elif what == "rollback":
            self.main = snapshot_id
        elif what in ("tag", "lease"):
            self.refs[f"{what}{len(self.refs)}"] = ("tag", snapshot_id)
            kind = "mirror" if what == "lease" else "tag"
            owner = f"{what}{len(self.refs)}"
            self.holders.append(SnapshotHold(kind=kind, owner=owner, snapshot_id=snapshot_id, since_on=what == "lease"))
        else:
            head = self.commit(self.commit(snapshot_id, attempt=attempt), kind="write", attempt=attempt)
            self.refs[f"{what}{len(self.refs)}"] = ("branch", head)
            kind = "attempt" if what == "attempt" else "branch"
            self.holders.append(SnapshotHold(kind=kind, owner=f"{what}{len(self.refs)}", snapshot_id=head))

    def state(self) -> MeasuredState:
        line = set(self.line(self.main))
        return MeasuredState(
            table="n.t",
            snapshot_id=self.main,
            measured_at=NOW,
            history=tuple(
                SnapshotState(
                    snapshot_id=snapshot.snapshot_id,
                    parent_id=snapshot.parent_id,
                    timestamp=snapshot.timestamp,
                    operation=snapshot.operation,
                    kind=snapshot.kind,
                    attempt=snapshot.attempt,
                    on_main=snapshot.snapshot_id in line,
                )
                for snapshot in self.snapshots.values()
            ),
            refs=tuple(
                RefState(name=name, kind="branch" if kind == "branch" else "tag", snapshot_id=snapshot_id)
                for name, (kind, snapshot_id) in self.refs.items()
                if name != MAIN
            ),
            holders=tuple(self.holders),
        )


def _grown(events: list[tuple[str, int, int]]) -> History:
    history = History()
    for what, back, hours in events:
        history.happen(what, back, hours)
    return history


@settings(max_examples=300)
@given(EVENTS, POLICIES)
def test_nothing_goes_that_anybody_needs(events: list[tuple[str, int, int]], policy: Expire) -> None:
    history = _grown(events)
    selection = select_snapshots(history.state(), policy)
    gone, line = set(selection.snapshot_ids), history.line(history.main)
    assert not gone & set(line[: policy.min_snapshots_to_keep])
    for kinds in (("write", "maintenance"), ("write",)):
        newest = next(
            (position for position, snapshot_id in enumerate(line) if history.snapshots[snapshot_id].kind in kinds),
            None,
        )
        assert newest is None or not gone & set(line[: newest + 1])
    for _, head in history.refs.values():
        way = history.line(head)
        own = [snapshot_id for snapshot_id in way if snapshot_id not in line]
        assert not gone & {head, *own, *[snapshot_id for snapshot_id in way if snapshot_id in line][:1]}
    for holder in history.holders:
        if holder.since_on:
            root = next((snapshot_id for snapshot_id in history.line(holder.snapshot_id) if snapshot_id in line), None)
            assert root is None or not gone & set(line[: line.index(root) + 1])


@settings(max_examples=300)
@given(EVENTS, POLICIES)
def test_what_is_left_of_main_is_whole_up_to_one_place(events: list[tuple[str, int, int]], policy: Expire) -> None:
    """And before that only what a reference names, or stands on, is left."""
    history = _grown(events)
    selection = select_snapshots(history.state(), policy)
    line, gone = history.line(history.main), set(selection.expired)
    assert gone <= set(line)
    if not gone:
        return
    newest_gone = min(line.index(expired_id) for expired_id in gone)
    stands_on = {
        next((ancestor for ancestor in history.line(head) if ancestor in line), 0) for _, head in history.refs.values()
    }
    for snapshot_id in line[newest_gone:]:
        assert (snapshot_id in gone) != (snapshot_id in stands_on)
    assert list(selection.expired) == sorted(selection.expired)


@settings(max_examples=300)
@given(EVENTS, POLICIES)
def test_what_the_policy_asks_for_goes_unless_somebody_is_named(
    events: list[tuple[str, int, int]], policy: Expire
) -> None:
    history = _grown(events)
    selection = select_snapshots(history.state(), policy)
    for place, snapshot_id in enumerate(history.line(history.main)):
        old = history.snapshots[snapshot_id].timestamp < NOW - policy.max_snapshot_age
        too_many = policy.max_snapshots is not None and place >= policy.max_snapshots
        asked = place >= policy.min_snapshots_to_keep and (old or too_many)
        assert asked or snapshot_id not in selection.snapshot_ids
        assert not asked or snapshot_id in selection.snapshot_ids or selection.kept[snapshot_id]
    for holder, count in selection.blocked.items():
        assert count > 0
        without = [other for other in history.holders if other is not holder]
        freed = History(history.timestamp, history.snapshots, _without(history, holder), without, history.main)
        assert set(select_snapshots(freed.state(), policy).expired) >= set(selection.expired)


def _without(history: History, holder: SnapshotHold) -> Mapping[str, tuple[str, int]]:
    names = list(history.refs)
    place = int("".join(c for c in holder.owner if c.isdigit())) - 1
    return {name: history.refs[name] for position, name in enumerate(names) if position != place}  # pyright: ignore[reportReturnType]


@given(EVENTS, POLICIES)
def test_the_same_state_gives_the_same_cut(events: list[tuple[str, int, int]], policy: Expire) -> None:
    state = _grown(events).state()
    assert select_snapshots(state, policy) == select_snapshots(MeasuredState.from_json(state.to_json()), policy)


def test_a_range_holds_all_after_it_and_a_tag_itself_alone() -> None:
    history = History()
    for _ in range(10):
        history.happen("publish", 0, 1)
    policy = Expire(min_snapshots_to_keep=2, max_snapshots=2)
    line = history.line(history.main)
    history.holders = [SnapshotHold(kind="tag", owner="report", snapshot_id=line[9])]
    history.refs = {"report": ("tag", line[9])}
    assert len(select_snapshots(history.state(), policy).expired) == 17
    history.holders = [SnapshotHold(kind="mirror", owner="m", snapshot_id=line[9], since_on=True)]
    selection = select_snapshots(history.state(), policy)
    assert len(selection.expired) == 10
    assert selection.blocked == {history.holders[0]: 8}
    assert set(selection.kept.values()) == {"mirror m holds it"}


def test_an_empty_table_has_nothing_to_go() -> None:
    assert select_snapshots(MeasuredState(table="n.t", measured_at=NOW), Expire()).snapshot_ids == ()


def test_the_work_grows_with_the_pins_and_not_with_their_square() -> None:
    """Guarded mechanism: `_roots` and `_referenced` visit a snapshot once, however many hold one."""

    def work(pins: int) -> int:
        history = History()
        for _ in range(pins):
            history.happen("publish", 0, 1)
            history.happen("tag", 0, 1)
            history.happen("branch", 0, 1)
        state = history.state()
        return operations(lambda: select_snapshots(state, Expire(min_snapshots_to_keep=2, max_snapshots=2)))

    assert work(200) < 3 * work(100)
