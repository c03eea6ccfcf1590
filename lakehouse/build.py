"""Assembles all Dagster definitions: from settings and declarations, and nothing else.

Tests and users exchange parts by `resource_overrides`. What a declaration file defines beside its tables and streams
(an `@asset` of its own, a check, a schedule) becomes part of the whole, without wiring.
"""

import sys
from collections.abc import Generator, Mapping
from typing import Any

import dagster as dg

from lakehouse.declarations import OWN_TABLES, Declarations, load_sound
from lakehouse.orchestration.assets import (
    derived_asset,
    maintenance_asset,
    mirror_asset,
    mirror_keys,
    release_asset,
    stream_asset,
    stream_keys,
)
from lakehouse.orchestration.automation import (
    follow_release,
    following,
    following_sensor,
    journal_sensor,
    lag_sensor,
    mirror_sensor,
    upkeep_sensor,
)
from lakehouse.orchestration.checks import (
    expect_unanswered,
    maintenance_checks,
    mirror_checks,
    required_checks,
    spark_server,
    spark_server_check,
    stopped_assets,
    stopped_checks,
    stopped_tables,
    stream_checks,
    table_checks,
)
from lakehouse.orchestration.resources import Lake, LakehouseSpark
from lakehouse.settings import Settings

PROVE_JOB = "prove"
MODULE_PREFIX = "lakehouse_declarations_"  # under which declaration files are known to Python


def build_defs(settings: Settings, *, resource_overrides: Mapping[str, Any] | None = None) -> dg.Definitions:
    """Make the definitions of a lakehouse. Reads declaration files; opens no connection.

    Args:
        settings: where tables, topics and Spark are.
        resource_overrides: resources in the place of `lake` or `spark`, or further ones.

    What does not load stops its own tables: they are assets that nobody can make, with a check that fails.

    Raises:
        DeclarationError: a folder of declarations is missing.
    """
    declarations = load_sound(settings.declarations, demo=settings.demo)
    streams, mirrors = declarations.streams.values(), declarations.mirrors.values()
    tables = list(declarations.tables.values())
    # All checks and nothing else: in a run of assets, a check is skipped where its asset had nothing new.
    prove = dg.define_asset_job(
        PROVE_JOB,
        selection=dg.AssetSelection.all_asset_checks(),
        description="Proves every promise: exactly once, contract rules, freshness, that each mirror is the fold of "
        "its changelog, and that maintenance has kept all of it. Changes nothing.",
    )
    user_definitions = _users_own(declarations)
    checks: list[dg.AssetChecksDefinition] = [
        *(stream_checks(stream, declarations) for stream in streams),
        *(mirror_checks(tables, declarations) for tables in mirrors),
        *(
            checks_of_table
            for table in tables
            # Our own records are no assets.
            if table.name not in OWN_TABLES and (checks_of_table := table_checks(table, declarations)) is not None
        ),
        *(maintenance_checks(table, declarations) for table in tables),
    ]
    stopped = stopped_tables(declarations, _keys(user_definitions))
    on_server = settings.platform.mode == "connect"
    expect_unanswered(checks)
    own_definitions = dg.Definitions(
        assets=[
            *(stream_asset(stream, declarations) for stream in streams),
            *map(mirror_asset, mirrors),
            *(
                derived_asset(derived, declarations, automation_condition=following(derived, declarations))
                for derived in declarations.derived.values()
            ),
            *(
                release_asset(
                    release,
                    declarations,
                    required_checks(release, [*checks, *_checking(user_definitions)]),
                    automation_condition=follow_release(release, declarations),
                )
                for release in declarations.releases.values()
            ),
            *(maintenance_asset(table, declarations) for table in tables),
            *([spark_server()] if on_server else []),
            *stopped_assets(stopped),
        ],
        asset_checks=[*checks, *([spark_server_check()] if on_server else []), *stopped_checks(stopped)],
        jobs=[prove] if checks or stopped else [],
        sensors=[
            *(lag_sensor(stream, stream_keys(stream, declarations)) for stream in streams),
            *(mirror_sensor(tables, mirror_keys(tables)) for tables in mirrors),
            journal_sensor(),
            upkeep_sensor(tables, every_seconds=settings.maintenance.every_seconds),
            *([follows] if (follows := following_sensor(declarations)) else []),
        ],
        resources={
            "lake": _of_each_run(Lake(settings, declarations)),
            "spark": LakehouseSpark(conf=str(settings.conf)),
            **(resource_overrides or {}),
        },
        # Spark is the parallelism; a process per step would pay for a JVM each.
        executor=dg.in_process_executor,
    )
    return dg.Definitions.merge(own_definitions, user_definitions)


def _of_each_run(lake: Lake) -> dg.ResourceDefinition:
    """The lake, which lets go of what the last step has pinned when a run ends, however it ends."""

    def opened(_: dg.InitResourceContext) -> Generator[Lake]:
        try:
            yield lake
        finally:
            lake.let_go()

    return dg.ResourceDefinition(opened)


def _checking(user_definitions: dg.Definitions) -> list[dg.AssetsDefinition | dg.AssetChecksDefinition]:
    """What of the users' own may define checks."""
    assets = [asset for asset in user_definitions.assets or [] if isinstance(asset, dg.AssetsDefinition)]
    return [*assets, *(user_definitions.asset_checks or [])]


def _keys(user_definitions: dg.Definitions) -> set[dg.AssetKey]:
    """The assets that users define."""
    assets = [asset for asset in user_definitions.assets or [] if isinstance(asset, dg.AssetsDefinition)]
    return {key for asset in assets for key in asset.keys}


def _users_own(declarations: Declarations) -> dg.Definitions:
    """Dagster definitions that users wrote beside their declarations."""
    files = {str(file) for file in declarations.files.values()}
    definitions: dict[int, object] = {}
    for name, module in sorted(sys.modules.items()):
        if name.startswith(MODULE_PREFIX) and getattr(module, "__file__", None) in files:
            # By identity: a definition that another file imports is still one definition.
            definitions |= {id(value): value for value in vars(module).values()}
    checks = [value for value in definitions.values() if isinstance(value, dg.AssetChecksDefinition)]
    return dg.Definitions(
        assets=[v for v in definitions.values() if isinstance(v, dg.AssetsDefinition) and v not in checks],
        asset_checks=checks,
        sensors=[v for v in definitions.values() if isinstance(v, dg.SensorDefinition)],
        schedules=[v for v in definitions.values() if isinstance(v, dg.ScheduleDefinition)],
        jobs=[v for v in definitions.values() if isinstance(v, dg.JobDefinition)],
    )
