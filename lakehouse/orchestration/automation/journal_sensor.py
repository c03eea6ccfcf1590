"""The sensor that keeps the audit log complete, and tells Dagster what it never heard of.

Where nothing happened it costs two looks: where the tables' metadata are, and which run ended last.
"""

import hashlib
import json
from collections.abc import Collection
from dataclasses import asdict, dataclass

import dagster as dg
from dagster import DagsterInstance

from lakehouse.declarations import AUDIT_LOG
from lakehouse.declarations.registry.other_catalogs import inputs_elsewhere
from lakehouse.iceberg.names import identifier_of, name_of
from lakehouse.orchestration.automation.reconcile_materializations import news_elsewhere, unheard
from lakehouse.orchestration.automation.run_history import named, newest_end, run_news
from lakehouse.orchestration.automation.run_retention import drop_old_runs
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.resources import Lake
from lakehouse.orchestration.resources.ended_pins import drop_ended_pins
from lakehouse.protocol.errors import TableBusy
from lakehouse.protocol.journal import Appended, append, deletions, reconcile

EVERY_SECONDS = 15


@dataclass(frozen=True)
class JournalCursor:
    """What the last look left, as the sensor's cursor.

    Args:
        tables: digest of where all metadata were.
        ended: the run that ended last.
    """

    tables: str = ""
    ended: str = ""


def journal_sensor(
    names: DagsterNames = DEFAULT_NAMES, status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.RUNNING
) -> dg.SensorDefinition:
    """Make the sensor of the audit log."""

    @dg.sensor(
        name="audit_log",
        description=f"Appends to {AUDIT_LOG.name} what runs and tables say happened since the last look, and reports "
        "materializations that Dagster did not hear of because their run was killed.",
        minimum_interval_seconds=EVERY_SECONDS,
        default_status=status,
    )
    @names.resources
    def keep_log(context: dg.SensorEvaluationContext, lake: dg.ResourceParam[Lake]) -> dg.SensorResult:
        last = JournalCursor(**json.loads(context.cursor)) if context.cursor else JournalCursor()
        now = JournalCursor(_where_tables_are(lake), newest_end(context.instance))
        if now == last:
            return dg.SensorResult(skip_reason="nothing happened since the last look")
        try:
            added = complete_log(lake, context.instance, writer="sensor audit_log")
        except TableBusy as busy:
            return dg.SensorResult(skip_reason=str(busy))
        for name, why in sorted(added.trouble.items()):
            context.log.error(f"{name} could not be looked at, all others are logged: {why}")
        if not added.more:
            drop_old_runs(lake, context.instance)  # all of them are in the log
        assert context.repository_def is not None
        assets = context.repository_def.asset_graph.materializable_asset_keys
        unreported = _unreported(lake, context.instance, assets)
        return dg.SensorResult(
            asset_events=unreported,
            skip_reason=_summary(added, len(unreported)),
            # What is left for the next look must not pass for seen.
            cursor=json.dumps(asdict(JournalCursor() if added.more else now)),
        )

    return keep_log


def complete_log(lake: Lake, instance: DagsterInstance, *, writer: str) -> Appended:
    """Append to the audit log what the tables and Dagster know and it does not; drop the pins of runs that have ended.

    Args:
        lake: the tables.
        instance: where runs are recorded.
        writer: who does it.

    Raises:
        TableBusy: others appended first again and again; nothing is lost.
        CommitError: the log cannot be written now; see `lakehouse.protocol.commit.append`.
    """
    lake.ensure([AUDIT_LOG.name])
    drop_ended_pins(lake.catalog, sorted(lake.declarations.tables), instance)
    return append(
        lake.catalog,
        [
            lambda position, _: named(deletions(lake.catalog, position), instance),
            lambda position, known: named(reconcile(lake.catalog, lake.declarations, position, known=known), instance),
            lambda position, known: run_news(instance, position, known, lake.names),
        ],
        writer=writer,
    )


def tell_dagster(lake: Lake, instance: DagsterInstance, assets: Collection[dg.AssetKey]) -> int:
    """Report what Dagster never heard of, outside of a sensor; returns how many materializations that were."""
    unreported = _unreported(lake, instance, assets)
    for materialization in unreported:
        instance.report_runless_asset_event(materialization)
    return len(unreported)


def _unreported(
    lake: Lake, instance: DagsterInstance, assets: Collection[dg.AssetKey]
) -> list[dg.AssetMaterialization | dg.AssetObservation | dg.AssetCheckEvaluation]:
    """What Dagster has not heard: of own tables whose run was killed, and of tables of other catalogs."""
    return [
        *unheard(lake.catalog, lake.declarations, instance, assets, lake.names),
        *news_elsewhere(lake.catalog, lake.declarations, instance, lake.names),
    ]


def _where_tables_are(lake: Lake) -> str:
    names = [name for name in sorted(lake.declarations.tables) if name != AUDIT_LOG.name]
    names += inputs_elsewhere(lake.declarations)
    locations = lake.catalog.locations([identifier_of(name) for name in names])
    rows = [(name_of(identifier), location) for identifier, location in sorted(locations.known.items())]
    rows += [(name_of(identifier), "refused") for identifier in sorted(locations.refused)]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def _summary(added: Appended, reported: int) -> str:
    parts = [f"{len(added.events)} events logged", *([f"{reported} materializations reported"] if reported else [])]
    parts += [f"{name} could not be looked at: {why}" for name, why in sorted(added.trouble.items())]
    return ", ".join(parts)
