"""What users define for Dagster beside their declarations, as definitions that become part of the whole."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg

from lakehouse.declarations import Declarations
from lakehouse.declarations.registry.dagster_names import defined_in, whole_definitions
from lakehouse.errors import LakehouseError

# Dagster exports neither of what `define_asset_job` and `build_schedule_from_partitioned_job` return.
_JOBS = (dg.JobDefinition, type(dg.define_asset_job("any")))
_UNRESOLVED_SCHEDULE = "UnresolvedPartitionedAssetScheduleDefinition"


class DefinitionsClash(LakehouseError):
    """Two definitions of one key, or two executors, where Dagster takes one."""


def users_definitions(declarations: Declarations) -> dg.Definitions:
    """Assets, asset specs, checks, sensors, schedules and jobs, also in lists, and all of a `Definitions`.

    Raises:
        DefinitionsClash: two files give one resource or logger, or two executors.
    """
    files = sorted({file for file in (*declarations.files.values(), *declarations.dagster_files) if file.is_file()})
    # By identity: a definition that another file imports is still one definition.
    definitions = {id(value): value for file in files for value in defined_in(file)}.values()
    checks = [value for value in definitions if isinstance(value, dg.AssetChecksDefinition)]
    kept = {id(check) for check in checks}
    wholes = list(_wholes(files))
    executors = {id(whole.executor): (file, whole.executor) for file, whole in wholes if whole.executor is not None}
    if len(executors) > 1:
        raise DefinitionsClash(
            f"{' and '.join(str(file) for file, _ in executors.values())} each have an executor.", remedy="keep one."
        )
    return dg.Definitions(
        assets=[
            value
            for value in definitions
            if isinstance(value, dg.AssetsDefinition | dg.AssetSpec | dg.SourceAsset) and id(value) not in kept
        ],
        asset_checks=checks,
        sensors=[value for value in definitions if isinstance(value, dg.SensorDefinition)],
        schedules=[value for value in definitions if _is_schedule(value)],  # pyright: ignore[reportArgumentType]
        jobs=[value for value in definitions if isinstance(value, _JOBS)],  # pyright: ignore[reportArgumentType]
        resources=_joined("resource", ((file, whole.resources or {}) for file, whole in wholes)),
        loggers=_joined("logger", ((file, whole.loggers or {}) for file, whole in wholes)),
        executor=next((executor for _, executor in executors.values()), None),
    )


def refuse_taken_keys(ours: Iterable[str], users: dg.Definitions) -> None:
    """Refuse resources of users under keys that are ours.

    Raises:
        DefinitionsClash: says how to rename ours.
    """
    if taken := sorted(set(ours) & set(users.resources or {})):
        raise DefinitionsClash(
            f"A `Definitions` beside the declarations has the resource {', '.join(taken)}, which is ours as well.",
            remedy=f'name ours otherwise: build_defs(…, resource_keys={{"{taken[0]}": "our_{taken[0]}"}}).',
        )


def _wholes(files: Iterable[Path]) -> Iterator[tuple[Path, dg.Definitions]]:
    seen = set[int]()
    for file in files:
        for whole in whole_definitions(file):
            if id(whole) not in seen:
                seen.add(id(whole))
                yield file, whole


def _joined(kind: str, parts: Iterable[tuple[Path, Mapping[str, Any]]]) -> dict[str, Any]:
    origins: dict[str, tuple[Path, Any]] = {}
    for file, given in parts:
        for key, value in given.items():
            other, former = origins.setdefault(key, (file, value))
            if former is not value:
                raise DefinitionsClash(
                    f"{other} and {file} each have a {kind} {key}.", remedy="keep one, or import it from one file."
                )
    return {key: value for key, (_, value) in origins.items()}


def _is_schedule(value: object) -> bool:
    return isinstance(value, dg.ScheduleDefinition) or type(value).__name__ == _UNRESOLVED_SCHEDULE
