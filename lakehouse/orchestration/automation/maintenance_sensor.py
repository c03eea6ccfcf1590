"""One sensor for all tables: measures those that have changed or are due, decides, and starts what plans ask for.

Where nothing has changed and nothing is due it costs one look at where the metadata files are. Every decision is a row
of `lakehouse.maintenance`; one that does nothing is also an observation of the table's maintenance asset.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import dagster as dg

from lakehouse.declarations import MAINTENANCE_LOG, OWN_TABLES, Declarations, Table
from lakehouse.iceberg.manifests.manifest_files import ManifestCache
from lakehouse.iceberg.names import name_of
from lakehouse.orchestration.automation.maintenance_decision import (
    MaintenanceCursor,
    operations_of,
    reason_to_rest,
    reason_to_wait,
    run_key,
)
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.resources import Lake
from lakehouse.orchestration.resources.maintenance_metadata import decision_metadata, maintained_with, maintenance_key
from lakehouse.orchestration.resources.run_records import ended_at, failures, under_way
from lakehouse.orchestration.run_context import ALLOW_TAG, MAINTENANCE_TAG, OPERATIONS_TAG
from lakehouse.protocol.errors import CommitError
from lakehouse.steps.maintenance.log.history import History
from lakehouse.steps.maintenance.log.record import decided_rows, record
from lakehouse.steps.maintenance.model.action import MaintenancePlan
from lakehouse.steps.maintenance.model.partitions import EPOCH
from lakehouse.steps.maintenance.plan.budget import Allotment, Budget
from lakehouse.steps.maintenance.survey import Surveys, TableSurvey, survey_all

NAME = "upkeep"
# Dagster gives a sensor a minute; what was decided by then is kept, and the next look goes on with the others.
_MOST_SECONDS = 30.0


@dataclass(frozen=True)
class _Decided:
    """What one look has decided.

    Args:
        surveys: the tables that were looked at, but for those that wait.
        allotment: which of their plans the budget pays for; these become runs.
        again_at: when time alone could change something; None for at once.
        waiting: table → why its run is not started, though the plan says so.
    """

    surveys: Surveys
    allotment: Allotment
    again_at: datetime | None
    waiting: Mapping[str, str]

    def with_trouble(self, trouble: Mapping[str, str]) -> "_Decided":
        """The same, with tables of which the catalog has said nothing: they are asked for again with the next tick."""
        if not trouble:
            return self
        surveys = replace(self.surveys, trouble={**self.surveys.trouble, **trouble})
        return replace(self, surveys=surveys, again_at=None)


def upkeep_sensor(
    declared: Sequence[Table],
    names: DagsterNames = DEFAULT_NAMES,
    *,
    every_seconds: int,
    status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.STOPPED,
) -> dg.SensorDefinition:
    """Make the sensor.

    Args:
        declared: that are looked after, and with them those that are made like one of them.
        names: how Dagster knows them.
        every_seconds: how often it looks.
        status: whether it runs without being switched on; it deletes what policies let go.
    """
    cache = ManifestCache()  # the process that evaluates sensors goes on from look to look

    @dg.sensor(
        name=NAME,
        description="Measures tables from their metadata, decides what each needs, writes that down in "
        f"{MAINTENANCE_LOG.name}, and starts runs of maintenance within the budget of conf/lakehouse.yaml.",
        target=dg.AssetSelection.assets(*(maintenance_key(table.name, names) for table in declared)),
        minimum_interval_seconds=every_seconds,
        default_status=status,
    )
    @names.resources
    def upkeep(context: dg.SensorEvaluationContext, lake: dg.ResourceParam[Lake]) -> dg.SensorResult:
        now, declarations = datetime.now(UTC), lake.declarations
        tables = [*declared, *_made_like(declared, declarations)]
        most = lake.settings.maintenance.runs_per_tick
        runs = under_way(context.instance, {MAINTENANCE_TAG: [table.name for table in tables]})
        busy = {run.dagster_run.tags[MAINTENANCE_TAG] for run in runs}
        locations, refused = _places(lake, tables)
        digest = _digest({**locations, **refused})
        if why := reason_to_rest(MaintenanceCursor.of(context.cursor), digest, now, busy=busy, most=most):
            return dg.SensorResult(skip_reason=why, cursor=context.cursor)
        survey = TableSurvey(
            catalog=lake.catalog,
            declarations=declarations,
            memory=History.read(lake.catalog, now),
            budget=replace(Budget.of(lake.settings.maintenance), runs=most - len(busy)),
            now=now,
            cache=cache,
        )
        decided = _decide(survey, [table for table in tables if table.name not in busy], locations, context.instance)
        decided = decided.with_trouble(refused)
        for name, why in decided.surveys.trouble.items():
            context.log.error(f"{name} could not be looked at, the next tick tries again: {why}")
        try:
            _write_down(lake, decided, survey)
        except CommitError as trouble:
            # What nobody can read afterwards is not done.
            return dg.SensorResult(skip_reason=f"what was decided could not be written down: {trouble}")
        again_at = decided.again_at.isoformat() if decided.again_at is not None and not busy else ""
        return dg.SensorResult(
            run_requests=[_request(plan, declarations, names) for plan in decided.allotment.chosen],
            skip_reason=None if decided.allotment.chosen else _summary(decided),
            asset_events=_observations(decided, names),
            cursor=MaintenanceCursor(digest, again_at).cursor(),
        )

    return upkeep


def _decide(
    survey: TableSurvey, tables: Sequence[Table], locations: Mapping[str, str], instance: dg.DagsterInstance
) -> _Decided:
    """Look at the tables whose newest decision does not stand any more."""
    until = {
        table.name: until_time
        for table in tables
        if table.name in locations and (until_time := survey.stands_until(table, locations[table.name])) is not None
    }
    wanted = [table for table in tables if table.name in locations and table.name not in until]
    # Whoever waits longest is first, so that no table keeps another from its turn where time is short.
    wanted.sort(key=lambda table: _waits_since(table, survey.memory))
    looked, waiting = survey_all(survey, wanted, seconds=_MOST_SECONDS), dict[str, str]()
    # One that waits takes no part of the budget from the others; Dagster is asked of those alone whose turn it is.
    while True:
        surveys, allotment = looked.without(waiting).rationed(survey)
        waits = {
            plan.table: why
            for plan in allotment.chosen
            if (why := reason_to_wait(_died(instance, plan.table, survey.memory), survey.now))
        }
        if not waits:
            break
        waiting |= waits
    times = [*until.values(), *(plan.look_again_at for plan in allotment.idle if plan.look_again_at is not None)]
    at_once = waiting or allotment.chosen or allotment.postponed or surveys.trouble or surveys.left
    return _Decided(surveys, allotment, None if at_once or not times else min(times), waiting)


def _waits_since(table: Table, memory: History) -> tuple[datetime, str]:
    row = memory.decision(table.name)
    return row.timestamp if row is not None else EPOCH, table.name


def _died(instance: dg.DagsterInstance, table: str, memory: History) -> list[datetime]:
    """When the newest runs of a table ended that failed and never said what came of it.

    What a run has written down as failed makes that operation wait, and no other.
    """
    finished = {row.run_id for row in memory.rows if row.finished}
    failed = failures(instance, {MAINTENANCE_TAG: table})
    return [ended_at(record) for record in failed if record.dagster_run.run_id not in finished]


def _write_down(lake: Lake, decided: _Decided, survey: TableSurvey) -> None:
    rows = [
        row
        for _, surveyed in sorted(decided.surveys.surveyed.items())
        for row in decided_rows(surveyed.plan, surveyed.state, surveyed.declared.maintenance)
    ]
    record(lake.catalog, rows, writer=f"sensor {NAME} {survey.now.isoformat()}")


def _made_like(declared: Sequence[Table], declarations: Declarations) -> list[Table]:
    """Tables that records have named, where one that they are like is looked after."""
    known = {table.name for table in declared}
    return [
        table
        for name, table in declarations.tables.items()
        if name not in known and maintained_with(name, declarations) in known
    ]


def _request(plan: MaintenancePlan, declarations: Declarations, names: DagsterNames) -> dg.RunRequest:
    return dg.RunRequest(
        run_key=run_key(plan),
        asset_selection=[maintenance_key(maintained_with(plan.table, declarations), names)],
        tags={MAINTENANCE_TAG: plan.table, OPERATIONS_TAG: operations_of(plan), ALLOW_TAG: plan.state_digest},
    )


def _observations(decided: _Decided, names: DagsterNames) -> list[dg.AssetObservation]:
    """What was decided of tables that no run will tell of."""
    starting = {plan.table for plan in decided.allotment.chosen}
    return [
        dg.AssetObservation(asset_key=maintenance_key(name, names), metadata=decision_metadata(surveyed))
        for name, surveyed in sorted(decided.surveys.surveyed.items())
        if name not in starting
    ]


def _summary(decided: _Decided) -> str:
    surveys, allotment = decided.surveys, decided.allotment
    measured = len(surveys.surveyed) + len(decided.waiting)
    sentences = [f"{measured} tables were measured, {len(allotment.idle)} of them need nothing"]
    if allotment.postponed:
        sentences.append(f"over the budget: {', '.join(plan.table for plan in allotment.postponed)}")
    if surveys.left:
        sentences.append(f"the next look goes on with {len(surveys.left)} more")
    sentences += [f"{name}: {why}" for name, why in sorted(decided.waiting.items())]
    sentences += [f"{name} could not be looked at: {why}" for name, why in sorted(surveys.trouble.items())]
    return "; ".join(sentences)


def _places(lake: Lake, tables: Sequence[Table]) -> tuple[dict[str, str], dict[str, str]]:
    """Table → where its metadata file is, for those that exist; and table → why the catalog does not say."""
    located = lake.catalog.locations([table.identifier for table in tables])
    known = {name_of(identifier): location for identifier, location in located.known.items()}
    return known, {name_of(identifier): why for identifier, why in located.refused.items()}


def _digest(locations: Mapping[str, str]) -> str:
    # What the lakehouse has written about a look is no reason for the next.
    content = sorted((name, location) for name, location in locations.items() if name not in OWN_TABLES)
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()
