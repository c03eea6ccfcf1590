"""The sensor, the asset and the checks of maintenance, over tables that need no Spark to be looked after."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from lakehouse.declarations import Expire, Maintenance
from lakehouse.orchestration.assets import maintenance_asset
from lakehouse.orchestration.automation import upkeep_sensor
from lakehouse.orchestration.checks import maintenance_checks
from lakehouse.orchestration.resources import Lake, LakehouseSpark
from lakehouse.orchestration.resources.maintenance_metadata import maintenance_key
from lakehouse.orchestration.run_context import ALLOW_TAG, MAINTENANCE_TAG
from lakehouse.settings import load_settings
from lakehouse.steps.maintenance import step
from lakehouse.steps.maintenance.approval import show
from lakehouse.steps.maintenance.log.history import History
from lakehouse.steps.maintenance.model.action import Action, ActionOutcome, MaintenanceWork, Operation
from lakehouse.steps.maintenance.operations import OPERATIONS
from lakehouse.steps.maintenance.plan.budget import Budget
from lakehouse.steps.maintenance.survey import TableSurvey
from lakehouse_tests.fixtures import lakes
from lakehouse_tests.fixtures.broker import REPOSITORY
from lakehouse_tests.steps.maintenance.house import LOG, MIRROR, House, days_ahead

pytestmark = pytest.mark.slow

FEW = Maintenance(
    rewrite=None, manifests=None, orphans=None, expire=Expire(min_snapshots_to_keep=2, max_snapshots=3, at_least=3)
)


@dataclass
class Upkeep:
    """A lake whose changelog is looked after, and Dagster's side of it."""

    house: House
    lake: Lake
    instance: dg.DagsterInstance

    @property
    def tables(self) -> list[Any]:
        return list(self.lake.declarations.tables.values())

    def declare(self, policy: Maintenance, *names: str) -> None:
        """Give tables a policy."""
        for name in names or (LOG,):
            tables = self.lake.declarations.tables
            tables[name] = replace(tables[name], maintenance=policy)

    def need_expiry(self) -> None:
        """Something is due for the changelog, and for its mirror."""
        self.house.grow(6)
        for seal in self.house.line[:5]:
            self.house.mirror(seal)
        self.declare(FEW, LOG, MIRROR)

    def shown(self, name: str = LOG) -> str:
        """The digest of a plan that a person was shown."""
        now, catalog = datetime.now(UTC), self.house.catalog
        memory = History.read(catalog, now)
        survey = TableSurvey(
            catalog=catalog, declarations=self.lake.declarations, memory=memory, budget=Budget(), now=now
        )
        surveyed = survey.look(self.lake.declarations.tables[name])
        assert surveyed is not None
        return show(catalog, surveyed, writer="a person")

    def tick(self, cursor: str | None = None) -> dg.SensorResult:
        """What the sensor says."""
        context = dg.build_sensor_context(instance=self.instance, resources={"lake": self.lake}, cursor=cursor)
        result = upkeep_sensor(self.tables, every_seconds=60)(context)
        assert isinstance(result, dg.SensorResult)
        return result

    def run(self, tags: Mapping[str, str] | None = None, name: str = LOG) -> dg.ExecuteInProcessResult:
        """Materialize a table's maintenance, with its checks."""
        declared = self.lake.declarations.tables[name]
        return dg.materialize(
            [maintenance_asset(declared, self.lake.declarations), maintenance_checks(declared, self.lake.declarations)],
            instance=self.instance,
            resources={"lake": self.lake, "spark": LakehouseSpark(conf=str(REPOSITORY / "conf"))},
            tags=dict(tags or {}),
            raise_on_error=False,
        )

    def checks(self, name: str = LOG) -> dict[str, dg.AssetCheckEvaluation]:
        """The checks, without a run of maintenance."""
        declared = self.lake.declarations.tables[name]
        job = dg.define_asset_job("check", dg.AssetSelection.all_asset_checks())
        defs = dg.Definitions(
            asset_checks=[maintenance_checks(declared, self.lake.declarations)],
            jobs=[job],
            resources={"lake": self.lake},
        )
        result = defs.resolve_job_def("check").execute_in_process(instance=self.instance)
        return {evaluation.check_name: evaluation for evaluation in result.get_asset_check_evaluations()}

    def rows(self) -> list[tuple[str, str, str]]:
        """What was written down, in short, by table."""
        rows = History.read(self.house.catalog, datetime.now(UTC)).rows
        return sorted((row.table_name, row.phase, row.operation) for row in rows)


@pytest.fixture
def upkeep(sql_lake: lakes.Lake, tmp_path: Path) -> Iterator[Upkeep]:
    house = House.of(sql_lake)
    settings = load_settings(REPOSITORY / "conf", {"LAKEHOUSE_HOME": str(tmp_path / "home")})
    lake = Lake(settings.model_copy(update={"catalog": sql_lake.settings}), house.declarations)
    with dg.DagsterInstance.ephemeral() as instance:
        yield Upkeep(house, lake, instance)


def test_a_look_starts_a_run_where_a_plan_says_so_and_tells_of_all_others(upkeep: Upkeep) -> None:
    upkeep.house.grow(6)
    upkeep.declare(FEW)
    result = upkeep.tick()
    [request] = result.run_requests or []
    assert request.asset_selection == [maintenance_key(LOG)]
    [row] = [row for row in History.read(upkeep.house.catalog, datetime.now(UTC)).rows if row.table_name == LOG]
    digest = row.state_digest
    assert request.tags == {MAINTENANCE_TAG: LOG, "lakehouse/operations": "expire", ALLOW_TAG: digest}
    assert request.run_key is not None
    keys = {event.asset_key for event in result.asset_events}
    others = {name for name in upkeep.lake.declarations.tables if name != LOG}
    assert keys == {maintenance_key(name) for name in others}
    assert (LOG, "decided", "expire") in upkeep.rows()
    assert {(name, "decided", "nothing") for name in others} <= set(upkeep.rows())


def test_a_lake_in_which_nothing_happens_gets_no_rows_and_no_second_look(upkeep: Upkeep) -> None:
    upkeep.house.grow(2)
    first = upkeep.tick()
    assert not first.run_requests
    before = upkeep.rows()
    assert len(before) == len(upkeep.tables)
    second = upkeep.tick(first.cursor)
    assert second.skip_reason is not None
    assert "no table has changed" in str(second.skip_reason.skip_message)
    upkeep.tick()  # the cursor is lost
    assert upkeep.rows() == before
    upkeep.house.grow(1)
    upkeep.tick(second.cursor)
    assert len(upkeep.rows()) == len(before) + 1, "only the table that has changed"


def test_a_new_policy_is_a_reason_to_look_again(upkeep: Upkeep) -> None:
    upkeep.house.grow(6)
    first = upkeep.tick()
    assert not first.run_requests
    upkeep.declare(FEW)
    assert [request.tags[MAINTENANCE_TAG] for request in upkeep.tick().run_requests or []] == [LOG]


def test_no_more_than_the_budget_is_started_and_the_rest_is_told_so(upkeep: Upkeep) -> None:
    upkeep.need_expiry()
    result = upkeep.tick()
    assert len(result.run_requests or []) == 1
    rows = History.read(upkeep.house.catalog, datetime.now(UTC)).rows
    assert [row.result for row in rows if any("budget" in reason for reason in row.reasons)] == ["withheld"]
    again = upkeep.tick(result.cursor)
    assert len(again.run_requests or []) == 1, "what waits for the budget is looked at with the next tick"


def test_a_run_that_is_under_way_is_waited_for_and_one_that_died_is_tried_later(upkeep: Upkeep) -> None:
    upkeep.house.grow(6)
    upkeep.declare(FEW)
    run = upkeep.instance.create_run_for_job(_job(upkeep), tags={MAINTENANCE_TAG: LOG})
    waits = upkeep.tick()
    assert waits.skip_reason is not None
    assert waits.skip_reason.skip_message == f"maintenance of {LOG} is under way"
    assert not upkeep.rows()
    upkeep.instance.report_run_failed(run)
    late = upkeep.tick()
    assert not late.run_requests
    assert late.skip_reason is not None
    assert f"{LOG}: the last run died, the next try is at" in str(late.skip_reason.skip_message)


@pytest.mark.parametrize(("died", "other"), [(LOG, MIRROR), (MIRROR, LOG)])
def test_a_table_whose_run_died_keeps_no_other_from_its_turn(upkeep: Upkeep, died: str, other: str) -> None:
    upkeep.need_expiry()
    run = upkeep.instance.create_run_for_job(_job(upkeep, died), tags={MAINTENANCE_TAG: died})
    upkeep.instance.report_run_failed(run)
    assert [request.tags[MAINTENANCE_TAG] for request in upkeep.tick().run_requests or []] == [other]


def test_a_table_that_was_never_attended_to_comes_before_one_with_more_to_gain(upkeep: Upkeep) -> None:
    upkeep.need_expiry()
    [best] = upkeep.tick().run_requests or []
    table = best.tags[MAINTENANCE_TAG]
    assert upkeep.run(best.tags, table).success
    upkeep.house.grow(12)
    for seal in upkeep.house.line[5:11]:
        upkeep.house.mirror(seal)
    assert {request.tags[MAINTENANCE_TAG] for request in upkeep.tick().run_requests or []} == {LOG, MIRROR} - {table}


def _job(upkeep: Upkeep, name: str = LOG) -> dg.JobDefinition:
    declared = upkeep.lake.declarations.tables[name]
    resources = {"lake": upkeep.lake, "spark": LakehouseSpark(conf=str(REPOSITORY / "conf"))}
    defs = dg.Definitions([maintenance_asset(declared, upkeep.lake.declarations)], resources=resources)
    return defs.resolve_implicit_global_asset_job_def()


def test_what_was_refused_is_tried_later_and_what_is_due_beside_it_at_once(
    upkeep: Upkeep, monkeypatch: pytest.MonkeyPatch
) -> None:
    upkeep.house.grow(6)
    upkeep.declare(FEW)

    def refused(work: MaintenanceWork, action: Action) -> ActionOutcome:
        return ActionOutcome(action=action, result="proof_failed", message=f"a row of {work.base.name} is gone")

    monkeypatch.setattr(step, "OPERATIONS", {**OPERATIONS, Operation.EXPIRE: refused})
    result = upkeep.run({MAINTENANCE_TAG: LOG, ALLOW_TAG: upkeep.shown()})
    assert not result.success
    [materialization] = [event.materialization for event in result.get_asset_materialization_events()]
    assert "proof_failed" in str(materialization.metadata["done"].value)
    retried = upkeep.tick()
    assert not retried.run_requests
    [observed] = [event for event in retried.asset_events if event.asset_key == maintenance_key(LOG)]
    assert "a row of changelog.things is gone" in str(observed.metadata["not done, and why"].value)


def test_a_run_tells_what_was_decided_what_came_of_it_and_why_not_more(upkeep: Upkeep) -> None:
    first, *_ = upkeep.house.grow(8)
    upkeep.house.mirror(upkeep.house.line[4], until=days_ahead(-1))
    upkeep.declare(FEW)
    result = upkeep.run({ALLOW_TAG: upkeep.shown()})
    assert result.success
    [materialization] = [event.materialization for event in result.get_asset_materialization_events()]
    metadata = {name: value.value for name, value in materialization.metadata.items()}
    assert "**expire**, because:" in str(metadata["decision"])
    assert metadata["snapshots"] == len(upkeep.house.log.metadata.snapshots)
    assert MIRROR in str(metadata["old snapshots are held by"])
    [counts] = [line for line in str(metadata["before and after"]).splitlines() if "| expire | snapshots" in line]
    assert counts.split("|")[4].strip() == str(metadata["snapshots"])
    assert "| expire | files" not in str(metadata["before and after"]), (
        "the files that go with them are not the table's"
    )
    assert upkeep.house.log.metadata.snapshot_by_id(first) is None
    checks = {evaluation.check_name: evaluation for evaluation in result.get_asset_check_evaluations()}
    assert {name for name, evaluation in checks.items() if not evaluation.passed} == {"leases_in_time"}
    assert checks["leases_in_time"].severity is dg.AssetCheckSeverity.WARN
    assert f"the lease of mirror {MIRROR}" in str(checks["leases_in_time"].description)
    upkeep.run({ALLOW_TAG: upkeep.shown()})
    again = upkeep.run({ALLOW_TAG: upkeep.shown()})
    [newest] = [event.materialization for event in again.get_asset_materialization_events()]
    assert "**Nothing**, because:" in str(newest.metadata["decision"].value)
    assert newest.metadata["in short"].value == "nothing to do"
    assert len(again.get_asset_check_evaluations()) == len(checks), "they follow a materialization alone"


def test_a_person_who_clicks_deletes_nothing(upkeep: Upkeep) -> None:
    asset = maintenance_asset(upkeep.lake.declarations.tables[LOG], upkeep.lake.declarations)
    assert "deletes nothing" in str(asset.descriptions_by_key[maintenance_key(LOG)])
    upkeep.house.grow(6)
    upkeep.declare(FEW)
    before = upkeep.house.line
    result = upkeep.run()
    [materialization] = [event.materialization for event in result.get_asset_materialization_events()]
    assert "dry_run" in str(materialization.metadata["done"].value)
    assert upkeep.house.line == before
    command = str(materialization.metadata["to do what was only shown"].value)
    assert not upkeep.run({ALLOW_TAG: "true"}).success
    assert upkeep.house.line == before
    assert upkeep.run({ALLOW_TAG: command.rpartition("=")[2]}).success
    assert len(upkeep.house.line) < len(before)


def test_checks_of_a_table_that_is_not_there_pass_and_of_one_that_somebody_cannot_read_on_fail(upkeep: Upkeep) -> None:
    from lakehouse.protocol.catalog import TableChange, remove_snapshots

    seals = upkeep.house.grow(6)
    upkeep.house.mirror(seals[0], leased=False)
    assert all(evaluation.passed for evaluation in upkeep.checks().values())
    gone = upkeep.house.line[4:]
    upkeep.house.catalog.commit_tables([TableChange(upkeep.house.log.name(), (), (remove_snapshots(gone),))])
    failed = {name for name, evaluation in upkeep.checks().items() if not evaluation.passed}
    assert failed == {"consumers_can_plan"}
    upkeep.house.catalog.drop_table(("changelog", "things"))
    assert all("does not exist yet" in str(evaluation.description) for evaluation in upkeep.checks().values())


def test_a_file_that_was_deleted_without_an_earlier_look_is_found(upkeep: Upkeep) -> None:
    from lakehouse.declarations import ORPHANS, apply, plan
    from lakehouse.protocol.seals.attempt import Attempt
    from lakehouse.steps.maintenance.orphans.listing import ListedFile
    from lakehouse.steps.maintenance.orphans.orphan_log import Event, Note, note

    apply(plan(ORPHANS, upkeep.house.catalog), upkeep.house.catalog)
    begin = datetime.now(UTC) - timedelta(days=9)

    def note_event(name: str, event: Event, days: float) -> None:
        file = ListedFile(path=name, bytes=1, modified_at=begin)
        notes = [Note(f"s3://x/{name}", file, event)]
        attempt, timestamp = Attempt("run", f"maintain:{LOG}"), begin + timedelta(days=days)
        note(
            upkeep.house.catalog, attempt, upkeep.house.log, notes, timestamp=timestamp, longest_run=timedelta(hours=30)
        )

    note_event("good", "candidate", 0)
    note_event("good", "deleted", 2)
    assert upkeep.checks()["orphans_remembered"].passed
    note_event("hasty", "candidate", 0)
    note_event("hasty", "deleted", 1.1)
    note_event("unseen", "deleted", 3)
    evaluation = upkeep.checks()["orphans_remembered"]
    assert not evaluation.passed
    assert "hasty was deleted" in str(evaluation.metadata["findings"].value)
    assert "no look had found it before" in str(evaluation.metadata["findings"].value)


__all__ = ["Upkeep", "upkeep"]
