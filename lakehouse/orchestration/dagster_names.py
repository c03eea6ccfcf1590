"""How Dagster knows what is ours: keys of assets, and keys of the resources that their steps ask for."""

import functools
import inspect
import keyword
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from dagster import AssetKey

from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import identifier_of, name_of, split_catalog
from lakehouse.settings import Settings

_Function = TypeVar("_Function", bound=Callable[..., Any])


class ResourceKeysInvalid(LakehouseError):
    """Keys that Dagster cannot tell apart, or that are no names of Python."""


_RESERVED = {
    "context": "what Dagster calls the context of a function",
    "config": "what Dagster calls the config of a function",
    "io_manager": "the key of Dagster's own I/O manager",
}


@dataclass(frozen=True)
class DagsterNames:
    """Names under which a lakehouse stands beside the other definitions of a Dagster project.

    Args:
        lake: key of the resource of tables.
        spark: key of the resource of Spark sessions.
        io_manager: key of the I/O manager that stores and loads frames.
        prefix: what stands before a table's name in its asset key.

    Raises:
        ResourceKeysInvalid: two keys are the same, one is no name of Python, or has a meaning already.
    """

    lake: str = "lake"
    spark: str = "spark"
    io_manager: str = "lake_io_manager"
    prefix: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        keys = (self.lake, self.spark, self.io_manager)
        for key in keys:
            if reason := _RESERVED.get(key) or ("a keyword of Python" if keyword.iskeyword(key) else ""):
                raise ResourceKeysInvalid(
                    f"The key {key!r} for a resource of ours is {reason}.",
                    remedy=f"choose another one, such as lake_{key.lower()}",
                )
        if len(set(keys)) < len(keys) or not all(key.isidentifier() for key in keys):
            raise ResourceKeysInvalid(
                f"The keys of our resources are {', '.join(map(repr, keys))}.",
                remedy="choose three different names of Python, such as lake, lake_spark and lake_io_manager",
            )

    @classmethod
    def of(cls, settings: Settings) -> "DagsterNames":
        """The names that the settings choose; keys of resources are chosen where definitions are made."""
        prefix = settings.dagster.asset_key_prefix
        return cls(prefix=tuple(prefix.split("/")) if prefix else ())

    def key(self, table: str) -> AssetKey:
        """The asset of a table: `raw.flights` → `raw/flights`, or `lake/raw/flights`.

        One of another catalog has that before it, `azure:raw.flights` → `azure/raw/flights`: Dagster makes names of
        keys, and takes no colon.
        """
        catalog, name = split_catalog(table)
        return AssetKey([*self.prefix, *([catalog] if catalog else []), *identifier_of(name)])

    def table(self, key: AssetKey) -> str:
        """The name of an asset's table; of an asset that is not ours, its key with dots."""
        size = len(self.prefix)
        return name_of(key.path[size:] if tuple(key.path[:size]) == self.prefix else key.path)

    def resources(self, function: _Function) -> _Function:
        """The same function, with its parameters `lake` and `spark` named as chosen: Dagster takes these for keys."""
        chosen = {"lake": self.lake, "spark": self.spark}
        if all(name == key for name, key in chosen.items()):
            return function
        ours = {key: name for name, key in chosen.items()}

        def call(*args: Any, **given: Any) -> Any:
            return function(*args, **{ours.get(name, name): value for name, value in given.items()})

        def generate(*args: Any, **given: Any) -> Generator[Any, Any, Any]:
            return (yield from call(*args, **given))

        # Dagster treats functions that yield otherwise than those that return.
        renamed = functools.wraps(function)(generate if inspect.isgeneratorfunction(function) else call)
        signature = inspect.signature(function)
        parameters = [p.replace(name=chosen.get(p.name, p.name)) for p in signature.parameters.values()]
        vars(renamed)["__signature__"] = signature.replace(parameters=parameters)
        renamed.__annotations__ = {chosen.get(name, name): kind for name, kind in function.__annotations__.items()}
        return renamed  # pyright: ignore[reportReturnType]


DEFAULT_NAMES = DagsterNames()
