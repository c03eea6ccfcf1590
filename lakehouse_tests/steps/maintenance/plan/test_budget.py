"""One budget over all tables: who was looked after longest ago first, and who has to wait is told why."""

from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from lakehouse.settings import MaintenanceSettings
from lakehouse.steps.maintenance.model.action import Action, MaintenancePlan, Operation
from lakehouse.steps.maintenance.plan.budget import Budget, allot
from lakehouse_tests.steps.maintenance.states import DAY, HOUR, MIB, NOW

BUDGET = Budget(bytes=1000, runs=2)


def wants(table: str, size: int = 100) -> MaintenancePlan:
    """The plan of a table with one thing to do."""
    action = Action(operation=Operation.REWRITE, bytes=size, reasons=("small files",))
    return MaintenancePlan(table=table, state_digest="x", actions=(action,), look_again_at=NOW)


def idle(table: str) -> MaintenancePlan:
    """The plan of a table with nothing to do."""
    return replace(wants(table), actions=(Action(operation=Operation.NOTHING, reasons=("sound",)),))


def test_who_was_looked_after_longest_ago_comes_first() -> None:
    plans = [wants("a"), wants("b"), wants("c"), idle("d")]
    attended = {"a": NOW - HOUR, "b": NOW - 2 * DAY, "c": NOW - 3 * DAY}
    allotment = allot(plans, BUDGET, attended)
    assert [plan.table for plan in allotment.chosen] == ["c", "b"]
    assert [plan.table for plan in allotment.postponed] == ["a"]
    assert [plan.table for plan in allotment.idle] == ["d"]
    del attended["a"]
    assert [plan.table for plan in allot(plans, BUDGET, attended).chosen] == ["a", "c"], "who never was is first"


def test_who_waits_is_told_for_whom() -> None:
    [postponed] = allot([wants("a"), wants("b"), wants("c")], BUDGET, {"a": NOW}).postponed
    assert postponed.nothing
    assert postponed.actions[0].reasons == ("the budget of this look went to b, c",)
    assert [(withheld.why, withheld.action.operation) for withheld in postponed.withheld] == [
        ("budget", Operation.REWRITE)
    ]
    assert postponed.withheld[0].action.reasons == ("the budget of this look went to b, c", "small files")


def test_what_does_not_fit_leaves_room_for_what_does() -> None:
    allotment = allot([wants("a", size=5000), wants("b", size=600), wants("c", size=500), wants("d")], BUDGET)
    assert [plan.table for plan in allotment.chosen] == ["b", "d"]
    assert [plan.table for plan in allotment.postponed] == ["a", "c"]
    assert "costs more than a whole look" in allot([wants("a", size=5000)], BUDGET).postponed[0].actions[0].reasons[0]


def test_equals_are_taken_by_name() -> None:
    assert [plan.table for plan in allot([wants("b"), wants("a"), wants("c")], BUDGET).chosen] == ["a", "b"]


@settings(deadline=None)
@given(
    plans=st.lists(
        st.builds(
            wants,
            table=st.text("abc", min_size=1, max_size=3),
            size=st.integers(0, 2000),
        ),
        max_size=8,
        unique_by=lambda plan: plan.table,
    ),
    order=st.randoms(use_true_random=False),
)
def test_the_budget_is_never_exceeded_and_the_order_of_tables_does_not_matter(
    plans: list[MaintenancePlan], order: Random
) -> None:
    allotment = allot(plans, BUDGET)
    spent = [action for plan in allotment.chosen for action in plan.actions]
    assert sum(action.bytes for action in spent) <= BUDGET.bytes
    assert len(allotment.chosen) <= BUDGET.runs
    assert sorted(plan.table for plan in allotment.plans) == sorted(plan.table for plan in plans)
    mixed = list(plans)
    order.shuffle(mixed)
    assert allot(mixed, BUDGET) == allotment


def test_the_budget_is_that_of_the_settings() -> None:
    given_ = MaintenanceSettings.model_validate({"bytes_per_tick": "3 MiB", "runs_per_tick": 2})
    assert Budget.of(given_) == Budget(bytes=3 * MIB, runs=2)
