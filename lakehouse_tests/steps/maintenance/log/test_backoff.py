"""What came to nothing waits longer each time, and keeps no other operation of the table from its turn."""

from datetime import timedelta
from typing import Any

import pytest

from lakehouse.declarations import Maintenance
from lakehouse.declarations.own_tables.decision_row import DecisionRow
from lakehouse.steps.maintenance.log.backoff import AFTER_PROOF_FAILED, LONGEST_PAUSE, patient, pause
from lakehouse.steps.maintenance.log.history import History
from lakehouse.steps.maintenance.log.record import decided_rows, finished_row
from lakehouse.steps.maintenance.model.action import ActionOutcome
from lakehouse_tests.steps.maintenance.states import (
    BY_COUNT,
    DAY,
    NOW,
    TARGET,
    decided,
    line,
    operations,
    part,
    state,
    whys,
)

MINUTE = timedelta(minutes=1)
SMALL = state(part(), history=line(5))


def ended(*results: Any) -> History:
    """Rewrites of the table that came to this, a minute apart, the last of them now."""
    plan = decided(SMALL)
    rows: list[DecisionRow] = []
    for ago, result in enumerate(reversed(results)):
        [row] = decided_rows(plan, SMALL, Maintenance(), attempt=f"a{ago}")
        outcome = ActionOutcome(action=plan.actions[0], result=result, message="somebody was faster")
        rows.append(finished_row(row, outcome, NOW - ago * MINUTE))
    return History(tuple(rows))


@pytest.mark.parametrize(
    ("results", "minutes"),
    [
        (("overtaken",), 5),
        (("overtaken", "overtaken"), 10),
        (("failed", "overtaken", "overtaken"), 20),
        (("overtaken", "done", "overtaken"), 5),
    ],
)
def test_a_rewrite_that_was_overtaken_waits_longer_each_time(results: tuple[str, ...], minutes: int) -> None:
    memory, until = ended(*results), NOW + minutes * MINUTE
    waits = patient(decided(SMALL), memory, SMALL.uuid, until - MINUTE)
    assert operations(waits) == ["nothing"]
    assert whys(waits) == {"rewrite": ["failed"]}
    assert waits.withheld[0].until == until == waits.look_again_at
    assert "overtaken: somebody was faster; the next try is after 2013-06-01" in waits.actions[0].reasons[0]
    assert operations(patient(decided(SMALL), memory, SMALL.uuid, until)) == ["rewrite"]


def test_no_pause_is_longer_than_six_hours_but_after_a_proof_that_failed() -> None:
    assert pause(60, "overtaken") == LONGEST_PAUSE == timedelta(hours=6)
    assert pause(1, "proof_failed") == AFTER_PROOF_FAILED == DAY


def test_other_operations_do_not_wait_for_it() -> None:
    both = state(part(files=4, size=TARGET), history=line(70))
    assert operations(patient(decided(both, BY_COUNT), ended("overtaken"), both.uuid, NOW)) == ["expire"]
    assert operations(patient(decided(SMALL), ended("done"), SMALL.uuid, NOW)) == ["rewrite"]
