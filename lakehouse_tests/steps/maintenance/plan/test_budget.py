"""One budget over all tables: the best gain for its cost first, and who has to wait is told why."""

from dataclasses import replace
from datetime import timedelta
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from lakehouse.settings import MaintenanceSettings
from lakehouse.steps.maintenance.model.action import Action, MaintenancePlan, Operation, Predicted
from lakehouse.steps.maintenance.plan.budget import Budget, allot, worth
from lakehouse_tests.steps.maintenance.states import MIB, NOW

BUDGET = Budget(bytes=1000, seconds=100, runs=2)


def wants(
    table: str, files: int = 10, size: int = 100, seconds: float = 10.0, survives: float = 1.0
) -> MaintenancePlan:
    """The plan of a table with one thing to do."""
    predicted = Predicted(files_removed=files, bytes=size, seconds=seconds, survives=survives)
    action = Action(operation=Operation.REWRITE, predicted=predicted, reasons=("small files",))
    return MaintenancePlan(table=table, state_digest="x", actions=(action,), look_again_at=NOW)


def idle(table: str) -> MaintenancePlan:
    """The plan of a table with nothing to do."""
    return replace(wants(table), actions=(Action(operation=Operation.NOTHING, reasons=("sound",)),))


def test_the_best_gain_for_its_cost_comes_first() -> None:
    plans = [wants("a", files=10), wants("b", files=50), wants("c", files=30), idle("d")]
    found = allot(plans, BUDGET)
    assert [plan.table for plan in found.chosen] == ["b", "c"]
    assert [plan.table for plan in found.postponed] == ["a"]
    assert [plan.table for plan in found.idle] == ["d"]
    assert worth(wants("x", files=20)) == worth(wants("x", files=40, survives=0.5))


def test_who_waits_is_told_for_whom() -> None:
    [postponed] = allot([wants("a", files=10), wants("b", files=50), wants("c", files=30)], BUDGET).postponed
    assert postponed.nothing
    assert postponed.actions[0].reasons == ("the budget of this look went to b, c",)
    assert [(one.why, one.action.operation) for one in postponed.withheld] == [("budget", Operation.REWRITE)]
    assert postponed.withheld[0].action.reasons == ("the budget of this look went to b, c", "small files")


def test_what_does_not_fit_leaves_room_for_what_does() -> None:
    found = allot([wants("a", files=500, size=5000), wants("b", seconds=200.0, files=9000), wants("c")], BUDGET)
    assert [plan.table for plan in found.chosen] == ["c"]
    assert [plan.table for plan in found.postponed] == ["a", "b"]
    assert "costs more than a whole look" in allot([wants("a", size=5000)], BUDGET).postponed[0].actions[0].reasons[0]


def test_equals_are_taken_by_name() -> None:
    assert [plan.table for plan in allot([wants("b"), wants("a"), wants("c")], BUDGET).chosen] == ["a", "b"]


def test_who_has_waited_too_long_comes_first_and_the_longest_of_all() -> None:
    plans = [wants("a", files=5000), wants("b", files=0), wants("c", files=0), wants("d", files=0, size=5000)]
    turns = {"b": NOW - timedelta(days=2), "c": NOW - timedelta(days=3), "d": NOW - timedelta(days=9)}
    found = allot(plans, BUDGET, turns)
    assert [plan.table for plan in found.chosen] == ["c", "b"]
    assert [plan.table for plan in found.postponed] == ["d", "a"]
    assert [plan.table for plan in allot(plans, BUDGET).chosen] == ["a", "b"]


@settings(deadline=None)
@given(
    plans=st.lists(
        st.builds(
            wants,
            table=st.text("abc", min_size=1, max_size=3),
            files=st.integers(0, 50),
            size=st.integers(0, 2000),
            seconds=st.floats(0, 200),
        ),
        max_size=8,
        unique_by=lambda plan: plan.table,
    ),
    order=st.randoms(use_true_random=False),
)
def test_the_budget_is_never_exceeded_and_the_order_of_tables_does_not_matter(
    plans: list[MaintenancePlan], order: Random
) -> None:
    found = allot(plans, BUDGET)
    spent = [action.predicted for plan in found.chosen for action in plan.actions]
    assert sum(one.bytes for one in spent) <= BUDGET.bytes
    assert sum(one.seconds for one in spent) <= BUDGET.seconds
    assert len(found.chosen) <= BUDGET.runs
    assert sorted(plan.table for plan in found.plans) == sorted(plan.table for plan in plans)
    mixed = list(plans)
    order.shuffle(mixed)
    assert allot(mixed, BUDGET) == found


def test_the_budget_is_that_of_the_settings() -> None:
    given_ = MaintenanceSettings.model_validate({"bytes_per_tick": "3 MiB", "seconds_per_tick": 7, "runs_per_tick": 2})
    assert Budget.of(given_) == Budget(bytes=3 * MIB, seconds=7.0, runs=2)
