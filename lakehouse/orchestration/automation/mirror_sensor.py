"""A sensor per mirror: compares what its seal says with the changelog, and starts a run when one is due.

Not a declarative `AutomationCondition`: those are told by materialization events of the changelog, and an event that
was lost (a run killed between its publish and Dagster's record of it) would leave the mirror behind until the next
one. The tables themselves know what is missing. Nor can a condition wait for a share of the target lag and back off.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import dagster as dg

from lakehouse.declarations import MirrorTables
from lakehouse.orchestration.automation.backoff import Failures
from lakehouse.orchestration.automation.mirror_decision import decide_mirror
from lakehouse.orchestration.automation.sensor_options import DEFAULT_OPTIONS, SensorOptions
from lakehouse.orchestration.automation.stream_decision import Decision, decide_refusal
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.resources import Lake
from lakehouse.orchestration.resources.run_records import failures, under_way
from lakehouse.orchestration.run_context import MIRROR_TAG
from lakehouse.protocol.errors import SealBroken
from lakehouse.steps.cdc.status import mirror_standing


def mirror_sensor(
    tables: MirrorTables,
    keys: Sequence[dg.AssetKey],
    names: DagsterNames = DEFAULT_NAMES,
    options: SensorOptions = DEFAULT_OPTIONS,
) -> dg.SensorDefinition:
    """Make the sensor of a mirror.

    Args:
        tables: the mirror.
        keys: its assets; a run materializes them and evaluates their checks.
        names: how Dagster knows the resource of tables.
        options: whether it runs without being switched on, and how often it looks.
    """
    mirror = tables.mirror

    @dg.sensor(
        name=f"{'_'.join(mirror.name.split('.'))}_follows",
        description=f"Starts a run when {tables.changelog.name} holds changes that {mirror.name} has not, in time for "
        f"its target of {mirror.target_lag.total_seconds():.0f} s.",
        target=dg.AssetSelection.assets(*keys),
        minimum_interval_seconds=options.every_seconds,
        default_status=options.status,
    )
    @names.resources
    def follows(context: dg.SensorEvaluationContext, lake: dg.ResourceParam[Lake]) -> dg.SensorResult:
        decision = _look(tables, lake, context.instance)
        if decision.run_key is None:
            return dg.SensorResult(skip_reason=decision.reason)
        request = dg.RunRequest(decision.run_key, tags={MIRROR_TAG: mirror.name}, asset_selection=list(keys))
        return dg.SensorResult(run_requests=[request])

    return follows


def mirror_due(
    tables: MirrorTables, lake: Lake, *, target_lag: timedelta, running: bool = False, failed: Failures | None = None
) -> Decision:
    """Decide whether a mirror's next run is due, by what its tables say; see `decide_mirror`.

    The sensor asks with the patience of the declaration, `lakehouse run` with none: a person waits for it.
    """
    name, now, failed = tables.mirror.name, datetime.now(UTC), failed or Failures()
    try:
        standing = mirror_standing(lake.catalog, tables)
    except SealBroken as broken:
        # The run will refuse by name, where people look; once in a while, not at every look.
        return decide_refusal(name, broken.message, kind="SealBroken", running=running, failures=failed, now=now)
    return decide_mirror(standing, target_lag=target_lag, running=running, failures=failed, now=now)


def _look(tables: MirrorTables, lake: Lake, instance: dg.DagsterInstance) -> Decision:
    runs = {MIRROR_TAG: tables.mirror.name}
    return mirror_due(
        tables,
        lake,
        target_lag=tables.mirror.target_lag,
        running=bool(under_way(instance, runs)),
        failed=Failures.of(failures(instance, runs)),
    )
