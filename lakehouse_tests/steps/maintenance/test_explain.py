"""A plan in words: what is zero is left out, nothing is said twice, and tables that need nothing are one line."""

from datetime import timedelta

import pytest

from lakehouse.declarations import AUDIT_LOG, Maintenance, Statistics
from lakehouse.steps.maintenance.explain import in_short, in_words, standing, summary
from lakehouse.steps.maintenance.model.action import Operation
from lakehouse.steps.maintenance.model.state import MeasuredState, SnapshotHold
from lakehouse.steps.maintenance.plan.budget import Budget
from lakehouse.steps.maintenance.plan.decide import decide
from lakehouse.steps.maintenance.survey import Surveyed
from lakehouse_tests.steps.maintenance.states import BY_COUNT, DAY, NOW, TARGET, decided, line, part, state

SOUND = part(files=4, size=TARGET)
BUSY = part(last_change=NOW - timedelta(minutes=5))
LATE = SnapshotHold(kind="lease", owner="somebody", snapshot_id=1, until=NOW - DAY)
HOLD = SnapshotHold(
    kind="mirror", owner="mirror.things", snapshot_id=1, since_on=True, command="lakehouse lease release"
)


def surveyed(measured: MeasuredState, policy: Maintenance | None = None) -> Surveyed:
    return Surveyed(AUDIT_LOG, measured, decided(measured, policy))


def test_what_an_operation_does_not_do_is_not_told() -> None:
    tiny = part(files=1, size=2000)
    lines = in_words(surveyed(state(tiny), Maintenance(statistics=Statistics())))
    assert "  statistics: 2.0 kB to read" in lines
    assert not [line for line in lines if "written anew" in line]


def test_an_excluded_table_gives_its_reason_once() -> None:
    excluded = surveyed(state(part()), Maintenance(excluded="it is being migrated"))
    assert "\n".join(in_words(excluded)).count("it is being migrated") == 1
    [short] = in_short(excluded)
    assert short.endswith("nothing to do: excluded by its declaration: it is being migrated")


def test_where_all_that_is_known_stands_below_there_is_no_heading_without_it() -> None:
    measured = state(SOUND, history=line(70), holders=(HOLD,))
    plan = decide(measured, BY_COUNT, Budget(), only=(Operation.EXPIRE,))
    lines = in_words(Surveyed(AUDIT_LOG, measured, plan))
    assert lines[1:4] == [
        "  not now: expire (blocked)",
        "    20 snapshots are old enough to go, and 20 of them are needed",
        "    held up by 20 snapshots: mirror mirror.things needs snapshot 1 and all after it; "
        "to end it: lakehouse lease release",
    ]


@pytest.mark.parametrize(
    ("table_survey", "how"),
    [
        (surveyed(state(part())), "needs something"),
        (surveyed(state(BUSY)), "waits"),
        (surveyed(state(SOUND, history=line(70), holders=(HOLD,)), BY_COUNT), "waits"),
        (surveyed(state(SOUND, history=line(3), holders=(LATE,))), "waits"),
        (surveyed(MeasuredState(table="raw.things", measured_at=NOW, unreadable="no such type")), "waits"),
        (surveyed(state(SOUND)), "nothing"),
        (surveyed(state(part()), Maintenance(excluded="it is being migrated")), "nothing"),
    ],
)
def test_a_table_that_needs_nothing_is_one_line_and_others_are_told_whole(table_survey: Surveyed, how: str) -> None:
    assert standing(table_survey.plan) == how
    assert (len(in_short(table_survey)) == 1) is (how == "nothing")
    if how != "nothing":
        assert in_short(table_survey) == in_words(table_survey)


def test_all_tables_are_summed_up() -> None:
    every = [surveyed(state(part())), surveyed(state(BUSY)), *[surveyed(state(SOUND))] * 2]
    assert summary(every) == "4 tables: 1 needs something, 1 waits, 2 nothing"
    assert summary(every[:1]) == "1 table: 1 needs something, 0 wait, 0 nothing"
