"""Assembles all Dagster definitions: from settings and declarations, and nothing else.

Tests and users exchange parts by `resource_overrides`. What a declaration file defines beside its tables and streams
(an `@asset` of its own, a check, a schedule) becomes part of the whole, without wiring.
"""

from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any

import dagster as dg

from lakehouse.declarations import OWN_TABLES, load_sound
from lakehouse.orchestration.assets import (
    derived_asset,
    maintenance_asset,
    mirror_asset,
    mirror_keys,
    release_asset,
    replay_asset,
    specs_elsewhere,
    stream_asset,
    stream_keys,
    topic_specs,
)
from lakehouse.orchestration.automation import (
    SensorOptions,
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
from lakehouse.orchestration.dagster_names import DagsterNames, ResourceKeysInvalid
from lakehouse.orchestration.frames import frame_io_manager
from lakehouse.orchestration.polaris import polaris_asset, polaris_checks, polaris_schedule
from lakehouse.orchestration.remote.asset import remote_asset
from lakehouse.orchestration.resources import Lake, LakehouseSpark
from lakehouse.orchestration.users_own import refuse_taken_keys, users_definitions
from lakehouse.settings import Settings

PROVE_JOB = "prove"


def build_defs(
    settings: Settings,
    *,
    resource_overrides: Mapping[str, Any] | None = None,
    resource_keys: Mapping[str, str] | None = None,
    executor: dg.ExecutorDefinition | None = None,
) -> dg.Definitions:
    """Make the definitions of a lakehouse, which merge with others. Reads declaration files; opens no connection.

    Args:
        settings: where tables, topics and Spark are, and what stands before the keys of assets.
        resource_overrides: resources in the place of `lake` or `spark`, or further ones, by their keys.
        resource_keys: other keys for `lake`, `spark` and `lake_io_manager`, such as `{"spark": "lake_spark"}`.
        executor: of all that is merged with these definitions; Dagster takes one. An executor in a `Definitions` of a
            declaration file comes first.

    What does not load stops its own tables: they are assets that nobody can make, with a check that fails.

    Raises:
        DeclarationError: a folder of declarations is missing.
        ResourceKeysInvalid: two of the resources have one key, or a key is no name of Python.
        DefinitionsClash: what users define beside their declarations cannot be merged with ours.
    """
    names = _names(settings, resource_keys or {})
    declarations = load_sound(settings.declarations, demo=settings.demo, catalogs=settings.other_catalogs)
    streams, mirrors = declarations.streams.values(), declarations.mirrors.values()
    tables = list(declarations.tables.values())
    maintained = tables if settings.dagster.maintenance_assets else []
    # All checks and nothing else: in a run of assets, a check is skipped where its asset had nothing new.
    prove = dg.define_asset_job(
        PROVE_JOB,
        selection=dg.AssetSelection.all_asset_checks(),
        description="Proves every promise: exactly once, contract rules, freshness, that each mirror is the fold of "
        "its changelog, and that maintenance has kept all of it. Changes nothing.",
    )
    user_definitions = users_definitions(declarations)
    checks: list[dg.AssetChecksDefinition] = [
        *(stream_checks(stream, names) for stream in streams),
        *(mirror_checks(tables, declarations, names) for tables in mirrors),
        *(
            checks_of_table
            for table in tables
            if table.name not in OWN_TABLES  # our own records are no assets
            and (checks_of_table := table_checks(table, declarations, names)) is not None
        ),
        *(maintenance_checks(table, declarations, names) for table in maintained),
    ]
    stopped = stopped_tables(declarations, _keys(user_definitions), names)
    options = SensorOptions.of(settings)
    on_server = settings.platform.mode == "connect"
    polaris_servers = [settings.polaris] if settings.polaris else []
    expect_unanswered(checks)

    elsewhere = settings.platform.mode == "submit"

    def placed(asset: dg.AssetsDefinition) -> dg.AssetsDefinition:
        return remote_asset(asset, names) if elsewhere else asset

    own_definitions = dg.Definitions(
        assets=[
            *topic_specs(streams, names),
            *specs_elsewhere(declarations, settings.other_catalogs, names),
            *(placed(stream_asset(stream, declarations, names)) for stream in streams),
            # A driver elsewhere does the steps that write; this one only reads.
            *(replay_asset(stream, declarations, names) for stream in streams if stream.replay_from and not elsewhere),
            *(placed(mirror_asset(tables, names)) for tables in mirrors),
            *(
                placed(
                    derived_asset(
                        derived, declarations, names, automation_condition=following(derived, declarations, names)
                    )
                )
                for derived in declarations.derived.values()
            ),
            *(
                release_asset(
                    release,
                    declarations,
                    required_checks(release, [*checks, *_checking(user_definitions)], names),
                    names,
                    automation_condition=follow_release(release, declarations, names),
                )
                for release in declarations.releases.values()
            ),
            *(placed(maintenance_asset(table, declarations, names)) for table in maintained),
            *([spark_server(names)] if on_server else []),
            *(polaris_asset(server, names) for server in polaris_servers),
            *stopped_assets(stopped),
        ],
        asset_checks=[
            *checks,
            *([spark_server_check(names)] if on_server else []),
            *(polaris_checks(server, names) for server in polaris_servers),
            *stopped_checks(stopped),
        ],
        schedules=[polaris_schedule(server, options, names) for server in polaris_servers],
        jobs=[prove] if checks or stopped else [],
        sensors=[
            *(lag_sensor(stream, stream_keys(stream, declarations, names), names, options) for stream in streams),
            *(mirror_sensor(tables, mirror_keys(tables, names), names, options) for tables in mirrors),
            journal_sensor(names, options.status),
            *(
                [
                    upkeep_sensor(
                        maintained,
                        names,
                        every_seconds=settings.maintenance.every_seconds,
                        status=options.maintenance_status,
                    )
                ]
                if maintained
                else []
            ),
            *([follows] if (follows := following_sensor(declarations, names, options.status)) else []),
        ],
        resources={
            names.lake: _of_each_run(Lake(settings, declarations, names)),
            names.spark: LakehouseSpark(conf=str(settings.conf)),
            names.io_manager: frame_io_manager(names),
            **(resource_overrides or {}),
        },
        executor=None if user_definitions.executor is not None else executor,
    )
    refuse_taken_keys(own_definitions.resources or {}, user_definitions)
    return dg.Definitions.merge(own_definitions, user_definitions)


def _names(settings: Settings, resource_keys: Mapping[str, str]) -> DagsterNames:
    parameters = {"lake": "lake", "spark": "spark", "lake_io_manager": "io_manager"}
    if unknown := sorted(resource_keys.keys() - parameters):
        raise ResourceKeysInvalid(
            f"There is no resource {', '.join(unknown)} of ours.", remedy=f"choose a key for {', '.join(parameters)}."
        )
    chosen = {parameters[name]: key for name, key in resource_keys.items()}
    return replace(DagsterNames.of(settings), **chosen)


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
    keys = set[dg.AssetKey]()
    for asset in user_definitions.assets or []:
        if isinstance(asset, dg.AssetsDefinition):
            keys |= set(asset.keys)
        elif isinstance(asset, dg.AssetSpec | dg.SourceAsset):
            keys.add(asset.key)
    return keys
