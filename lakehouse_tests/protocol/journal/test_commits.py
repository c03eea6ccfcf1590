"""The log tells every commit of every table once, from the tables' own seals."""

import json

import pytest

from lakehouse.protocol.seals.history import ancestry
from lakehouse_tests.protocol.journal.kept import Kept

pytestmark = pytest.mark.slow


def test_each_publish_is_a_row_with_who_when_by_what_code_and_what_was_read(kept: Kept) -> None:
    attempt = kept.write(kept.a, 1, 2, run="r1", write_mode="append")
    kept.record()
    [row] = kept.rows()
    assert (row.kind, row.outcome, row.table_name) == ("commit", "published", kept.a)
    assert row.snapshot_id == kept.head(kept.a)
    assert (row.run_id, row.root_run_id, row.step) == ("r1", "r1", f"write:{kept.a}")
    assert str(row.runtime_date) == "2013-05-14"
    assert (row.code_version, row.parameters_digest) == ("c1", "p1")
    assert row.message == "write: 2 rows written"
    details = json.loads(row.details)
    assert details["attempt"] == attempt.id
    assert details["inputs"] == {kept.b: 7}
    assert (details["rows_written"], details["rows"], details["write.mode"]) == (2, 2, "append")


def test_looking_again_adds_nothing_and_makes_no_commit(kept: Kept) -> None:
    kept.write(kept.a, 1)
    kept.write(kept.b, 1)
    assert len(kept.record().events) == 2
    before = kept.head("lakehouse.audit_log")
    assert not kept.record().events
    assert kept.head("lakehouse.audit_log") == before


def test_a_look_begins_where_the_last_one_ended(kept: Kept) -> None:
    kept.write(kept.a, 1)
    kept.record()
    kept.write(kept.a, 2)
    kept.write(kept.b, 3)
    assert {event.table for event in kept.record().events} == {kept.a, kept.b}
    assert kept.summaries() == [
        ("commit", "published", "a"),
        ("commit", "published", "a"),
        ("commit", "published", "b"),
    ]


def test_what_moves_a_release_is_told_as_a_release(kept: Kept) -> None:
    kept.write(kept.a, kind="release", release_current="analytics-1", release_members="[]")
    kept.record()
    [row] = kept.rows(kind="release")
    assert row.message == "release: now at analytics-1"


def test_a_commit_from_outside_and_a_rewrite_are_told_as_what_they_are(kept: Kept) -> None:
    kept.write(kept.a, 1)
    table = kept.lake.load(kept.a)
    table.append(table.scan().to_arrow())
    kept.record()
    outside = kept.rows()[-1]
    assert (outside.outcome, outside.severity, outside.run_id) == ("foreign", "ERROR", None)


def test_a_parameter_of_a_computation_is_not_in_the_log(kept: Kept) -> None:
    kept.write(kept.a, 1, derived_parameters='{"secret": "hunter2"}', derived_mode="full")
    kept.record()
    assert "hunter2" not in str(kept.rows())
    assert json.loads(kept.rows()[0].details)["derived.mode"] == "full"


def test_more_than_one_append_takes_comes_with_the_next(kept: Kept) -> None:
    for number in range(3):
        kept.write(kept.a, number)
    kept.write(kept.b, 1)
    assert [(len(recorded.events), recorded.more) for recorded in (kept.record(most=2) for _ in range(3))] == [
        (2, True),
        (2, False),
        (0, False),
    ]
    assert len(set(kept.ids())) == 4


def test_seals_that_were_trimmed_before_they_were_logged_are_a_gap_that_is_said(kept: Kept) -> None:
    with kept.lake.load(kept.a).transaction() as change:
        change.set_properties({"lakehouse.publish.keep-snapshots": "4"})
    kept.write(kept.a, 1)
    kept.record()
    for number in range(6):
        kept.write(kept.a, number)
    kept.record()
    [gap] = kept.rows(kind="gap")
    assert gap.table_name == kept.a
    assert gap.severity == "WARN"
    assert "trimmed before they were logged" in gap.message
    assert not kept.record().events, "it is said once"


def test_trimming_what_is_logged_is_no_gap(kept: Kept) -> None:
    with kept.lake.load(kept.a).transaction() as change:
        change.set_properties({"lakehouse.publish.keep-snapshots": "4"})
    for number in range(6):
        kept.write(kept.a, number)
        if number:  # the last but one look saw a snapshot that is trimmed by now
            kept.record()
    kept.write(kept.a, 7)
    kept.write(kept.a, 8)
    kept.record()
    assert not kept.rows(kind="gap")
    assert len(set(kept.ids())) == len(kept.ids()) == 8


def expire(kept: Kept, keep: int) -> None:
    """Let all but the newest snapshots of a table expire, as any engine may."""
    table = kept.lake.load(kept.a)
    history = [snapshot.snapshot_id for snapshot in ancestry(table, kept.head(kept.a))]
    with table.maintenance.expire_snapshots() as expired:
        expired.by_ids(history[keep:])


def test_a_commit_from_outside_that_expired_before_it_was_logged_is_a_gap_though_all_seals_are_there(
    kept: Kept,
) -> None:
    kept.write(kept.a, 1)
    kept.record()
    table = kept.lake.load(kept.a)
    table.append(table.scan().to_arrow())
    kept.write(kept.a, 2)
    expire(kept, 2)
    kept.record()
    [gap] = kept.rows(kind="gap")
    assert "may have been a commit without" in gap.message
    assert not kept.record().events, "it is said once"


def test_what_expired_was_logged_and_is_no_gap(kept: Kept) -> None:
    kept.write(kept.a, 1)
    kept.record()
    table = kept.lake.load(kept.a)
    table.append(table.scan().to_arrow())
    expire(kept, 1)
    kept.record()
    assert [outcome for _, outcome, _ in kept.summaries()] == ["published", "foreign"]


def test_a_log_that_begins_on_an_old_table_says_what_it_cannot_know(kept: Kept) -> None:
    with kept.lake.load(kept.a).transaction() as change:
        change.set_properties({"lakehouse.publish.keep-snapshots": "4"})
    for number in range(6):
        kept.write(kept.a, number)
    kept.record()
    [gap] = kept.rows(kind="gap")
    assert "before the log began" in gap.message


def test_a_rollback_and_what_follows_is_told_and_nothing_twice(kept: Kept) -> None:
    kept.write(kept.a, 1)
    first = kept.head(kept.a)
    kept.write(kept.a, 2)
    second = kept.head(kept.a)
    kept.record()
    kept.lake.load(kept.a).manage_snapshots().set_current_snapshot(snapshot_id=first).commit()
    kept.record()
    assert kept.summaries()[-1] == ("commit", "rolled back", "a")
    assert str(second) in kept.rows()[-1].message
    kept.lake.load(kept.a).manage_snapshots().set_current_snapshot(snapshot_id=second).commit()
    kept.record()
    kept.write(kept.a, 3)
    kept.record()
    assert [outcome for _, outcome, _ in kept.summaries()].count("published") == 3
    assert len(set(kept.ids())) == len(kept.ids())


def back_to(kept: Kept, snapshot_id: int) -> None:
    """An operator sets `main` back."""
    kept.lake.load(kept.a).manage_snapshots().set_current_snapshot(snapshot_id=snapshot_id).commit()


@pytest.mark.parametrize("seen", [True, False])
def test_a_publish_that_was_taken_back_before_it_was_logged_is_told_with_its_rollback(kept: Kept, seen: bool) -> None:
    kept.write(kept.a, 1)
    first = kept.head(kept.a)
    if seen:
        kept.record()
    for number in (2, 3):
        kept.write(kept.a, number, run=f"taken back {number}")
    second = kept.head(kept.a)
    back_to(kept, first)
    assert len(kept.record().events) == (3 if seen else 4)
    rows = kept.rows()
    assert [(row.outcome, row.run_id) for row in rows] == [
        ("published", "run"),
        ("published", "taken back 2"),
        ("published", "taken back 3"),
        ("rolled back", None),
    ]
    assert rows[-2].snapshot_id == second
    assert (rows[-1].snapshot_id, json.loads(rows[-1].details)["was"]) == (first, second)
    assert not kept.record().events
    # The same again, so that the log finds `main` where it was.
    kept.write(kept.a, 4)
    back_to(kept, first)
    assert [event.outcome for event in kept.record().events] == ["published", "rolled back"]
    kept.write(kept.a, 5)
    assert [event.outcome for event in kept.record().events] == ["published"]
    assert len(set(kept.ids())) == len(kept.ids())


def test_a_rollback_of_what_was_logged_and_what_was_not_is_one_row(kept: Kept) -> None:
    kept.write(kept.a, 1)
    first = kept.head(kept.a)
    kept.write(kept.a, 2)
    kept.record()
    kept.write(kept.a, 3)
    back_to(kept, first)
    kept.write(kept.a, 4)
    kept.record()
    assert [outcome for _, outcome, _ in kept.summaries()] == [
        "published",
        "published",
        "published",
        "rolled back",
        "published",
    ]


def test_how_much_was_written_is_unknown_where_the_entries_that_say_so_have_expired(kept: Kept) -> None:
    kept.write(kept.a, 1)
    kept.write(kept.a, 2, 3)
    expire(kept, 1)  # of the second commit, its seal alone is left
    kept.record()
    [row] = kept.rows(kind="commit")
    details = json.loads(row.details)
    assert (details["rows_written"], details["rows_removed"], details["rows"]) == (None, None, 3)
    assert row.message.startswith("write: nobody can say any more how many rows it wrote")


def test_a_step_that_wrote_nothing_on_top_of_what_has_expired_is_known_to_have(kept: Kept) -> None:
    kept.write(kept.a, 1)
    kept.record()
    kept.write(kept.a)
    expire(kept, 1)
    kept.record()
    assert [json.loads(row.details)["rows_written"] for row in kept.rows(kind="commit")] == [1, 0]


def test_a_table_that_was_created_anew_is_a_gap_and_a_new_beginning(kept: Kept) -> None:
    kept.write(kept.a, 1)
    kept.record()
    kept.lake.catalog.drop_table((kept.lake.namespace, "a"))
    kept.lake.create("a")
    kept.write(kept.a, 2)
    kept.record()
    assert sorted(kept.summaries()) == [
        ("commit", "published", "a"),
        ("commit", "published", "a"),
        ("gap", "replaced", "a"),
    ]
    assert not kept.record().events


@pytest.mark.parametrize("declared", [True, False])
def test_a_table_that_was_dropped_is_told_once_also_if_nobody_declares_it_any_more(kept: Kept, declared: bool) -> None:
    kept.write(kept.a, 1)
    kept.write(kept.b, 1)
    head = kept.head(kept.a)
    kept.record()
    if not declared:
        del kept.declarations.tables[kept.a]
        assert not kept.record().events, "it is still there"
    kept.lake.catalog.drop_table((kept.lake.namespace, "a"))
    [dropped] = kept.record().events
    assert (dropped.kind, dropped.outcome, dropped.table) == ("gap", "dropped", kept.a)
    assert f"By whom, and what was committed to it after snapshot {head}, nobody can know." in dropped.message
    assert not kept.record().events


def test_a_table_that_was_created_anew_and_is_empty_is_told_once(kept: Kept) -> None:
    kept.write(kept.a, 1)
    kept.record()
    kept.lake.catalog.drop_table((kept.lake.namespace, "a"))
    kept.lake.create("a")
    assert [event.outcome for event in kept.record().events] == ["replaced"]
    with kept.lake.load(kept.a).transaction() as change:
        change.set_properties({"owner": "us"})
    assert not kept.record().events


def test_a_seal_that_was_changed_is_told_and_does_not_stop_the_log(kept: Kept) -> None:
    kept.write(kept.a, 1)
    sealed = kept.lake.bases(kept.a)[kept.a].sealed
    assert sealed is not None
    table = kept.lake.load(kept.a)
    forged = {**sealed.seal.to_summary(), "lakehouse.run_id": "somebody else"}
    table.append(table.scan().to_arrow(), snapshot_properties=forged)
    kept.write(kept.b, 1)
    kept.record()
    assert sorted(kept.summaries()) == [
        ("commit", "broken", "a"),
        ("commit", "published", "a"),
        ("commit", "published", "b"),
    ]
