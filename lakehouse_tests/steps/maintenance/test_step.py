"""A run of maintenance: decided before it is done, told afterwards, and completed by the next where it died."""

import json
import time
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lakehouse.declarations import AUDIT_LOG, MAINTENANCE_LOG, Expire, Maintenance, Manifests, apply, plan
from lakehouse.declarations.own_tables.decision_row import DecisionRow
from lakehouse.protocol.commit import open_branch
from lakehouse.protocol.errors import ClockSkew
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.maintenance import operations, step
from lakehouse.steps.maintenance.log.history import History
from lakehouse.steps.maintenance.model.action import Action, ActionOutcome, MaintenanceWork, Operation
from lakehouse.steps.maintenance.model.state import Partition
from lakehouse.steps.maintenance.operations import OPERATIONS
from lakehouse.steps.maintenance.report import MaintainReport, MaintenanceFailed
from lakehouse.steps.maintenance.step import MaintainStep, maintain
from lakehouse.steps.maintenance.survey import TableSurvey
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.maintenance.house import LOG, MIRROR, House

pytestmark = pytest.mark.slow

EXPIRES = Maintenance(
    rewrite=None, manifests=None, orphans=None, expire=Expire(min_snapshots_to_keep=2, max_snapshots=3, at_least=3)
)


@pytest.fixture
def house(sql_lake: Lake) -> House:
    return House.of(sql_lake)


def no_spark() -> AbstractContextManager[SparkSession]:
    raise AssertionError("this needs no Spark")


def step_of(house: House, policy: Maintenance, run_id: str = "run-1", **more: Any) -> MaintainStep:
    declared = replace(house.declarations.tables[LOG], maintenance=policy)
    step = MaintainStep(
        catalog=house.catalog,
        declarations=house.declarations,
        table=declared,
        session=no_spark,
        attempt=Attempt(run_id, f"maintain:{LOG}"),
        allow=True,
    )
    return replace(step, **more)


def rows(house: House) -> list[DecisionRow]:
    """What was written down, oldest first."""
    return list(reversed(History.read(house.catalog, datetime.now(UTC)).rows))


def recorded_results(house: House) -> list[tuple[str, str, str]]:
    events = [(row.phase, row.operation, row.result) for row in rows(house)]
    return sorted(events)


def test_a_decision_is_a_row_before_it_is_done_and_what_came_of_it_is_another(house: House) -> None:
    house.grow(6)
    report = maintain(step_of(house, EXPIRES))
    assert [outcome.result for outcome in report.outcomes] == ["done"]
    assert len(house.line) < 6
    assert recorded_results(house) == [("decided", "expire", "chosen"), ("finished", "expire", "done")]
    decided, finished = sorted(rows(house), key=lambda row: row.phase)
    assert decided.run_id == "run-1"
    assert decided.reasons
    assert json.loads(finished.measured or "")["after"]["snapshots"] == len(house.log.metadata.snapshots)
    assert report.after is not None
    assert report.after.plan.nothing


def test_nothing_is_a_decision_with_reasons(house: House) -> None:
    house.grow(1)
    report = maintain(step_of(house, Maintenance()))
    assert not report.outcomes
    [row] = rows(house)
    assert (row.phase, row.operation) == ("decided", "nothing")
    assert any("expire" in reason for reason in row.reasons)


def test_without_leave_what_deletes_is_only_shown(house: House) -> None:
    house.grow(6)
    before = house.line
    report = maintain(step_of(house, EXPIRES, allow=False))
    assert [outcome.result for outcome in report.outcomes] == ["dry_run"]
    assert "would go" in report.outcomes[0].message
    assert house.line == before


def test_nothing_goes_by_a_clock_that_is_ahead(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.grow(6)
    before, real = house.line, time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + 3600 * 10**9)
    # Its own log cannot be written either, so the step fails as a whole.
    with pytest.raises(ClockSkew, match=r"this machine's clock is 3[56][0-9][0-9] s ahead"):
        maintain(step_of(house, EXPIRES))
    assert house.line == before


def test_only_what_is_asked_for_is_done(house: House) -> None:
    house.grow(6)
    both = replace(EXPIRES, manifests=Manifests(min_count=2))
    report = maintain(step_of(house, both, only=[Operation.MANIFESTS]))
    assert [outcome.action.operation for outcome in report.outcomes] == ["manifests"]
    assert len(house.log.metadata.snapshots) >= 6


def test_a_table_that_is_not_there_is_left_alone(house: House) -> None:
    house.catalog.drop_table(("changelog", "things"))
    assert maintain(step_of(house, Maintenance())).surveyed is None
    assert not rows(house)


def test_an_excluded_table_says_why(house: House) -> None:
    house.grow(6)
    maintain(step_of(house, replace(EXPIRES, excluded="the auditors are in")))
    [row] = rows(house)
    assert row.result == "excluded"
    assert any("the auditors are in" in reason for reason in row.reasons)


def test_who_is_in_the_way_is_in_the_row(house: House) -> None:
    first, *_ = house.grow(6)
    house.mirror(first)
    maintain(step_of(house, EXPIRES))
    [row] = rows(house)
    assert row.result == "blocked"
    assert any(MIRROR in hold for hold in row.blocked_by)


def dies(work: MaintenanceWork, action: Action) -> ActionOutcome:
    raise ValueError(f"the value of a row in {work.base.name} {action.operation}")


def test_what_goes_wrong_is_written_down_without_values_and_raised(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.grow(6)
    monkeypatch.setattr(step, "OPERATIONS", {**OPERATIONS, Operation.EXPIRE: dies})
    report = maintain(step_of(house, EXPIRES))
    assert recorded_results(house)[1] == ("finished", "expire", "failed")
    assert rows(house)[-1].message == "it ended in ValueError"
    with pytest.raises(MaintenanceFailed, match="ended in ValueError"):
        report.require_well()


def test_what_comes_after_a_failure_waits_for_the_next_run(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.grow(6)
    with_branch(house, "dead")
    monkeypatch.setattr(step, "OPERATIONS", {**OPERATIONS, Operation.BRANCHES: dies})
    monkeypatch.setattr("lakehouse.steps.maintenance.plan.due_table.LONGEST_RUN", timedelta(0))
    report = maintain(step_of(house, EXPIRES))
    assert [outcome.result for outcome in report.outcomes] == ["failed", "withheld"]
    assert "after what went wrong" in report.outcomes[1].message
    memory, uuid = History.read(house.catalog, datetime.now(UTC)), str(house.log.metadata.table_uuid)
    assert [memory.failures(uuid, operation) for operation in (Operation.BRANCHES, Operation.EXPIRE)] == [1, 0]


def test_it_is_looked_at_again_when_its_turn_has_come(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody takes a lease after the decision, and before it is carried out."""
    seals = house.grow(6)
    passed = operations.OPERATIONS[Operation.EXPIRE]

    def recorded(*args: Any, **more: Any) -> int:
        if args[1] and not args[1][0].finished:
            house.mirror(seals[0])
        return real(*args, **more)

    real = step.record
    monkeypatch.setattr(step, "record", recorded)
    monkeypatch.setattr(step, "OPERATIONS", {Operation.EXPIRE: passed})
    [outcome] = maintain(step_of(house, EXPIRES)).outcomes
    assert (outcome.result, outcome.message) == ("nothing", "it was no longer due when it was its turn")


def test_the_row_of_what_was_done_names_the_partitions_that_it_was_done_to(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When it is its turn they may be others than those of the decision."""
    other = Partition(key="other", name="day=2")

    def done(_: MaintenanceWork, action: Action) -> ActionOutcome:
        return ActionOutcome(action=replace(action, partitions=(other,)), result="done")

    house.grow(6)
    monkeypatch.setattr(step, "OPERATIONS", {Operation.EXPIRE: done})
    maintain(step_of(house, EXPIRES))
    finished = next(row for row in rows(house) if row.phase == "finished")
    assert (finished.partitions, finished.partition_keys) == (("day=2",), ("other",))


def with_branch(house: House, run_id: str) -> None:
    open_branch(house.catalog, read_bases(house.catalog, [LOG])[LOG], Attempt(run_id, f"ingest:{LOG}"))


def interrupted(house: House, run_id: str, monkeypatch: pytest.MonkeyPatch) -> Attempt:
    """A run that ends between its decision and what came of it, with a branch."""

    def killed(work: MaintenanceWork, _: Action) -> ActionOutcome:
        open_branch(work.catalog, work.base, work.attempt)
        raise KeyboardInterrupt

    begun = step_of(house, EXPIRES, run_id)
    with monkeypatch.context() as patched:
        patched.setattr(step, "OPERATIONS", {**OPERATIONS, Operation.EXPIRE: killed})
        with pytest.raises(KeyboardInterrupt):
            maintain(begun)
    return begun.attempt


def test_a_row_that_a_dead_run_left_is_completed_and_its_branch_taken_back(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.grow(6)
    dead = interrupted(house, "dead", monkeypatch)
    assert dead.branch in house.log.metadata.refs
    report = maintain(step_of(house, EXPIRES, "next"))
    assert report.completed == 1
    assert dead.branch not in house.log.metadata.refs
    assert [outcome.result for outcome in report.outcomes] == ["done"], "its branch keeps nobody waiting"
    ended = {row.run_id: row.result for row in rows(house) if row.phase == "finished"}
    assert ended == {"dead": "failed", "next": "done"}
    assert maintain(step_of(house, EXPIRES, "third")).completed == 0


def test_a_run_that_may_still_be_at_work_is_left_alone(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.grow(6)
    alive = interrupted(house, "alive", monkeypatch)
    report = maintain(step_of(house, EXPIRES, "next", under_way={"alive", "next"}))
    assert report.completed == 0
    assert alive.branch in house.log.metadata.refs
    assert not [row for row in rows(house) if row.run_id == "alive" and row.phase == "finished"]


def test_what_a_dead_run_has_published_is_found(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.grow(6)
    real = step.record

    def lost(*args: Any, **more: Any) -> int:
        if args[1] and args[1][0].finished:
            raise KeyboardInterrupt
        return real(*args, **more)

    policy = replace(EXPIRES, expire=None, manifests=Manifests(min_count=2))
    with monkeypatch.context() as patched:
        patched.setattr(step, "record", lost)
        with pytest.raises(KeyboardInterrupt):
            maintain(step_of(house, policy, "dead"))
    maintain(step_of(house, policy, "next"))
    [row] = [row for row in rows(house) if row.phase == "finished"]
    assert (row.run_id, row.result, row.snapshot_id) == ("dead", "done", house.head)
    assert "before it could say so" in row.message


def test_the_lakehouses_own_tables_are_looked_after_without_a_word_about_nothing(house: House) -> None:
    apply(plan(AUDIT_LOG, house.catalog), house.catalog)
    apply(plan(MAINTENANCE_LOG, house.catalog), house.catalog)
    for own in (AUDIT_LOG, MAINTENANCE_LOG):
        report = maintain(step_of(house, Maintenance(), table=own))
        assert report.surveyed is not None
        assert report.surveyed.plan.nothing
    assert not rows(house)


def test_its_own_record_can_be_maintained(house: House) -> None:
    house.grow(1)
    for n in range(4):
        maintain(step_of(house, Maintenance(), f"run-{n}"))
    policy = replace(EXPIRES, expire=None, manifests=Manifests(min_count=2))
    report = maintain(step_of(house, policy, table=replace(MAINTENANCE_LOG, maintenance=policy)))
    assert [outcome.result for outcome in report.outcomes] == ["done"]
    assert len(rows(house)) == 4 + 2


def test_what_failed_lately_waits_unless_a_person_asks(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.grow(6)
    with monkeypatch.context() as patched:
        patched.setattr(step, "OPERATIONS", {**OPERATIONS, Operation.EXPIRE: dies})
        maintain(step_of(house, EXPIRES))
    now = datetime.now(UTC)
    memory, declared = History.read(house.catalog, now), step_of(house, EXPIRES).table

    def look(now: datetime, *, waits: bool) -> list[str]:
        survey = TableSurvey(
            catalog=house.catalog,
            declarations=house.declarations,
            memory=memory,
            budget=step_of(house, EXPIRES).budget,
            now=now,
            waits=waits,
        )
        surveyed = survey.look(declared)
        assert surveyed is not None
        return [action.operation.value for action in surveyed.plan.actions]

    assert look(now, waits=True) == ["nothing"]
    assert look(now, waits=False) == ["expire"]
    assert look(now + timedelta(minutes=6), waits=True) == ["expire"]


def test_the_report_of_nothing_is_well() -> None:
    MaintainReport(surveyed=None).require_well()
