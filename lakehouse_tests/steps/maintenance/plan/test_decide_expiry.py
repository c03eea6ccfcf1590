"""What goes: snapshots, branches, leases, files that nobody names, duplicates of closed partitions."""

from dataclasses import replace
from datetime import timedelta

from lakehouse.declarations import Expire, Maintenance, Orphans
from lakehouse.steps.maintenance.model.state import MeasuredState, RefState, Remembered, SnapshotHold
from lakehouse_tests.steps.maintenance.states import (
    BY_COUNT,
    DAY,
    HOUR,
    NOW,
    SOUND,
    decided,
    line,
    operations,
    part,
    state,
    whys,
)


def test_where_there_are_far_too_many_snapshots_expiry_comes_first() -> None:
    plan = decided(state(part(), history=line(80)), BY_COUNT)
    assert operations(plan) == ["expire"]
    assert whys(plan) == {"rewrite": ["after"]}
    assert plan.withheld[0].action.reasons[0] == "waits: expiry comes first, as 30 of 80 snapshots may go"


def test_a_count_that_nobody_asked_for_never_cuts_below_the_age() -> None:
    """Guarded mechanism: what is younger than `max_snapshot_age` stays, however many there are."""
    plan = decided(state(SOUND, history=line(700, every=HOUR / 10)))
    assert operations(plan) == ["nothing"]
    (told,) = [reason for reason in plan.actions[0].reasons if reason.startswith("expire: 0 of 700 snapshots may go")]
    assert told.endswith("all of 5 days stay, and each commit writes their list: max_snapshots would bound it")


def test_snapshots_go_by_count_and_by_age() -> None:
    by_count = decided(state(SOUND, history=line(62)), BY_COUNT)
    assert operations(by_count) == ["expire"]
    assert by_count.actions[0].reasons == ("12 snapshots of main may go",)
    by_age = decided(state(SOUND, history=line(40, every=DAY)))
    assert by_age.actions[0].reasons == ("20 snapshots of main may go",)


def test_too_few_snapshots_are_not_worth_a_commit_and_it_is_known_when_they_are() -> None:
    plan = decided(state(SOUND, history=line(55)))
    assert operations(plan) == ["nothing"]
    aging = decided(state(SOUND, history=line(30, every=timedelta(hours=4))))
    # The tenth of 30 snapshots is 80 hours old, and may go when it is five days old.
    assert aging.look_again_at == NOW + DAY
    soon = decided(state(SOUND, history=line(30, every=timedelta(hours=5, minutes=30))))
    assert soon.look_again_at == NOW + timedelta(hours=120 - 110)


def test_a_holder_blocks_expiry_by_name() -> None:
    lagging = SnapshotHold(
        kind="mirror", owner="mirror.things", snapshot_id=1, since_on=True, command="lakehouse lease …"
    )
    plan = decided(state(SOUND, history=line(70), holders=(lagging,)), BY_COUNT)
    assert operations(plan) == ["nothing"]
    assert whys(plan) == {"expire": ["blocked"]}
    [blocker] = plan.actions[0].blocked_by
    assert (
        blocker == "20 snapshots: mirror mirror.things needs snapshot 1 and all after it; to end it: lakehouse lease …"
    )
    assert operations(decided(state(SOUND, history=line(70)), BY_COUNT)) == ["expire"]


def test_a_rewrite_on_its_way_blocks_expiry() -> None:
    ref = RefState(name="lakehouse_attempt_maintain_raw_things_1", kind="branch", snapshot_id=70, begun=NOW - HOUR)
    plan = decided(state(SOUND, history=line(70), refs=(ref,)), BY_COUNT)
    assert whys(plan) == {"expire": ["blocked"]}
    assert ref.name in plan.withheld[0].action.reasons[0]


def test_branches_of_dead_runs_go_after_a_day() -> None:
    def with_branch(age: timedelta) -> MeasuredState:
        ref = RefState(name="lakehouse_attempt_x_1", kind="branch", snapshot_id=1, begun=NOW - age)
        return state(SOUND, refs=(ref,), history=line(2, every=30 * HOUR))

    assert operations(decided(with_branch(25 * HOUR))) == ["branches"]
    young = decided(with_branch(HOUR))
    assert operations(young) == ["nothing"]


def test_overdue_leases_are_loud_and_dropped_after_their_grace_alone() -> None:
    late = SnapshotHold(kind="lease", owner="somebody", snapshot_id=1, until=NOW - 2 * DAY)
    loud = decided(state(SOUND, history=line(3), holders=(late,)))
    assert operations(loud) == ["nothing"]
    assert loud.actions[0].reasons[0].startswith("OVERDUE: lease somebody")
    dropped = decided(state(SOUND, history=line(3), holders=(late,)), Maintenance(expire=Expire(lease_grace=DAY)))
    assert operations(dropped) == ["leases"]
    waits = decided(state(SOUND, holders=(late,)), Maintenance(expire=Expire(lease_grace=timedelta(days=2, hours=3))))
    assert operations(waits) == ["nothing"]
    assert waits.look_again_at == NOW + 3 * HOUR


def test_files_are_listed_once_a_day_while_the_table_changes_or_candidates_wait() -> None:
    def looked(ago: timedelta, updated: timedelta, candidates: int = 0) -> MeasuredState:
        kept = Remembered(orphans_looked_at=NOW - ago, orphan_candidates=candidates)
        return state(SOUND, remembered=kept, updated_at=NOW - updated)

    assert operations(decided(looked(25 * HOUR, HOUR))) == ["orphans"]
    assert operations(decided(looked(25 * HOUR, 26 * HOUR))) == ["nothing"]
    assert operations(decided(looked(25 * HOUR, 26 * HOUR, candidates=1))) == ["orphans"]
    soon = decided(looked(20 * HOUR, HOUR))
    assert operations(soon) == ["nothing"]
    assert soon.look_again_at == NOW + 4 * HOUR
    many = state(SOUND, remembered=Remembered(), history=line(80, every=HOUR))
    assert operations(decided(many, BY_COUNT)) == ["expire", "orphans"]
    young = decided(state(SOUND, remembered=Remembered(), history=line(5)))
    assert operations(young) == ["nothing"]


def test_a_table_that_is_younger_than_any_orphan_is_not_listed_also_where_its_first_commits_are_forgotten() -> None:
    trimmed = state(SOUND, remembered=Remembered(), history=line(5, oldest_parent=99))
    assert operations(decided(trimmed)) == ["orphans"], "nobody knows how old its files are"
    empty = state(remembered=Remembered(), updated_at=NOW)
    policy = Maintenance(orphans=Orphans(older_than=2 * DAY))
    for measured in (trimmed, empty):
        young = decided(replace(measured, created_at=NOW - HOUR), policy)
        assert operations(young) == ["nothing"]
        assert "orphans: no file is 2 days old before 2013-06-03 11:00:00 UTC" in young.actions[0].reasons
        assert operations(decided(replace(measured, created_at=NOW - 2 * DAY), policy)) == ["orphans"]
