"""When the tables are looked at again, and when a plan waits after runs that died."""

from datetime import UTC, datetime, timedelta

from lakehouse.orchestration.automation.maintenance_decision import (
    MaintenanceCursor,
    operations_of,
    reason_to_rest,
    reason_to_wait,
    run_key,
)
from lakehouse.steps.maintenance.model.action import Action, MaintenancePlan, Operation

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = (NOW + timedelta(hours=1)).isoformat()


def rest(last: MaintenanceCursor, tables: str = "same", *busy: str, now: datetime = NOW, most: int = 1) -> str:
    return reason_to_rest(last, tables, now, busy=busy, most=most)


def test_a_lake_in_which_nothing_happens_is_left_alone_until_something_could_be_due() -> None:
    assert "nothing is due before 2026-01-01T13:00:00" in rest(MaintenanceCursor("same", LATER))
    assert not rest(MaintenanceCursor("same", LATER), now=NOW + timedelta(hours=2))
    assert not rest(MaintenanceCursor("same", LATER), "another")
    assert not rest(MaintenanceCursor("same", "")), "somebody waits for the budget"
    assert not rest(MaintenanceCursor())


def test_no_more_runs_than_allowed() -> None:
    assert rest(MaintenanceCursor(), "same", "raw.birds") == "maintenance of raw.birds is under way"
    assert not rest(MaintenanceCursor(), "same", "raw.birds", most=2)


def test_what_dies_without_a_word_is_tried_again_later_and_later() -> None:
    minutes = [timedelta(minutes=n) for n in range(600)]
    for count, least in ((1, 5), (2, 10), (3, 20), (20, 360)):
        died = [NOW - timedelta(days=n) for n in range(count)]
        assert next(m for m in minutes if not reason_to_wait(died, NOW + m)) == timedelta(minutes=least)
    assert not reason_to_wait([], NOW)


def test_a_cursor_is_read_as_it_was_written() -> None:
    assert MaintenanceCursor.of(MaintenanceCursor("a", LATER).cursor()) == MaintenanceCursor("a", LATER)
    assert MaintenanceCursor.of(None) == MaintenanceCursor()


def test_a_run_is_named_by_state_and_operations() -> None:
    actions = tuple(
        Action(operation=operation) for operation in (Operation.BRANCHES, Operation.EXPIRE, Operation.EXPIRE)
    )
    plan = MaintenancePlan(table="raw.birds", state_digest="d", actions=actions)
    assert operations_of(plan) == "branches,expire"
    assert run_key(plan) == "raw.birds:d:branches,expire"
