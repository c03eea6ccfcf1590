"""What one run does and in which order, and what waits for another."""

from lakehouse.declarations import Expire, Maintenance
from lakehouse.steps.maintenance.model.action import Action, Operation
from lakehouse.steps.maintenance.plan.order import Ordered, ordered
from lakehouse_tests.steps.maintenance.states import line, state

POLICY = Maintenance(expire=Expire(max_snapshots=20))
REWRITE, MANIFESTS, EXPIRE, ORPHANS = (
    Action(operation=operation)
    for operation in (Operation.REWRITE, Operation.MANIFESTS, Operation.EXPIRE, Operation.ORPHANS)
)


def done(*actions: Action, snapshots: int = 20) -> tuple[list[Operation], dict[Operation, str]]:
    """Operations of this run, and why the others wait."""
    order: Ordered = ordered(actions, state(history=line(snapshots)), POLICY)
    assert {withheld.why for withheld in order.waiting} <= {"after"}
    return (
        [action.operation for action in order.actions],
        {withheld.action.operation: withheld.action.reasons[0] for withheld in order.waiting},
    )


def test_expiry_and_orphans_wait_for_a_run_without_a_rewrite() -> None:
    """A rewrite stands on snapshots that expiry might let go."""
    operations, waiting = done(ORPHANS, EXPIRE, REWRITE)
    assert operations == [Operation.REWRITE]
    assert set(waiting) == {Operation.EXPIRE, Operation.ORPHANS}
    assert waiting[Operation.EXPIRE].startswith("waits for a run without rewrite")


def test_one_rewrite_of_files_in_a_run() -> None:
    operations, waiting = done(MANIFESTS, REWRITE)
    assert operations == [Operation.REWRITE]
    assert waiting == {Operation.MANIFESTS: "waits for a run of its own, after rewrite"}


def test_expiry_goes_first_where_there_are_far_too_many_snapshots() -> None:
    """A table whose writers never rest always has something to rewrite."""
    assert done(REWRITE, EXPIRE, snapshots=30)[0] == [Operation.REWRITE]
    operations, waiting = done(REWRITE, EXPIRE, snapshots=31)
    assert operations == [Operation.EXPIRE]
    assert waiting == {Operation.REWRITE: "waits: expiry comes first, as 11 of 31 snapshots may go"}


def test_a_rewrite_does_not_wait_for_an_expiry_that_is_not_due() -> None:
    assert done(REWRITE, snapshots=31)[0] == [Operation.REWRITE]
