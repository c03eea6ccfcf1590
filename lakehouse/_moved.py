"""Names that are imported when they are asked for (PEP 562), and names that have moved."""

import warnings
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any


def resolve(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose names are loaded one by one.

    Args:
        package: its name.
        homes: name → module that has it.
    """

    def resolved(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return resolved


# Package that is gone → where its names are now, but for those that `lakehouse` has itself; and which, if not all.
FORMER: Mapping[str, tuple[str, Collection[str] | None]] = {
    "lakehouse.commit": ("lakehouse", ["read_group"]),
    "lakehouse.resources": ("lakehouse.orchestration.resources", None),
    "lakehouse.runtime": ("lakehouse", ["runtime_date"]),
    "lakehouse.tables": ("lakehouse.declarations", None),
}


def moved(package: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package that is gone: its names go on working for one release, with a warning."""
    home, names = FORMER[package]
    public = import_module("lakehouse").__all__
    homes = {name: "lakehouse" if name in public else home for name in names or import_module(home).__all__}
    attribute = resolve(package, homes)

    def warned(name: str) -> Any:
        if name == "__all__":  # what `import *` asks for
            return sorted(homes)
        value = attribute(name)
        message = f"{package}.{name} is imported from {homes[name]} now; {package} goes with the next release"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return value

    return warned
