"""What files define for Dagster beside their declarations, by names of which Dagster takes each once.

This floor knows no Dagster: its classes are told by their names.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from lakehouse.declarations.registry.files import module_of

_INSTIGATORS = frozenset({"SensorDefinition", "ScheduleDefinition", "UnresolvedPartitionedAssetScheduleDefinition"})
_JOBS = frozenset({"JobDefinition", "UnresolvedAssetJobDefinition"})
_ASSETS = frozenset({"AssetsDefinition", "AssetSpec", "SourceAsset"})
_WHOLE = "Definitions"
# Nobody can say what is in them without running them; a file that defines one is refused.
_OPAQUE = frozenset({"LazyDefinitions", "CacheableAssetsDefinition", "RepositoryDefinition", "Component"})
# What has no key of its own; a `Definitions` gives it one, or its place.
_KEYLESS = frozenset({"ResourceDefinition", "ConfigurableResourceFactory", "ExecutorDefinition", "LoggerDefinition"})


@dataclass(frozen=True)
class Clash:
    """A name that several definitions have, and the files that hold these; or one file that holds them all."""

    name: str
    files: tuple[Path, ...]


def clashes(files: Iterable[Path]) -> list[Clash]:
    """Names that Dagster would refuse; a definition that several files import is one.

    Args:
        files: that have run.
    """
    holders: dict[str, dict[int, list[Path]]] = {}
    for file in files:
        for value in defined_in(file):
            for name in _names(value):
                holders.setdefault(name, {}).setdefault(id(value), []).append(file)
    return [
        Clash(name, tuple(dict.fromkeys(file for some in by_definition.values() for file in some)))
        for name, by_definition in holders.items()
        if len(by_definition) > 1
    ]


def defined_in(file: Path) -> Iterator[object]:
    """What a file that has run defines: each value, those in lists, and those of a whole `Definitions`, once."""
    return iter({id(value): value for named in module_of(file).values() for value in _members_of(named)}.values())


def defines_something(file: Path) -> bool:
    """Whether a file that has run has an asset, check, sensor, schedule or job, alone or in a whole `Definitions`."""
    known = _INSTIGATORS | _JOBS | _ASSETS | _OPAQUE | _KEYLESS
    return bool(whole_definitions(file)) or any(_kinds(value) & known for value in defined_in(file))


def whole_definitions(file: Path) -> list[Any]:
    """The `Definitions` objects of a file that has run."""
    return [value for value in module_of(file).values() if _WHOLE in _kinds(value)]


def not_kept(file: Path) -> list[str]:
    """Definitions of a file of which nothing could become part of the whole, by their names and kinds."""
    members = {id(value) for whole in whole_definitions(file) for value in _keyless_members(whole)}
    dagster = {id(value) for value in vars(sys.modules["dagster"]).values()} if "dagster" in sys.modules else set[int]()
    return [
        f"{name} ({type(value).__name__})"
        for name, value in module_of(file).items()
        if (kinds := _kinds(value)) & _OPAQUE or (kinds & _KEYLESS and id(value) not in members | dagster)
    ]


def tables_of_assets(file: Path) -> list[str]:
    """`namespace.table` of the assets that a file defines; one that is only described, it does not make."""
    return [
        ".".join(key.path)
        for value in defined_in(file)
        if not _kinds(value) & {"AssetSpec", "SourceAsset"}
        for key in _asset_keys(value)
    ]


def _members_of(value: object) -> Iterator[object]:
    if type(value) in (list, tuple):  # Dagster's own named tuples are no lists
        for member in cast("list[object]", value):
            yield from _members_of(member)
    elif _WHOLE in _kinds(value):
        for name in ("assets", "asset_checks", "sensors", "schedules", "jobs"):
            yield from getattr(value, name) or ()
    else:
        yield value


def _keyless_members(whole: Any) -> Iterator[object]:
    yield from (whole.resources or {}).values()
    yield from (whole.loggers or {}).values()
    yield whole.executor


def _names(value: object) -> Iterator[str]:
    kinds = _kinds(value)
    for key in _asset_keys(value):
        yield f"asset {'/'.join(key.path)}"
    if "AssetsDefinition" in kinds:
        for check in _attribute(value, "check_keys"):
            yield f"check {check.name} of asset {'/'.join(check.asset_key.path)}"
    elif kinds & _INSTIGATORS:
        yield f"sensor or schedule {_attribute(value, 'name')}"
    elif kinds & _JOBS:
        yield f"job {_attribute(value, 'name')}"


def _asset_keys(value: object) -> list[Any]:
    kinds = _kinds(value)
    if not kinds & _ASSETS:
        return []
    return sorted(_attribute(value, "keys") if "AssetsDefinition" in kinds else [_attribute(value, "key")], key=_path)


def _path(key: Any) -> list[str]:
    return list(key.path)


def _kinds(value: object) -> set[str]:
    return {kind.__name__ for kind in type(value).__mro__}


def _attribute(value: object, name: str) -> Any:
    return getattr(value, name)
