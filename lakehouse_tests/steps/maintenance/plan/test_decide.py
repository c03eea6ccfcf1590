"""What is decided, and every reason for it: each test fails without the rule that it names."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakehouse.declarations import Deduplicate, Expire, Maintenance, Orphans, Rewrite, Statistics
from lakehouse.steps.maintenance.model.action import Operation
from lakehouse.steps.maintenance.model.past import SnapshotState
from lakehouse.steps.maintenance.model.state import (
    MeasuredState,
    PartitionState,
    RefState,
    Remembered,
    SnapshotHold,
    Traits,
)
from lakehouse.steps.maintenance.plan.budget import Budget
from lakehouse.steps.maintenance.plan.decide import decide
from lakehouse_tests.steps.maintenance.states import (
    BY_COUNT,
    DAY,
    HOUR,
    MIB,
    NOW,
    TARGET,
    decided,
    line,
    operations,
    part,
    state,
    states,
    whys,
)

EVERYTHING = Maintenance(
    statistics=Statistics(),
    deduplicate=Deduplicate(order_by=("n desc",)),
    expire=Expire(lease_grace=DAY),
    orphans=Orphans(delete=True),
)
SOUND = part(files=4, size=TARGET)


@settings(deadline=None)
@given(measured=states(), policy=st.sampled_from([Maintenance(), EVERYTHING]))
def test_the_same_state_gives_the_same_plan(measured: MeasuredState, policy: Maintenance) -> None:
    restored = MeasuredState.from_json(measured.to_json())
    mixed = replace(restored, partitions=tuple(reversed(restored.partitions)) if restored.partitions else None)
    assert decided(measured, policy) == decided(restored, policy)
    assert replace(decided(mixed, policy), state_digest="") == replace(decided(measured, policy), state_digest="")


@settings(deadline=None)
@given(measured=states(), policy=st.sampled_from([Maintenance(), EVERYTHING]))
def test_every_plan_keeps_the_rules(measured: MeasuredState, policy: Maintenance) -> None:
    plan, budget = decided(measured, policy), Budget()
    assert plan.actions
    for action in plan.actions:
        assert action.reasons, action
    for withheld in plan.withheld:
        assert withheld.action.reasons, withheld
    done = [action.operation for action in plan.actions]
    assert sum(operation.rewrites for operation in done) <= 1
    assert not (any(operation.rewrites for operation in done) and Operation.EXPIRE in done)
    assert done == sorted(done, key=list(Operation).index)
    assert Operation.NOTHING not in done or done == [Operation.NOTHING]
    assert plan.look_again_at is not None
    assert NOW < plan.look_again_at <= NOW + DAY
    rewritten = [action for action in plan.actions if action.operation is Operation.REWRITE]
    assert all(action.bytes <= budget.bytes for action in rewritten)
    by_key = {partition.partition.key: partition for partition in measured.partitions or ()}
    for action in rewritten:
        for partition in action.partitions:
            measured_partition = by_key[partition.key]
            changed, files = measured_partition.last_change, measured_partition.undersized
            piled_up = measured_partition.delete_files and measured_partition.delete_files + files >= 100
            assert piled_up or changed is None or changed <= NOW - timedelta(minutes=15)


def test_a_healthy_table_gets_nothing_because() -> None:
    plan = decided(state(SOUND, history=line(5)))
    assert operations(plan) == ["nothing"]
    assert plan.withheld == ()
    reasons = " | ".join(plan.actions[0].reasons)
    for reason in (
        "4 files in 1 partition of 128.0 MiB",
        "3; 30 are worth",
        "0 of 5 snapshots",
        "since the last look",
    ):
        assert reason in reasons


def test_small_files_are_rewritten_and_what_changed_longest_ago_is_first() -> None:
    newer, older = part("day=1", files=6, size=10 * MIB), part("day=2", files=60, size=MIB, last_change=NOW - DAY)
    plan = decided(state(newer, older, SOUND))
    [action] = [a for a in plan.actions if a.operation is Operation.REWRITE]
    assert [partition.name for partition in action.partitions] == ["day=2", "day=1"]
    assert action.bytes == 120 * MIB
    assert "60 of 60 files are below 96.0 MiB" in action.reasons[0]


def test_fewer_files_than_min_input_files_are_left_alone_unless_they_fill_one() -> None:
    few = decided(state(*(part(f"day={n}", files=4, size=MIB) for n in range(13))))
    assert operations(few) == ["nothing"]
    assert "52 files in 13 partitions" in few.actions[0].reasons[0]
    assert "no partition has min_input_files=5 files below 96.0 MiB" in few.actions[0].reasons[0]
    assert operations(decided(state(part(files=4, size=60 * MIB)))) == ["rewrite"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"oversized": 2, "oversized_bytes": 600 * MIB}, "2 files are above"),
        ({"foreign": 3, "foreign_bytes": 300 * MIB, "formats": {"AVRO": 3}}, "3 files are not parquet"),
        ({"delete_files": 3, "position_deletes": 9, "touched": 1, "touched_bytes": MIB}, "3 delete files apply"),
        ({"delete_files": 1, "position_deletes": 2000, "touched": 1, "touched_bytes": 900 * MIB}, "50% of its rows"),
    ],
)
def test_what_else_is_worth_a_rewrite(changes: dict[str, object], reason: str) -> None:
    policy = Maintenance(rewrite=Rewrite(to_format="parquet"))
    plan = decided(state(replace(SOUND, **changes)), policy)
    assert operations(plan) == ["rewrite"]
    assert reason in plan.actions[0].reasons[0]


@pytest.mark.parametrize(("size", "done"), [(20, "rewrite"), (60, "rewrite"), (70, "nothing"), (90, "nothing")])
def test_files_are_merged_where_half_of_them_go(size: int, done: str) -> None:
    assert operations(decided(state(part(files=20, size=size * MIB)))) == [done]


@pytest.mark.parametrize("files", [2, 3, 4, 7, 20, 100])
@pytest.mark.parametrize("size", [97, 110, 128, 140])
def test_what_a_rewrite_has_written_is_not_due_again(files: int, size: int) -> None:
    """Also where its files came out somewhat smaller than was asked for: 90 of 128 MiB are below `min_file_size`."""
    for written in (size, size * 9 // 13):
        assert operations(decided(state(part(files=files, size=written * MIB)))) == ["nothing"]


def test_one_delete_file_is_not_worth_reading_two_large_files_for() -> None:
    partition = replace(SOUND, delete_files=1, position_deletes=1, touched=2, touched_bytes=2 * TARGET)
    plan = decided(state(partition))
    assert whys(plan) == {"rewrite": ["few"]}
    assert plan.withheld[0].action.reasons == ("day=1: of 3 files 2 would be left; half of them have to go",)
    assert whys(decided(state(replace(partition, touched=0, touched_bytes=0)))) == {"rewrite": ["few"]}, (
        "deletes of nothing"
    )
    assert operations(decided(state(replace(partition, delete_files=2)))) == ["rewrite"]
    assert operations(decided(state(replace(partition, position_deletes=1200)))) == ["rewrite"], (
        "30% of its rows are deleted"
    )


def test_a_partition_that_is_written_to_waits_until_it_is_quiet() -> None:
    busy = part("day=2", last_change=NOW - timedelta(minutes=5))
    plan = decided(state(busy))
    assert whys(plan) == {"rewrite": ["quiet"]}
    [waiting] = plan.withheld
    assert waiting.until == NOW + timedelta(minutes=10) == plan.look_again_at
    assert "day=2: changed by a writer at 2013-06-01 11:55:00 UTC" in waiting.action.reasons[0]
    assert operations(decided(state(busy), Maintenance(rewrite=Rewrite(quiet_for=timedelta(0))))) == ["rewrite"]
    both = decided(state(busy, part("day=1")))
    assert [partition.name for partition in both.actions[0].partitions] == ["day=1"]


def test_what_to_declare_where_a_partition_is_never_quiet() -> None:
    busy = part("all of it", last_change=NOW - timedelta(minutes=1), changes_per_hour=60.0)
    assert "changes 60 times an hour and may never be: declare a shorter quiet_for" in waits_because(busy)
    assert "may never be" not in waits_because(replace(busy, ends=NOW + DAY))
    assert "may never be" not in waits_because(replace(busy, changes_per_hour=2.0))
    assert "may never be" not in waits_because(busy, line(3, every=timedelta(minutes=5)))
    assert "may never be" in waits_because(busy, line(4, every=timedelta(minutes=5)))
    assert "may never be" in waits_because(busy, line(3, every=timedelta(minutes=5), oldest_parent=9)), (
        "expired, not young"
    )
    assert operations(decided(state(busy), Maintenance(rewrite=Rewrite(quiet_for=timedelta(0))))) == ["rewrite"]


def test_delete_files_do_not_pile_up_where_it_is_never_quiet() -> None:
    busy = part("all of it", files=95, last_change=NOW - timedelta(minutes=1), changes_per_hour=60.0)
    assert operations(decided(state(replace(busy, delete_files=5)))) == ["rewrite"]
    assert whys(decided(state(replace(busy, delete_files=4)))) == {"rewrite": ["quiet"]}
    assert whys(decided(state(replace(busy, undersized=200)))) == {"rewrite": ["quiet"]}, "nothing is deleted"


def waits_because(partition: PartitionState, history: tuple[SnapshotState, ...] = ()) -> str:
    """Why its rewrite is withheld."""
    withheld = decided(state(partition, history=history)).withheld
    [waiting] = [waiting for waiting in withheld if waiting.action.operation is Operation.REWRITE]
    return waiting.action.reasons[0]


def test_partitions_are_taken_until_the_budget_is_spent() -> None:
    many = [part(f"day={day}", files=30, size=10 * MIB) for day in range(5)]
    plan = decided(state(*many), budget=Budget(bytes=700 * MIB))
    assert len(plan.actions[0].partitions) == 2
    assert whys(plan)["rewrite"] == ["budget"]
    assert len(plan.withheld[0].action.partitions) == 3


def test_an_action_that_no_run_can_pay_for_does_not_keep_the_table_from_others() -> None:
    policy = replace(BY_COUNT, statistics=Statistics())
    plan = decided(state(part(files=100, size=TARGET), history=line(70)), policy)
    assert operations(plan) == ["expire"]
    assert whys(plan) == {"statistics": ["budget"]}
    assert "a run may 2,147,483,648" in plan.withheld[0].action.reasons[0]


def test_a_partition_that_is_too_large_for_one_run_is_begun() -> None:
    plan = decided(state(part(files=1200, size=10 * MIB)), Maintenance(rewrite=Rewrite(max_group_bytes=1024 * MIB)))
    [action] = plan.actions
    assert action.max_bytes == action.bytes == 1024 * MIB
    assert "the first 1.0 GiB of 11.7 GiB" in action.reasons


def test_of_a_partition_that_is_begun_small_files_come_first() -> None:
    partition = part(files=100, size=MIB, oversized=50, oversized_bytes=50 * 300 * MIB)
    partition = replace(partition, files=150, bytes=partition.bytes + partition.oversized_bytes)
    [action] = decided(state(partition), Maintenance(rewrite=Rewrite(max_group_bytes=1024 * MIB))).actions
    assert action.max_bytes == 1024 * MIB
    assert action.bytes == 100 * MIB


def test_another_format_is_all_or_nothing() -> None:
    """Spark can be told to write all files anew, or those of a wrong size, but not those of a format."""
    partition = part(files=20, size=100 * MIB, foreign=10, foreign_bytes=10 * 100 * MIB)
    rewrite = Rewrite(max_group_bytes=1024 * MIB, to_format="parquet")
    plan = decided(state(partition), Maintenance(rewrite=rewrite))
    assert whys(plan) == {"rewrite": ["budget"]}
    assert "all 2.0 GiB have to be written in the new format at once" in plan.withheld[0].action.reasons[0]
    [action] = decided(state(partition), Maintenance(rewrite=replace(rewrite, max_group_bytes=2000 * MIB))).actions
    assert (action.bytes, action.max_bytes) == (2000 * MIB, None)


def test_equality_deletes_are_refused_by_name_until_their_writer_is_gone() -> None:
    partition = replace(part(), equality_deletes=5, delete_files=1)
    plan = decided(state(partition))
    assert whys(plan) == {"rewrite": ["refused"]}
    assert "EqualityDeletes" in plan.withheld[0].action.reasons[0]
    assert operations(decided(state(partition), Maintenance(rewrite=Rewrite(equality_writer_gone=True)))) == ["rewrite"]


def test_many_manifests_are_regrouped_if_fewer_would_do() -> None:
    measured = state(SOUND)
    many = replace(measured, totals=replace(measured.totals, manifests=200, manifest_bytes=2 * MIB))
    plan = decided(many)
    assert operations(plan) == ["manifests"]
    assert plan.actions[0].reasons == ("200 manifests of 2.0 MiB together; 1 would do",)
    large = replace(many, totals=replace(many.totals, manifest_bytes=1200 * MIB))
    assert operations(decided(large)) == ["nothing"]


def test_one_rewriting_action_a_run_and_no_expiry_beside_it() -> None:
    measured = state(part(), history=line(70))
    many = replace(measured, totals=replace(measured.totals, manifests=200))
    plan = decided(many, BY_COUNT)
    assert operations(plan) == ["rewrite"]
    assert whys(plan) == {"manifests": ["after"], "expire": ["after"]}


def test_where_there_are_far_too_many_snapshots_expiry_comes_first() -> None:
    plan = decided(state(part(), history=line(80)), BY_COUNT)
    assert operations(plan) == ["expire"]
    assert whys(plan) == {"rewrite": ["after"]}
    assert plan.withheld[0].action.reasons[0] == "waits: expiry comes first, as 30 of 80 snapshots may go"


def test_a_count_that_nobody_asked_for_never_cuts_below_the_age() -> None:
    """Guarded mechanism: what is younger than `max_snapshot_age` stays, however many there are."""
    plan = decided(state(SOUND, history=line(700, every=HOUR / 10)))
    assert operations(plan) == ["nothing"]
    (sentence,) = [
        reason for reason in plan.actions[0].reasons if reason.startswith("expire: 0 of 700 snapshots may go")
    ]
    assert sentence.endswith("all of 5 days stay, and each commit writes their list: max_snapshots would bound it")


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


def test_statistics_follow_the_rows() -> None:
    policy = Maintenance(statistics=Statistics())
    assert "statistics: there are no rows yet" in decided(state(), policy).actions[0].reasons
    more = decided(state(SOUND, traits=Traits(statistics_rows=10)), policy)
    assert more.actions[0].reasons == ("10 rows when the statistics were made, 4,000 now",)
    assert operations(decided(state(SOUND), policy)) == ["statistics"]
    known = state(SOUND, traits=Traits(statistics_rows=3900))
    assert operations(decided(known, policy)) == ["nothing"]
    assert operations(decided(state(SOUND, traits=Traits(statistics_rows=3000)), policy)) == ["statistics"]


def test_closed_partitions_are_deduplicated_once() -> None:
    policy = Maintenance(deduplicate=Deduplicate(order_by=("n desc",)))
    closed = replace(part("day=1", files=1, size=TARGET), last_change=NOW - 2 * DAY)
    changing = replace(part("day=2", files=1, size=TARGET), last_change=NOW - HOUR)
    not_over = replace(part("day=3", files=1, size=TARGET), last_change=NOW - 3 * DAY, ends=NOW - HOUR)
    plan = decided(state(closed, changing, not_over), policy)
    assert [partition.name for partition in plan.actions[0].partitions] == ["day=1"]
    assert whys(plan) == {"deduplicate": ["quiet"]}
    assert [partition.name for partition in plan.withheld[0].action.partitions] == ["day=2", "day=3"]
    done = Remembered(orphans_looked_at=NOW, deduplicated={closed.partition.key: NOW - DAY})
    assert operations(decided(state(closed, remembered=done), policy)) == ["nothing"]
    changed = replace(closed, last_change=NOW - DAY - HOUR)
    before = Remembered(orphans_looked_at=NOW, deduplicated={closed.partition.key: NOW - 2 * DAY})
    assert operations(decided(state(changed, remembered=before), policy)) == ["deduplicate"]


def test_what_is_asked_for_without_a_policy_says_so() -> None:
    plan = decide(state(SOUND), Maintenance(), Budget(), [Operation.DEDUPLICATE])
    assert plan.actions[0].operation is Operation.NOTHING
    assert plan.actions[0].reasons == ("deduplicate: the declaration has no policy for it",)


def test_a_rewrite_hides_no_late_rows_from_deduplication() -> None:
    """Files that it has written are nobody's change; those that came late may be among them."""
    policy = Maintenance(deduplicate=Deduplicate(order_by=("n desc",)))
    merged = replace(part("day=1", files=1, size=TARGET), last_change=None, rewritten=NOW - 2 * DAY)
    before, after = (
        Remembered(orphans_looked_at=NOW, deduplicated={merged.partition.key: merged.rewritten + late})
        for late in (-HOUR, HOUR)
        if merged.rewritten
    )
    assert operations(decided(state(merged, remembered=before), policy)) == ["deduplicate"]
    assert operations(decided(state(merged, remembered=after), policy)) == ["nothing"]
    lately = replace(merged, rewritten=NOW - HOUR)
    assert whys(decided(state(lately, remembered=before), policy)) == {"deduplicate": ["quiet"]}


def test_a_partition_whose_last_change_is_forgotten_is_closed_when_the_history_is_old_enough() -> None:
    policy = Maintenance(deduplicate=Deduplicate(order_by=("n desc",)))
    unknown = replace(part("day=1", files=1, size=TARGET), last_change=None)
    trimmed = state(unknown, history=line(5, oldest_parent=99))
    assert whys(decided(trimmed, policy)) == {"deduplicate": ["quiet"]}
    for history in (line(30, oldest_parent=99), line(5)):
        assert operations(decided(state(unknown, history=history), policy))[0] == "deduplicate"


def test_an_excluded_table_and_one_that_cannot_be_loaded_get_nothing_and_the_reason() -> None:
    excluded = decided(state(part()), Maintenance(excluded="it is being migrated"))
    assert operations(excluded) == ["nothing"]
    assert excluded.actions[0].reasons == ("excluded by its declaration: it is being migrated",)
    unreadable = decided(MeasuredState(table="raw.things", measured_at=NOW, unreadable="no such type: variant"))
    assert unreadable.actions[0].reasons == ("no such type: variant",)


def test_a_part_that_is_none_is_never_done() -> None:
    never = Maintenance(rewrite=None, manifests=None, expire=None, orphans=None)
    measured = state(part(), history=line(90), remembered=Remembered())
    plan = decided(replace(measured, totals=replace(measured.totals, manifests=200)), never)
    assert operations(plan) == ["nothing"]
    assert len([reason for reason in plan.actions[0].reasons if "the policy is" in reason]) == 4
