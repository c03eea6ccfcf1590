"""The tables that the lakehouse writes about all others are maintained too, and that is no reason for more of it."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from lakehouse.declarations import AUDIT_LOG, MAINTENANCE_LOG, ORPHANS, STATISTICS, Maintenance
from lakehouse.orchestration.automation.journal_sensor import complete_log
from lakehouse.protocol.commit import publish, stage_replacement
from lakehouse.steps.maintenance import step
from lakehouse.steps.maintenance.log.history import History
from lakehouse.steps.maintenance.log.record import decided_rows, record
from lakehouse.steps.maintenance.model.action import Action, ActionOutcome, MaintenanceWork, Operation
from lakehouse.steps.maintenance.operations import OPERATIONS
from lakehouse_tests.protocol.commit.rewrites import rewrite
from lakehouse_tests.steps.maintenance import test_upkeep
from lakehouse_tests.steps.maintenance.states import HOUR, decided, part, state
from lakehouse_tests.steps.maintenance.test_upkeep import Upkeep

pytestmark = pytest.mark.slow

OWN = (AUDIT_LOG, MAINTENANCE_LOG, ORPHANS, STATISTICS)
upkeep = test_upkeep.upkeep


def without_spark(work: MaintenanceWork, action: Action) -> ActionOutcome:
    """All files of a table in one."""
    replacement = rewrite(work.base.table, None)
    published = publish(work.catalog, [stage_replacement(work.catalog, work.base, work.attempt, replacement)])
    return ActionOutcome(
        action=action, result="done", snapshot_id=published.snapshots[work.base.name], message="rewritten"
    )


@pytest.fixture
def lived_in(upkeep: Upkeep, monkeypatch: pytest.MonkeyPatch) -> Upkeep:
    """A lake in which much was decided, each time by a commit."""
    monkeypatch.setattr(step, "OPERATIONS", {**OPERATIONS, Operation.REWRITE: without_spark})
    upkeep.lake.declarations.tables.update({table.name: table for table in OWN})
    now = datetime.now(UTC)
    for number in range(33):
        measured = replace(state(part()), table="raw.things", measured_at=now - number * HOUR / 60)
        record(upkeep.house.catalog, decided_rows(decided(measured), measured, Maintenance()), writer="sensor")
        complete_log(upkeep.lake, upkeep.instance, writer="sensor")
    return upkeep


def live(upkeep: Upkeep, rounds: int) -> list[tuple[str, str]]:
    """What runs, with the journal and the sensor at work, until for three looks nobody asks for anything."""
    done: list[tuple[str, str]] = []
    cursor, quiet = None, 0
    for _ in range(rounds):
        complete_log(upkeep.lake, upkeep.instance, writer="sensor")
        sensor_result = upkeep.tick(cursor)
        cursor, requests = sensor_result.cursor, sensor_result.run_requests or []
        for request in requests:
            name, operations = request.tags["lakehouse/maintenance"], request.tags["lakehouse/operations"]
            result = upkeep.run(dict(request.tags), name)
            assert result.success
            done.append((name, operations))
        quiet = 0 if requests else quiet + 1
        if quiet == 3:
            return done
    raise AssertionError(f"there is no end of it: {done}")


@pytest.mark.soak
def test_its_own_record_is_maintained_and_then_there_is_nothing_to_do(lived_in: Upkeep) -> None:
    done = live(lived_in, 20)
    assert {(name, "rewrite") for name in (AUDIT_LOG.name, MAINTENANCE_LOG.name)} <= set(done)
    assert len(done) == len(set(done)), "nothing is done twice"
    rows = History.read(lived_in.house.catalog, datetime.now(UTC)).rows
    assert {row.result for row in rows if row.finished} == {"done"}
    before = {table.name: lived_in.house.catalog.load_table(table.identifier).metadata_location for table in OWN[:2]}
    assert live(lived_in, 3) == []
    after = {table.name: lived_in.house.catalog.load_table(table.identifier).metadata_location for table in OWN[:2]}
    assert after == before


def test_what_is_due_of_its_own_record_is_worth_many_times_what_doing_it_writes_there() -> None:
    """Else the rows about it would be the reason for the next."""
    for table in OWN:
        policy = table.maintenance
        assert policy.rewrite is not None
        assert policy.expire is not None
        assert policy.rewrite.min_input_files >= 30
        assert policy.expire.at_least >= 40
        assert not policy.rewrite.quiet_for
    assert MAINTENANCE_LOG.maintenance.orphans is None
